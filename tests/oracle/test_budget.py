import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fewsolves as fs
from fewsolves.data import split_rows
from fewsolves.errors import BudgetSpent, InputError
from fewsolves.fitting.fit import fit
from fewsolves.fitting.plan import Plan
from fewsolves.methods.registry import METHODS
from fewsolves.oracle import Budget, Oracle, SolveConfig
from fewsolves.quoting.price import Workload, affordable, held_back, least_price
from fewsolves.testing.methods import known_settings
from problems_of_users import CHEAPEST, NEWSVENDOR, demand_table

SHORT = {"max_epochs": 4, "start_epochs": 3, "batch_size": 8}
ROWS = 30
SPLIT = split_rows(ROWS, rng=np.random.default_rng(0), test=0.0)


class Counted:
    """A problem whose calls are counted by itself, not by the library."""

    def __init__(self, problem, deterministic=True, seconds=0.0):
        self.solves = self.costs = 0
        self.problem = dataclasses.replace(
            problem, solve=self.solve, cost=self.cost, noisy=None if deterministic else "both"
        )
        self._solve, self._cost = problem.solve, problem.cost

    def solve(self, y_hat):
        self.solves += 1
        return self._solve(y_hat)

    def cost(self, y, z):
        self.costs += 1
        return self._cost(y, z)


def trained(counted, method, budget, predictor="linear", **changes):
    X, Y = demand_table(ROWS)
    few = {"lodl-mse": {"samples": 5}, "egl-mse": {"samples": 4}}.get(method, {})
    return fit(
        Plan(
            counted.problem,
            X,
            Y,
            SPLIT,
            method=method,
            predictor=predictor,
            settings=known_settings(METHODS[method], SHORT | few | changes),
            budget=budget,
        )
    )


@settings(max_examples=40)
@given(
    method=st.sampled_from(["pfl", "shift", "sfge", "gp-surrogate", "memo", "lancer", "egl-mse", "lodl-mse", "spo+"]),
    solves=st.none() | st.integers(1, 400),
    cost_calls=st.none() | st.integers(1, 400),
    predictor=st.sampled_from(["linear", "auto"]),
    deterministic=st.booleans(),
)
def test_budget_no_budget_is_overrun(method, solves, cost_calls, predictor, deterministic):
    deterministic = deterministic or method == "memo"
    counted = Counted(CHEAPEST if method == "spo+" else NEWSVENDOR, deterministic)
    budget = Budget(solves=solves, cost_calls=cost_calls)
    try:
        fitted = trained(counted, method, budget, predictor)
    except InputError as error:
        assert "does not cover" in str(error)
        assert counted.solves == counted.costs == 0, "refused before anything is paid"
        return
    assert counted.solves <= (solves or np.inf)
    assert counted.costs <= (cost_calls or np.inf)
    assert fitted.oracle.calls.total("solve") == counted.solves
    assert fitted.oracle.calls.total("cost") == counted.costs


@pytest.mark.parametrize("method", ["pfl", "shift", "sfge", "gp-surrogate", "lodl-mse", "egl-mse", "lancer", "memo"])
@pytest.mark.parametrize("predictor", ["linear", "auto"])
def test_budget_the_least_price_is_enough_and_one_less_is_not(method, predictor):
    with pytest.raises(InputError, match=r"raise it to solves=\d+ at least") as refused:
        trained(Counted(NEWSVENDOR), method, Budget(solves=1), predictor)
    least = int(str(refused.value).split("raise it to solves=")[1].split()[0])
    with pytest.raises(InputError, match=f"{least:,} solves = 1 probe"):
        trained(Counted(NEWSVENDOR), method, Budget(solves=least - 1), predictor)
    counted = Counted(NEWSVENDOR)
    trained(counted, method, Budget(solves=least), predictor)
    assert least - len(SPLIT.valid) <= counted.solves <= least


def test_budget_that_is_wide_enough_changes_nothing():
    free, wide = (trained(Counted(NEWSVENDOR), "gp-surrogate", budget) for budget in (None, Budget(solves=10**6)))
    same = zip(free.predictor.weights(), wide.predictor.weights(), strict=True)
    assert all((a == b).all() for a, b in same)
    assert free.oracle.calls.counts == wide.oracle.calls.counts
    assert wide.warnings == free.warnings


def test_budget_without_a_surrogate_training_ends_with_the_best_weights():
    counted = Counted(NEWSVENDOR)
    fitted = trained(counted, "sfge", Budget(solves=110), max_epochs=50)
    assert fitted.stopped.startswith("the budget was spent in epoch 3")
    assert fitted.best.mean <= fitted.start.mean
    assert any("the budget has no room for" in message for message in fitted.warnings)
    assert fitted.history[-1].validation_regret is not None, "what was learned last is still judged"
    assert fitted.history[-1].solves["online"] > fitted.history[-2].solves["online"]
    assert 110 - len(SPLIT.train) < counted.solves <= 110


def test_budget_the_surrogate_goes_on_alone_and_says_so():
    settings = {"max_epochs": 12, "beta": 1e-9, "learning_rate": 0.05, "guard": -100.0}
    fitted = trained(Counted(NEWSVENDOR), "gp-surrogate", Budget(solves=200), **settings)
    online = [record.solves["online"] for record in fitted.history if record.stage == "train"]
    readings = [record.validation_regret for record in fitted.history if record.stage == "train"]
    assert len(online) == 12, "all epochs were trained"
    assert 0 < online[0] <= online[-1] == online[3]
    assert any(regret is not None for regret in readings[4:]), "weights of later epochs can still be chosen"
    assert readings[-1] is not None
    assert any("with the surrogate alone" in message for message in fitted.warnings)
    assert fitted.report["surrogate_alone_since"] <= 3


def test_budget_the_most_uncertain_rows_that_fit_are_paid_for():
    Y = demand_table(20, 2)[1]
    oracle = Oracle(NEWSVENDOR, Y, budget=Budget(solves=20 + 4 * 20 + 3))
    loss = fs.GPSurrogateLoss(oracle, config=fs.GPSurrogateConfig(beta=1e-9))
    import torch

    y_hat = torch.as_tensor(Y * 1.2)
    loss.start(y_hat)
    far = y_hat.clone()
    far[[4, 7, 9]] += 50.0 * loss.scale  # nothing is known there
    before = loss.surrogate.samples.n_of
    loss(far.requires_grad_(), torch.arange(20)).backward()
    assert np.flatnonzero(loss.surrogate.samples.n_of - before).tolist() == [4, 7, 9]
    assert oracle.calls.total("solve") == 103
    assert far.grad.abs().sum() > 0, "the others learn from the surrogate"


def test_budget_pre_training_that_does_not_fit_is_refused_with_what_fits():
    with pytest.raises(InputError, match="pre-training") as refused:
        X, Y = demand_table(ROWS)
        fit(Plan(NEWSVENDOR, X, Y, SPLIT, method="lodl-mse", predictor="linear", budget=Budget(solves=1000)))
    assert "6,750 pre-training" in str(refused.value)
    assert "pfl, gp-surrogate, gp-surrogate-paper" in str(refused.value)
    assert "spo+" not in str(refused.value), "it does not fit the problem"


def test_budget_the_test_is_outside_of_the_budget():
    fitted = trained(Counted(NEWSVENDOR), "pfl", Budget(solves=11))
    new = fitted.oracle.part(SPLIT.train)
    assert len(new.regret(np.arange(20), new.Y[:20] + 1.0, phase="test")) == 20
    with pytest.raises(BudgetSpent, match="no room for"):
        new.regret(np.arange(20), new.Y[:20] + 2.0, phase="validation")


@pytest.mark.parametrize("method", ["sfge", "gp-surrogate"])
def test_budget_no_call_begins_once_the_seconds_are_spent(method, monkeypatch):
    now = [0.0]
    monkeypatch.setattr("time.perf_counter", lambda: now[0])
    begun = []

    def solve(y_hat):
        begun.append(now[0])
        now[0] += 1.0
        return y_hat

    X, Y = demand_table(ROWS)
    problem = fs.Problem(solve=solve, cost=NEWSVENDOR.cost)
    settings = SHORT | {"max_epochs": 50} | ({"beta": 1e-9} if method == "gp-surrogate" else {})
    budget = Budget(seconds=220.0)
    fitted = fit(Plan(problem, X, Y, SPLIT, method=method, predictor="linear", settings=settings, budget=budget))
    assert max(begun) < 220.0
    assert len(begun) > 200
    assert fitted.warnings
    assert fitted.best.mean <= fitted.start.mean


@pytest.mark.parametrize("on_failure", ["raise", "skip"])
@pytest.mark.parametrize("seconds", [0.5, 1.5, 2.5, 7.5])
def test_budget_seconds_that_end_before_the_start_is_judged_are_an_error_that_says_so(seconds, on_failure, monkeypatch):
    begun, (X, Y) = [], demand_table(ROWS)
    monkeypatch.setattr("time.perf_counter", lambda: float(len(begun)))

    def solve(y_hat):
        begun.append(y_hat)
        return y_hat

    problem, solving = fs.Problem(solve=solve, cost=NEWSVENDOR.cost), SolveConfig(on_failure=on_failure)
    options = {"method": "sfge", "predictor": "linear", "budget": Budget(seconds=seconds), "solving": solving}
    with pytest.raises(BudgetSpent, match=r"no room for .*\. The start has not been judged, so there is no result"):
        fit(Plan(problem, X, Y, SPLIT, **options))
    assert len(begun) == math.ceil(seconds)


def test_budget_held_back_readings():
    method, plain = METHODS["gp-surrogate"].with_settings({}), METHODS["sfge"].with_settings({})
    task = Workload(NEWSVENDOR, demand_table(ROWS)[1], SPLIT)
    points = 4 * len(SPLIT.train)
    assert held_back(method, task, points + 3) == 3
    assert held_back(method, task, points + 3 * 3 * 5) == 15
    assert held_back(method, task, 10**9) == 24
    assert held_back(plain, task, 10**9) == 3


def test_budget_the_price_of_points_that_all_examples_share():
    task = Workload(NEWSVENDOR, demand_table(ROWS)[1], SPLIT)
    price = least_price(METHODS["gp-surrogate-paper"].with_settings({}), task)
    points = 6 + int(5 * np.log2(3))
    assert price["solve"]["pre-training"] == points
    assert price["cost"]["pre-training"] == points * len(SPLIT.train)
    assert "gp-surrogate-paper" in affordable(task, Budget(solves=60))


@pytest.mark.parametrize("wrong", [{"solves": 0}, {"cost_calls": -1}, {"seconds": "long"}])
def test_budget_wrong_budgets_are_named(wrong):
    with pytest.raises(InputError, match=next(iter(wrong))):
        Budget(**wrong)


def test_budget_asynchronous_is_for_methods_that_can_go_on():
    X, Y = demand_table(ROWS)
    with pytest.raises(InputError, match="asynchronous=True is for gp-surrogate"):
        fit(Plan(NEWSVENDOR, X, Y, SPLIT, method="sfge", solving=SolveConfig(asynchronous=True)))
