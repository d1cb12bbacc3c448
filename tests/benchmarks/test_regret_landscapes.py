import numpy as np
import pytest

from fewsolves.benchmarks import regret_landscapes
from fewsolves.benchmarks.regret_landscapes import landscape_slice, smoothing_by_importance
from fewsolves.data import split_rows
from fewsolves.errors import InputError
from fewsolves.reporting import figures
from fewsolves.runs.fit import fit
from fewsolves.runs.plan import Plan
from problems_of_users import NEWSVENDOR, demand_table


def fitted(method="gp-surrogate", **settings):
    X, Y = demand_table(30, 2)
    quick = {"start_epochs": 3, "max_epochs": 3} | settings
    split = split_rows(30, rng=np.random.default_rng(0))
    return fit(Plan(NEWSVENDOR, X, Y, split, method=method, predictor="linear", settings=quick))


@pytest.fixture(autouse=True)
def few_draws(monkeypatch):
    monkeypatch.setattr(regret_landscapes, "DRAWS", 5)


@pytest.fixture(scope="module")
def fit_of_the_surrogate():
    return fitted(beta=1e-9)


def total_variation(values):
    return np.abs(np.diff(values)).sum()


def test_a_larger_sigma_is_smoother():
    picture = smoothing_by_importance()
    grid, smoothed = picture["grid"], picture["smoothed"]
    assert list(smoothed) == [0.1, 0.3, 0.8]
    assert picture["regret"].shape == grid.shape
    assert picture["points"].shape == (300,)
    assert all(values.shape == grid.shape and np.isfinite(values).all() for values in smoothed.values())
    variation = [total_variation(values) for values in smoothed.values()]
    assert variation == sorted(variation, reverse=True)
    assert variation[-1] < 0.8 * variation[0]


def test_smoothing_is_that_of_the_function():
    """A wide sample of a step-shaped function, averaged over N(x, sigma^2) by brute force."""
    picture = smoothing_by_importance((0.3, 0.8), n=3000)
    inside = np.abs(picture["grid"]) < 2  # away from the edges of the sampled range
    noise = np.random.default_rng(0).standard_normal((4000, 1))
    for sigma, values in picture["smoothed"].items():
        x = picture["grid"][inside] + sigma * noise
        expected = (np.floor(2 * np.abs(x)) + 2 * (x > 1.2)).mean(axis=0)
        assert np.abs(values[inside] - expected).max() < 0.35


@pytest.mark.parametrize("row", [0, 11])
def test_a_slice_has_one_value_of_each_kind_for_each_position(fit_of_the_surrogate, row):
    found = landscape_slice(fit_of_the_surrogate, row=row, n=41)
    assert all(values.shape == (41,) for name in ("regret", "smoothed", "belief") for values in found[name])
    position, _, std = found["belief"]
    assert position[[0, -1]].tolist() == [-0.5, 1.5]
    assert (std > 0).all()
    at, regret = found["paid"]
    assert at.shape == regret.shape
    assert len(at) >= 1
    assert ((at >= -0.5) & (at <= 1.5)).all()


def test_the_true_regret_at_the_truth_is_0_and_at_the_prediction_that_of_the_prediction(fit_of_the_surrogate):
    found = landscape_slice(fit_of_the_surrogate, row=3, n=81)
    position, true = found["regret"]
    zero, one = np.abs(position).argmin(), np.abs(position - 1).argmin()
    assert position[zero] == 0.0
    assert true[zero] == pytest.approx(0.0, abs=1e-9)
    assert (true >= -1e-9).all()
    loss = fit_of_the_surrogate.loss
    x = fit_of_the_surrogate.X_train[3:4]
    y_hat = fit_of_the_surrogate.predictor(loss.scale.new_tensor(x)).detach().numpy()
    assert true[one] == pytest.approx(loss.oracle.regret([3], y_hat, phase="test")[0])
    at, regret = found["paid"]
    assert 0.0 in at, "the truth is known"
    assert regret[at == 0.0] == 0.0


def test_the_surrogate_of_a_slice_is_in_units_of_cost(fit_of_the_surrogate):
    found = landscape_slice(fit_of_the_surrogate, n=81)
    regret, (_, true), (_, smoothed) = found["paid"][1], found["regret"], found["smoothed"]
    position, mean, std = found["belief"]
    zero = np.abs(position).argmin()
    assert mean[zero] == pytest.approx(0.0, abs=4 * std[zero] + 0.5)
    assert mean.max() < 10 * max(regret.max(), true.max())
    assert smoothed.min() > -1e-9
    assert total_variation(smoothed) > 0


def test_a_slice_is_paid_as_test_and_leaves_no_process_behind(fit_of_the_surrogate, monkeypatch):
    closed = []
    oracle = fit_of_the_surrogate.oracle
    monkeypatch.setattr(oracle.account.execution, "close", lambda: closed.append(1), raising=False)
    before = oracle.calls.by_phase("solve")
    landscape_slice(fit_of_the_surrogate, row=7, n=10, seed=4)
    after = oracle.calls.by_phase("solve")
    assert {phase: after[phase] - before[phase] for phase in after if after[phase] != before[phase]} == {
        "test": 10 * (1 + 5)
    }
    assert closed


def test_a_slice_is_a_function_of_its_seed(fit_of_the_surrogate):
    one, two, other = (landscape_slice(fit_of_the_surrogate, n=9, seed=s)["smoothed"][1] for s in (1, 1, 2))
    assert np.array_equal(one, two)
    assert not np.array_equal(one, other)


def test_a_slice_needs_a_surrogate():
    with pytest.raises(InputError, match="'pfl' has none"):
        landscape_slice(fitted("pfl"))


def test_the_report_can_draw_both(fit_of_the_surrogate):
    assert figures.landscape(**landscape_slice(fit_of_the_surrogate, n=21)).axes
    assert figures.smoothing(**smoothing_by_importance(n=50)).axes
