"""Hints: which known decision a solver gets to start from."""

import numpy as np
import pytest

import fewsolves as fs
from fewsolves.oracle import Oracle, SolveConfig
from fewsolves.oracle.hints import FIRST, MOST

Y = np.arange(200.0).reshape(100, 2)


def noting(seen, **changes):
    def solve(y_hat, hint=None):
        seen.append((y_hat.copy(), hint))
        return y_hat

    return fs.Problem(**{"solve": solve, "cost": lambda y, z: float(np.abs(y - z).sum())} | changes)


@pytest.mark.portable
def test_hints_are_the_known_decisions_at_the_nearest_parameters():
    seen = []
    oracle = Oracle(noting(seen), Y)
    oracle.labels(np.arange(100))
    assert all(hint is None for _, hint in seen[:FIRST])
    assert all(hint.tolist() == Y[FIRST - 1].tolist() for _, hint in seen[FIRST:])
    seen.clear()
    oracle.solve(np.array([3, 90]), np.array([[100.2, 101.0], [0.0, 0.9]]), phase="online")
    assert [hint.tolist() for _, hint in seen] == [[100.0, 101.0], [0.0, 1.0]]


@pytest.mark.portable
def test_hints_compare_columns_by_their_spread():
    seen, wide = [], np.array([[0.0, 0.0], [1.0, 1000.0]])
    oracle = Oracle(noting(seen), wide)
    oracle.labels(np.arange(2))
    oracle.solve(np.array([0]), np.array([[0.9, 450.0]]), phase="online")
    assert seen[-1][1].tolist() == [1.0, 1000.0]


@pytest.mark.portable
def test_hints_come_from_the_same_row_where_rows_have_known_data():
    seen = []

    def solve(y_hat, instance, hint=None):
        seen.append(hint)
        return np.full(instance, y_hat[0])

    problem = fs.Problem(solve=solve, cost=lambda y, z, instance: float(z.sum()), instances=[1, 2, 3])
    oracle = Oracle(problem, Y[:3])
    oracle.labels(np.array([0, 2]))
    oracle.solve(np.array([0, 1, 2]), np.full((3, 2), 2.0), phase="online")
    assert [None if hint is None else len(hint) for hint in seen[2:]] == [1, None, 3]


@pytest.mark.portable
def test_hints_of_a_long_run_are_the_latest_solves():
    seen = []
    oracle = Oracle(noting(seen), Y)
    oracle.labels(np.arange(1))
    far = 1000.0 + np.arange(2.0 * MOST).reshape(MOST, 2)
    oracle.solve(np.zeros(MOST, dtype=int), far, phase="online")
    oracle.solve(np.zeros(1, dtype=int), Y[:1] + 0.1, phase="online")
    assert seen[-1][1].tolist() == far[0].tolist()


def made():
    def solve(y_hat, hint=None):
        return np.concatenate([y_hat, np.zeros(2) if hint is None else hint[:2]])

    return solve, lambda y, z: float(np.abs(z[2:]).sum())


def test_hints_are_the_same_with_any_number_of_workers_and_reach_a_factory():
    found = []
    for solving in (SolveConfig(), SolveConfig(workers=3)):
        oracle = Oracle(fs.Problem(factory=made), Y, solving=solving)
        try:
            labels = oracle.labels(np.arange(100))
            found.append(labels + oracle.solve(np.arange(50), Y[:50] + 0.4, phase="online"))
        finally:
            oracle.close()
    assert np.array_equal(*found)
    assert (found[0][-1][2:] == Y[49]).all()


@pytest.mark.portable
def test_hints_cost_a_solver_that_takes_none_nothing():
    oracle = Oracle(fs.Problem(solve=lambda y: y, cost=lambda y, z: 0.0), Y)
    oracle.labels(np.arange(100))
    assert not oracle.account._hints.wanted
    assert oracle.account._hints._decisions == []


@pytest.mark.portable
def test_hints_need_no_default_where_decisions_are_made():
    problem = fs.Problem(solve=lambda y, hint: y, cost=lambda y, z: float(np.abs(y - z).sum()))
    X = np.random.default_rng(0).normal(size=(30, 2))
    model = fs.DecisionRegressor(problem, method="pfl", predictor="linear", verbose=False).fit(X, X)
    assert np.allclose(model.decide(X), X)
