"""Decisions of any kind, on their way through oracle, ledger, workers and the estimator."""

from contextlib import closing
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest

import fewsolves as fs
from fewsolves.errors import SolverError
from fewsolves.ledger.ledger import open_ledger
from fewsolves.ledger.reading import evaluations, open_to_read
from fewsolves.oracle import Oracle, SolveConfig
from problems_of_users import demand_table

X, Y = demand_table(20)
ALL = np.arange(20)


class Schedule(NamedTuple):
    units: list[float]
    machine: str


class Plan:
    """A class of the user's own, which other programs cannot read."""

    def __init__(self, units):
        self.units = units


def rounded(y_hat):
    return [round(float(one), 1) for one in y_hat]


def shortage(y, units):
    return float(np.sum(units) + 9 * np.sum(np.maximum(y - np.array(units), 0)))


KINDS = {
    "dict": (lambda y: {"units": rounded(y)}, lambda y, z: shortage(y, z["units"])),
    "named tuple": (lambda y: Schedule(rounded(y), "a"), lambda y, z: shortage(y, z.units)),
    "text": (lambda y: " ".join(map(str, rounded(y))), lambda y, z: shortage(y, [float(one) for one in z.split()])),
    "frame": (lambda y: pd.DataFrame({"units": rounded(y)}), lambda y, z: shortage(y, z["units"].to_numpy())),
    "routes": (lambda y: [rounded(y)[:2], rounded(y)[2:]], lambda y, z: shortage(y, z[0] + z[1])),
}


def problem_of(kind, solved=None):
    solve, cost = KINDS[kind]

    def counted(y_hat):
        if solved is not None:
            solved.append(1)
        return solve(y_hat)

    return fs.Problem(solve=counted, cost=cost)


@pytest.mark.parametrize("kind", KINDS)
def test_decision_kinds_a_decision_of_any_kind_is_remembered_recorded_and_costed(kind, tmp_path):
    expected = Oracle(fs.Problem(solve=lambda y: np.array(rounded(y)), cost=shortage), Y).regret(
        ALL, Y + 1, phase="online"
    )
    for again in (False, True):
        solved = []
        problem = problem_of(kind, solved)
        ledger = open_ledger(tmp_path, problem, Y, identity="a")
        with closing(ledger), closing(Oracle(problem, Y, ledger=ledger)) as oracle:
            assert np.array_equal(oracle.regret(ALL, Y + 1, phase="online"), expected)
            assert np.array_equal(oracle.regret(ALL, Y + 1, phase="online"), expected)
            assert len(solved) == (0 if again else 40)
            (label,) = oracle.labels(ALL[:1])
            assert type(label) is type(KINDS[kind][0](Y[0]))
    with closing(open_to_read(tmp_path)) as file:
        assert len(list(evaluations(file))) == 40


@pytest.mark.parametrize("kind", ["named tuple", "routes"])
def test_decision_kinds_workers_answer_alike(kind):
    problem = problem_of(kind)
    here = Oracle(problem, Y).regret(ALL, Y + 1, phase="online")
    with closing(Oracle(problem, Y, solving=SolveConfig(workers=2))) as oracle:
        assert np.array_equal(oracle.regret(ALL, Y + 1, phase="online"), here)
        assert type(oracle.labels(ALL[:1])[0]) is type(KINDS[kind][0](Y[0]))


def regressor(problem, **changes):
    quick = {"max_epochs": 2, "start_epochs": 2}
    return fs.DecisionRegressor(problem, **{"method": "sfge", "predictor": "linear", "settings": quick} | changes)


@pytest.mark.parametrize("kind", KINDS)
def test_decision_kinds_decide_hands_back_what_the_solver_made(kind):
    model = regressor(problem_of(kind)).fit(X, Y)
    found, made = model.decide(X[:3]), [KINDS[kind][0](y_hat) for y_hat in model.predict(X[:3])]
    assert isinstance(found, list)
    for one, other in zip(found, made, strict=True):
        assert type(one) is type(other)
        assert one.equals(other) if kind == "frame" else one == other


@pytest.mark.parametrize("method", ["gp-surrogate", "staged", "egl-mse"])
@pytest.mark.filterwarnings("ignore:the surrogate is over-confident")
def test_decision_kinds_methods_do_not_mind_what_a_decision_is(method):
    """The same predictor as with arrays of the same numbers."""
    routes = fs.Problem(solve=KINDS["routes"][0], cost=KINDS["routes"][1])
    plain = fs.Problem(solve=lambda y: np.array(rounded(y)), cost=shortage)
    settings = {"settings": {"solves": 2}} if method == "staged" else {}
    found = [regressor(problem, method=method, **settings).fit(X, Y).predict(X) for problem in (routes, plain)]
    assert np.array_equal(*found)


def test_decision_kinds_a_class_of_the_users_own_is_kept_by_their_function():
    problem = fs.Problem(solve=lambda y: Plan(rounded(y)), cost=shortage, encode=lambda z: z.units)
    model = regressor(problem, workers=2).fit(X, Y)
    decisions = model.decide(X[:3])
    assert [type(z) for z in decisions] == [Plan] * 3
    assert decisions[0].units == rounded(model.predict(X[:1])[0])
    assert model.score(X, Y) <= 0


def test_decision_kinds_what_cannot_be_kept_says_what_to_do():
    problem = fs.Problem(solve=lambda y: Plan(rounded(y)), cost=lambda y, z: 0.0)
    with pytest.raises(SolverError, match=r"row 0, which is not a decision.*a Plan .* give Problem\(encode=\)"):
        Oracle(problem, Y).labels(ALL)
    inside = fs.Problem(solve=lambda y: {"plan": Plan(1)}, cost=lambda y, z: 0.0)
    with pytest.raises(SolverError, match=r"Plan cannot be stored; give Problem\(encode=\)"):
        Oracle(inside, Y).labels(ALL)
    fails = fs.Problem(solve=lambda y: Plan(1), cost=lambda y, z: 0.0, encode=lambda z: z.nothing)
    with pytest.raises(SolverError, match="`encode` raised AttributeError at row 0"):
        Oracle(fails, Y).labels(ALL)


def test_decision_kinds_who_changes_a_decision_in_cost_changes_nothing_for_others():
    def cost(y, z):
        z["units"].append(99.0)
        return float(len(z["units"]))

    oracle = Oracle(fs.Problem(solve=lambda y: {"units": rounded(y)}, cost=cost), Y)
    assert set(oracle.optimum(ALL)) == {4.0}
    assert len(oracle.labels(ALL)[0]["units"]) == 3
