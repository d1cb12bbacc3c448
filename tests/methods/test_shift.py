import numpy as np
import pytest

from fewsolves.data import Scale, Split
from fewsolves.fitting.fit import fit
from fewsolves.fitting.plan import Plan
from fewsolves.methods.shift import ShiftConfig, choose_shift
from fewsolves.oracle import Oracle
from fewsolves.predictors.predictor import Predictor, linear
from fewsolves.problem import Problem
from fewsolves.testing import newsvendor
from fewsolves.training.monitor import RegretMonitor

DISTANCE = Problem(solve_batch=lambda y_hat: y_hat, cost_batch=lambda y, z: np.abs(z - y).sum(axis=1))


def searched(error, config=None, scales=True, n=40):
    """A predictor that is wrong by `error` everywhere, shifted; and the oracle that was paid."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    net = linear(3, len(error), seed=0)
    Y_hat = net(X)
    Y = Y_hat - error
    predictor = Predictor(net)
    oracle = Oracle(DISTANCE, Y)
    monitor = RegretMonitor(oracle, X, share=None, move=0.0)
    scale = Scale.of(Y).std
    outcome = choose_shift(predictor, monitor, scale, config or ShiftConfig())
    moved = (predictor(X) - Y_hat).mean(axis=0)
    return outcome, moved / scale, error / scale, oracle


def test_shift_a_common_error_is_found_to_the_last_halving():
    outcome, moved, wrong, oracle = searched(np.array([0.7]))
    assert moved == pytest.approx(-wrong, abs=0.25 / 8)
    assert outcome.best.mean < outcome.first.mean
    assert oracle.calls.by_phase("solve")["validation"] == 40 * (1 + 20 + 6)
    assert oracle.calls.training() == 0


def test_shift_outputs_are_shifted_one_by_one_where_they_differ():
    error = np.array([0.5, -0.5, 0.0])
    _, moved, wrong, _ = searched(error, ShiftConfig(rounds=20))
    np.testing.assert_allclose(moved, -wrong, atol=0.13)


def test_shift_a_right_predictor_stays():
    _, moved, _, _ = searched(np.zeros(2))
    assert np.abs(moved).max() == 0.0


def test_shift_as_a_method_it_beats_its_start_and_pays_nothing_in_training():
    table = newsvendor(2, n=240)
    rows = np.arange(240)
    fitted = fit(
        Plan(
            table.problem, table.X, table.Y, Split(rows[:160], rows[160:], rows[:0]), method="shift", predictor="linear"
        )
    )
    assert fitted.best.mean < fitted.start.mean
    assert fitted.oracle.calls.training() == 0
    assert fitted.loss is None


def test_shift_where_nothing_helps_the_start_is_kept():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    Y = X @ rng.normal(size=(2, 2))
    rows = np.arange(60)
    fitted = fit(Plan(DISTANCE, X, Y, Split(rows[:40], rows[40:], rows[:0]), method="shift", predictor="linear"))
    assert "kept its start" in fitted.stopped
    assert fitted.best is fitted.start
