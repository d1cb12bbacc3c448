"""A correction of forecasts: what it may change, and what it says of it."""

import numpy as np
import pytest

from fewsolves.predictors.correction import Correction, SharedCorrection, corrected, describe_correction

RNG = np.random.default_rng(0)
Y = RNG.gamma(4.0, 2.0, size=(50, 3))
F = Y + RNG.normal(size=(50, 3))
X = np.hstack([RNG.normal(size=(50, 2)), F])


def test_correction_begins_as_the_forecasts():
    assert corrected(X, Y, seed=0)(X) == pytest.approx(F, rel=1e-12)


def test_correction_without_context_there_is_a_correction_too():
    assert corrected(F, Y, seed=0)(F) == pytest.approx(F, rel=1e-12)


def test_correction_the_residual_stays_within_the_forecasts_own_errors():
    net = Correction(0, np.array([0.5, 2.0]))
    *_, (_, bias) = net.net.layers()
    bias[:] = 1e3
    assert net(np.zeros((1, 2))).tolist() == [[0.5, 2.0]]


@pytest.mark.parametrize("items", [False, True])
def test_correction_slopes_are_those_of_finite_differences(items):
    rng = np.random.default_rng(0)
    net = SharedCorrection(2, 0.5, seed=1) if items else Correction(2, np.array([0.5, 2.0]), seed=1)
    one = net.net if items else net
    one.net.vector[:] += 0.1 * rng.normal(size=one.net.vector.shape)
    u, slope = rng.normal(size=(4, 2, 3) if items else (4, 4)), rng.normal(size=(4, 2))
    gradients = net.backward(slope, net.forward(u)[1])
    for weights, gradient in zip(net.weights(), gradients, strict=True):
        weights[0] += 1e-6
        above = float((slope * net(u)).sum())
        weights[0] -= 2e-6
        assert gradient[0] == pytest.approx((above - float((slope * net(u)).sum())) / 2e-6, rel=1e-5, abs=1e-8)
        weights[0] += 1e-6


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (F, "nothing was changed: the forecasts are used as they are"),
        (F + 0.5 * F.mean(axis=0) * [0, 0, 1], "on average over rows: c +50 %"),
        (F - [100.0, 0.0, 0.0], "on average over rows: a"),
    ],
)
def test_correction_a_sentence_names_what_was_changed(changed, message):
    assert describe_correction(F, changed, Y, "abc").startswith(message)


def test_correction_change_is_described_from_row_to_row_and_for_forecasts_of_both_signs():
    assert "from row to row" in describe_correction(F, 1.1 * F, Y)
    centred = F - F.mean(axis=0)
    assert describe_correction(centred, centred + np.array([2.0, 0, 0]), Y) == "on average over rows: y0 +2"


def test_correction_of_many_outputs_the_most_changed_are_named():
    wide = np.tile(F, 4)
    message = describe_correction(wide, wide + np.arange(12.0), np.tile(Y, 4))
    assert message.count("y") - message.count("by") == 5
    assert "6 more by at most" in message
