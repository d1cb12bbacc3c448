"""Fits by the default: what they pay, what they find, that they repeat, and how they end."""

import math
import multiprocessing
import signal
import sys
import time
from collections import Counter

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

import fewsolves as fs
from fewsolves.errors import InputError
from fewsolves.fitting.fit import fit
from fewsolves.fitting.plan import Plan
from fewsolves.methods.staged import cross_fitting
from fewsolves.methods.staged.cross_fitting import CrossFitting
from fewsolves.methods.staged.evidence import Change, Judge
from fewsolves.methods.staged.pool import CostCallsTooExpensive
from fewsolves.methods.staged.stand_ins import Argmin
from fewsolves.methods.staged.tuning import Tuning
from fewsolves.oracle import SolveConfig
from fewsolves.predictors.predictor import Predictor
from fewsolves.testing.problems import Table, failing, newsvendor, noisy, selection
from fewsolves.training.history import Stop
from problems_of_users import CHEAPEST, NEWSVENDOR, demand_table, old_and_new, shortage_cost
from staged_rows import said

PROBLEM = fs.Problem(
    solve_batch=lambda y_hat: y_hat.copy(), cost_batch=lambda y, z: (z + 9.0 * np.maximum(y - z, 0.0)).sum(axis=1)
)
(X_60, Y_60), NEW = old_and_new(60, 400, 2)
TABLE = Table(PROBLEM, X_60, Y_60, Counter())


def plan_of(problem=TABLE.problem, X=TABLE.X, Y=TABLE.Y, *, predictor="linear", method="staged", settings=None, **of):
    return Plan(problem, X, Y, method=method, predictor=predictor, settings=settings or {}, **of)


def fitted_by(*table, callbacks=(), **of):
    return fit(plan_of(*table, **of), callbacks=callbacks)


def paid_after_labels(fitted):
    by_phase = fitted.oracle.calls.by_phase("solve")
    return by_phase["online"] + by_phase["validation"] + by_phase["pre-training"]


def predicted(fitted, X=TABLE.X):
    return said(fitted.predictor, X)


def regret_of_new_rows(fitted):
    X, Y = NEW
    return float((PROBLEM.cost_batch(Y, said(fitted.predictor, X)) - Y.sum(axis=1)).mean())


@pytest.fixture(scope="module")
def of_start():
    """Regret of new rows by the prediction-focused start."""
    return regret_of_new_rows(fitted_by(settings={"solves": 0}))


# what is paid

TABLES = {n: (newsvendor(1, n), selection(2, n)) for n in (20, 23, 30, 47, 90)}


@settings(max_examples=60)
@given(st.sampled_from(sorted(TABLES)), st.floats(0, 9), st.booleans(), st.sampled_from([None, 0.0, 1.0, 10.0, 50.0]))
def test_method_pays_at_most_the_solves_that_are_set(n, solves, linear, cost_calls):
    table = TABLES[n][linear]
    fitted = fitted_by(table.problem, table.X, table.Y, settings={"solves": solves, "cost_calls": cost_calls})
    assert paid_after_labels(fitted) <= int(solves * n)
    assert np.isfinite(predicted(fitted, table.X)).all()


@settings(max_examples=30)
@given(st.sampled_from(sorted(TABLES)), st.integers(0, 400), st.booleans())
def test_method_pays_at_most_its_budget(n, more, linear):
    table = TABLES[n][linear]
    try:
        fitted = fitted_by(table.problem, table.X, table.Y, budget=fs.Budget(solves=n + more))
    except InputError:
        assert more <= n, "a budget is refused where it hardly covers the labels"
        return
    assert fitted.oracle.calls.total("solve") <= n + more


@pytest.mark.parametrize("solves", [1, 3, 8])
def test_method_uses_the_solves_that_are_set(solves, of_start):
    fitted = fitted_by(settings={"solves": solves})
    assert paid_after_labels(fitted) > 0.9 * solves * 60
    assert fitted.stopped.startswith("schedule complete")
    assert regret_of_new_rows(fitted) < 0.9 * of_start


@pytest.mark.parametrize("solves", [0, 0.02])
def test_method_without_solves_returns_the_start_on_all_rows(solves):
    fitted = fitted_by(settings={"solves": solves})
    assert fitted.stopped.startswith("no solves to train with")
    assert paid_after_labels(fitted) == 0
    start = fit(plan_of(settings={"solves": 0}, method="staged"))
    assert np.array_equal(predicted(fitted), predicted(start))


def test_method_pays_at_most_the_cost_calls_of_its_budget():
    for most in (300, 3_000, 100_000):
        fitted = fitted_by(budget=fs.Budget(solves=300, cost_calls=most))
        assert fitted.oracle.calls.total("cost") <= most
        assert fitted.oracle.calls.total("solve") > 200
    assert fitted.report["stand_in"] is not None, "there is room for known decisions"


@pytest.mark.parametrize("cost_calls", [0, 1, 3, 5, 8, 12, 20, 60, 150])
def test_method_that_may_not_call_cost_often_continues_with_pairs(cost_calls):
    fitted = fitted_by(settings={"solves": 8, "cost_calls": cost_calls})
    calls = fitted.oracle.calls
    known = calls.total("cost") - calls.total("solve")  # each solve is priced once
    assert known <= cost_calls * 60 * 9
    assert 0.9 * 8 * 60 < paid_after_labels(fitted) <= 8 * 60
    assert cost_calls > 3 or fitted.report["stand_in"] is None


def test_method_without_cost_calls_left_to_judge_a_stage_goes_on(monkeypatch):
    change = Judge.change

    def limited(self, made, before, stand_in):
        if stand_in is not None:
            raise CostCallsTooExpensive
        return change(self, made, before, None)

    monkeypatch.setattr(Judge, "change", limited)
    fits = [fitted_by(settings={"solves": 6}, seed=seed) for seed in range(4)]
    assert all(3 * 60 < paid_after_labels(fitted) <= 6 * 60 for fitted in fits)
    assert sum(fitted.best.mean < fitted.start.mean for fitted in fits) >= 3


def test_method_without_a_limit_ends_where_nothing_clear_is_gained():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    Y = 5 + X @ rng.normal(size=(2, 3)) + 0.2 * rng.normal(size=(200, 3))  # its mean is linear, and so is the cost
    fitted = fitted_by(CHEAPEST, X, Y)
    assert paid_after_labels(fitted) <= 6 * 200
    assert "would probably gain less than 1 %" in fitted.stopped


def test_method_with_a_budget_of_seconds_alone_makes_stages(of_start):
    fitted = fitted_by(budget=fs.Budget(seconds=30.0))
    assert regret_of_new_rows(fitted) < 0.9 * of_start
    assert paid_after_labels(fitted) <= 32 * 60


# what it is given


def demand(n=60, n_y=2):
    return demand_table(n, n_y)


FORMS = {
    "network": {"predictor": "network"},
    "module": {"predictor": nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))},
    "layer without a bias": {"predictor": nn.Linear(4, 2, bias=False)},
    "predictor without scales": {"predictor": Predictor(nn.Linear(4, 2))},
    "network of the user's": {"predictor": Predictor(nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2)))},
    "random weights": {"settings": {"warm_start": False}},
    "random network": {"predictor": "network", "settings": {"warm_start": False}},
    "groups": {"groups": np.arange(60) // 6},
    "two groups": {"groups": np.arange(60) // 30, "validation": 0.5},
    "weights": {"sample_weight": np.linspace(0, 2, 60)},
    "validation rows": {"validation": list(range(0, 60, 5))},
    "validation share": {"validation": 0.3},
    "last rows": {"validation": "last 20 %"},
    "few last rows": {"validation": "last 5 %"},
    "network, validation share": {"predictor": "network", "validation": 0.3},
    "network, last rows": {"predictor": "network", "validation": "last 40 %"},
}


@pytest.mark.parametrize("form", FORMS)
def test_method_trains_whatever_it_is_given(form):
    of = dict(FORMS[form])
    fitted = fitted_by(**of | {"settings": {"solves": 3, "start_epochs": 20} | of.get("settings", {})})
    assert 0 < paid_after_labels(fitted) <= 180
    assert np.isfinite(predicted(fitted)).all()


@pytest.mark.parametrize("of", [{}, {"validation": 0.3}, {"validation": "last 40 %"}], ids=str)
@pytest.mark.parametrize("library", ["xgboost", "lightgbm", "scikit-learn"])
def test_method_trains_trees_and_corrections_of_forecasts(library, of):
    if library == "scikit-learn":
        predictor = pytest.importorskip("sklearn.linear_model").Ridge()
    else:
        pytest.importorskip(library)
        predictor = library
    fitted = fitted_by(predictor=predictor, settings={"solves": 2}, **of)
    assert 0 < paid_after_labels(fitted) <= 120
    assert np.isfinite(said(fitted.predictor, fitted.X_train)).all()


def test_method_learns_one_number_per_output_first_in_time_order():
    fitted = fitted_by(NEWSVENDOR, TABLE.X, TABLE.Y, validation="last 20 %", settings={"solves": 2})
    start = fitted_by(NEWSVENDOR, TABLE.X, TABLE.Y, validation="last 20 %", method="pfl")
    moved = predicted(fitted) - predicted(start)
    assert not fitted.kept_start
    assert np.allclose(moved, moved[0], atol=1e-6 * np.abs(moved).max())


def test_method_rows_with_known_data_share_decisions_as_far_as_they_can_price_them():
    X, Y = demand()
    problem = fs.Problem(
        solve=lambda y, limit: np.minimum(y, limit),
        cost=lambda y, z, limit: shortage_cost(y, z) if (z <= limit).all() else float("nan"),
        instances=[9.0 + row % 5 for row in range(60)],
    )
    fitted = fitted_by(problem, X, Y, settings={"solves": 4})
    assert fitted.report["stand_in"] == "argmin"
    start = fitted_by(problem, X, Y, method="pfl")
    regret, before = (
        one.oracle.evaluate(np.arange(60), predicted(one, X), phase="test").regret.mean() for one in (fitted, start)
    )
    assert regret < 0.8 * before  # of all rows: the twelve evidence rows are few


def test_method_of_a_random_solver_pays_pairs():
    fitted = fitted_by(noisy(TABLE).problem, settings={"solves": 4})
    assert fitted.report["stand_in"] is None
    assert {stage["stage"].split(": ")[1].split(", ")[0] for stage in fitted.report["stages"]} == {"pairs"}


def test_method_of_a_noisy_cost_trains():
    rng = np.random.default_rng(0)
    problem = fs.Problem(solve=NEWSVENDOR.solve, cost=lambda y, z: shortage_cost(y, z) + rng.normal(), noisy="cost")
    fitted = fitted_by(problem, *demand(), settings={"solves": 4})
    assert fitted.best.mean <= fitted.start.mean


@pytest.mark.parametrize("policy", ["skip", "penalise"])
def test_method_survives_solves_that_fail(policy, of_start):
    fitted = fitted_by(failing(TABLE).problem, settings={"solves": 4}, solving=SolveConfig(on_failure=policy))
    assert regret_of_new_rows(fitted) <= 1.01 * of_start


def test_method_of_failing_solves_pays_at_most_what_is_allowed():
    X, Y = demand()
    truths = {y.tobytes() for y in Y}

    def solve(y):
        if y[0] > 12 and y.tobytes() not in truths:
            raise fs.Infeasible("no decision")
        return y.copy()

    solving = SolveConfig(on_failure="skip")
    fitted = fitted_by(fs.Problem(solve=solve, cost=shortage_cost), X, Y, settings={"solves": 4}, solving=solving)
    assert paid_after_labels(fitted) <= 4 * 60


@pytest.mark.parametrize("column", ["X", "Y"])
def test_method_takes_a_constant_column(column):
    table = {"X": TABLE.X.copy(), "Y": TABLE.Y.copy()}
    table[column][:, 1] = 2.0
    fitted = fitted_by(TABLE.problem, table["X"], table["Y"], settings={"solves": 3})
    assert np.isfinite(predicted(fitted)).all()


def test_method_learns_from_twenty_rows_of_one_output():
    table = newsvendor(1, n=20)
    fitted = fitted_by(table.problem, table.X, table.Y, settings={"solves": 3})
    assert fitted.best.mean < fitted.start.mean


def test_method_of_a_start_without_regret_ends():
    X = np.random.default_rng(0).normal(size=(120, 2))
    problem = fs.Problem(solve=lambda y: np.zeros(1), cost=lambda y, z: float(y.sum()))
    fitted = fitted_by(problem, X, X @ np.ones((2, 3)))
    assert fitted.stopped.startswith("nothing to gain")
    assert fitted.oracle.calls.training("solve") == 0


def test_method_goes_on_from_a_former_run():
    X, Y = demand(90)
    model = fs.DecisionRegressor(NEWSVENDOR, predictor="linear", settings={"solves": 3}).fit(X[:60], Y[:60])
    before = model.predict(X)
    again = model.refit(X, Y)
    assert np.isfinite(again.predict(X)).all()
    assert again.predict(X).shape == before.shape


def test_method_reports_its_schedule_and_stages():
    fitted = fitted_by(settings={"solves": 6})
    report = fitted.report
    assert sum(stage["solves"] + stage["evidence"] for stage in report["schedule"]) <= 6 * 60
    assert report["stand_in"] in report["pilot"]["signals"]
    assert report["evidence"]["change"] < 0 < report["evidence"]["error"]
    assert any(record.validation_regret is not None for record in fitted.history)
    accepted = [stage for stage in report["stages"] if stage["accepted"]]
    assert accepted and all(stage["change"] < stage["error"] for stage in accepted)


def test_method_later_stage_that_is_taken_is_recorded_so_and_the_last_record_has_the_result():
    records = []
    fitted = fitted_by(settings={"solves": 6}, seed=0, callbacks=[records.append])
    stages = fitted.report["stages"]
    assert any(stage["accepted"] for stage in stages if not stage["stage"].startswith("stage 1:"))
    assert sum(stage["accepted"] for stage in stages if stage["stage"].startswith("stage 1:")) <= 1, "one of them stays"
    assert records[-1].best_regret == pytest.approx(fitted.summary.reached.best)
    assert fitted.history[-1].best_regret == fitted.summary.reached.best
    read = [record for record in fitted.history if record.validation_regret is not None]
    assert len(read) == 1 + len(stages)
    assert read[1].best_regret == pytest.approx(read[0].validation_regret + stages[0]["change"])


# that it repeats


def slow_cost(y, z):
    """The same cost, after a random moment."""
    time.sleep(np.random.default_rng().uniform(0, 2e-5))
    return shortage_cost(y, z)


def burn(until):
    while time.time() < until:
        sum(range(1000))


REPEATED = {"solves": 2, "cost_calls": 150}


@pytest.fixture(scope="module")
def expected():
    X, Y = demand()
    fitted = fitted_by(NEWSVENDOR, X, Y, settings=REPEATED)
    assert not fitted.kept_start
    return predicted(fitted, X)


def test_method_takes_no_change_that_the_evidence_refutes():
    """A prior that is sure of a gain does not outvote rows that say the opposite."""
    run = CrossFitting.__new__(CrossFitting)
    run.tuning, run.stand_in, run.start_regret = Tuning(), Argmin.__new__(Argmin), 1.0
    run.stand_in.signal = 1.0
    assert not run._taken(Change(1.8, 0.8))
    assert run._taken(Change(0.01, 0.8))


def test_method_gives_the_same_bits_again(expected):
    X, Y = demand()
    torch.rand(3)
    np.random.rand(3)  # noqa: NPY002
    assert np.array_equal(predicted(fitted_by(NEWSVENDOR, X, Y, settings=REPEATED), X), expected)


def test_method_gives_the_same_bits_with_a_ledger(expected, tmp_path):
    X, Y = demand()
    for _ in range(2):  # and where it is read back
        fitted = fitted_by(NEWSVENDOR, X, Y, settings=REPEATED, folder=tmp_path)
        assert np.array_equal(predicted(fitted, X), expected)


@pytest.mark.skipif(sys.platform == "win32", reason="worker processes need Linux or macOS")
def test_method_gives_the_same_bits_with_workers(expected):
    X, Y = demand()
    fitted = fitted_by(NEWSVENDOR, X, Y, settings=REPEATED, solving=SolveConfig(workers=2))
    assert np.array_equal(predicted(fitted, X), expected)


def test_method_gives_the_same_bits_under_load_and_with_a_cost_of_unsteady_pace(expected):
    X, Y = demand()
    busy = [multiprocessing.Process(target=burn, args=(time.time() + 60,), daemon=True) for _ in range(2)]
    for one in busy:
        one.start()
    try:
        fitted = fitted_by(fs.Problem(solve=NEWSVENDOR.solve, cost=slow_cost), X, Y, settings=REPEATED)
    finally:
        for one in busy:
            one.kill()
            one.join()
    assert np.array_equal(predicted(fitted, X), expected)


def test_method_gives_another_result_with_another_seed(expected):
    X, Y = demand()
    assert not np.array_equal(predicted(fitted_by(NEWSVENDOR, X, Y, settings=REPEATED, seed=1), X), expected)


# how it ends


@pytest.mark.parametrize("epochs", [1, 2, 3, 5, 7, 9])
def test_method_that_a_callback_stops_returns_the_best_so_far(epochs):
    def enough(record):
        return Stop("enough") if record.stage == "train" and record.epoch >= epochs else None

    fitted = fitted_by(settings={"solves": 6}, callbacks=[enough])
    assert fitted.stopped.startswith("enough")
    assert np.isfinite(fitted.start.mean), "the start was read before"
    assert fitted.best.mean <= fitted.start.mean
    assert np.isfinite(predicted(fitted)).all()


def test_method_keeps_a_stage_that_was_read_when_a_callback_stops_it():
    whole = fitted_by(settings={"solves": 6})
    readings = [record for record in whole.history if record.stage == "train" and record.validation_regret is not None]

    def enough(record):
        return Stop("enough") if record.stage == "train" and record.epoch >= readings[1].epoch else None

    fitted = fitted_by(settings={"solves": 6}, callbacks=[enough])
    assert not fitted.kept_start
    assert fitted.best.mean == pytest.approx(readings[1].validation_regret)


def interrupting(after):
    """A solver that is interrupted after this many calls."""
    left = [after]

    def solve(y):
        left[0] -= 1
        if left[0] == 0:
            raise KeyboardInterrupt
        return y.copy()

    return fs.Problem(solve=solve, cost=shortage_cost, version="one")


@pytest.mark.parametrize("method", ["staged", "pairs"])
@pytest.mark.parametrize("after", [90, 130, 200])
def test_method_that_is_interrupted_returns_the_best_so_far(after, method):
    X, Y = demand()
    fitted = fitted_by(interrupting(after), X, Y, method=method, settings={"solves": 6})
    assert fitted.interrupted
    assert np.isfinite(predicted(fitted, X)).all()
    assert not fitted.best.mean > fitted.start.mean


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.parametrize("method", ["staged", "pairs"])
def test_method_after_a_signal_to_stop_pays_nothing_more(method, tmp_path):
    X, Y = demand()
    left, after = [130], []

    def solve(y):
        left[0] -= 1
        if left[0] == 0:
            signal.raise_signal(signal.SIGINT)
        if left[0] < 0:
            after.append(y)
        return y.copy()

    problem = fs.Problem(solve=solve, cost=shortage_cost, version="one")
    fitted = fitted_by(problem, X, Y, method=method, settings={"solves": 6}, folder=tmp_path)
    assert fitted.interrupted
    assert len(after) < 64, "what was under way"
    assert np.isfinite(predicted(fitted, X)).all()


def test_method_that_is_interrupted_while_its_folds_start_returns_the_start(monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(cross_fitting, "start_models", interrupted)
    fitted = fitted_by(settings={"solves": 6})
    assert fitted.interrupted
    assert np.isfinite(predicted(fitted)).all()


@pytest.mark.parametrize("on_failure", ["raise", "skip"])
@pytest.mark.parametrize("seconds", [0.5, 1.5, 2.5, 30.5, 61.5, 100.5, 250.5])
def test_method_without_seconds_left_in_the_middle_returns_the_best_so_far(seconds, on_failure, monkeypatch):
    """In the probe, in the labels, in the reading of the start, and in stages: a solve takes one second."""
    begun, (X, Y) = [], demand()
    monkeypatch.setattr("time.perf_counter", lambda: float(len(begun)))

    def solve(y):
        begun.append(y)
        return y.copy()

    problem, solving = fs.Problem(solve=solve, cost=shortage_cost), SolveConfig(on_failure=on_failure)
    fitted = fitted_by(problem, X, Y, budget=fs.Budget(seconds=seconds), solving=solving)
    assert len(begun) <= math.ceil(seconds), "no call begins once they are spent"
    assert np.isfinite(predicted(fitted, X)).all()
    assert fitted.kept_start or any(stage["accepted"] for stage in fitted.report["stages"])
    if seconds < len(X):
        assert fitted.stopped == "the budget was spent before anything was judged; kept its start"


@pytest.mark.parametrize(
    ("gains", "goes_on"),
    [([0.4], True), ([0.4, 0.02], False), ([0.4, 0.2], True), ([0.02, 0.03], True), ([0.005], False)],
)
def test_method_without_a_budget_expects_gains_to_fall_as_they_fell_last(gains, goes_on):
    run = object.__new__(CrossFitting)
    run.start_regret, run._gain_before, run.tuning = 1.0, None, Tuning()
    for gain in gains:
        run.last = Change(-gain, 1e-6)
        worth = run._worth_more()
    assert worth == goes_on
