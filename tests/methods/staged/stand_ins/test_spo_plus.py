"""SPO+ over known decisions."""

import numpy as np
import pytest

import fewsolves as fs
from fewsolves.methods.staged import pool as pool_module
from fewsolves.methods.staged.pool import Pool
from fewsolves.methods.staged.rows import TrainingRows
from fewsolves.methods.staged.stand_ins import SPOPlus, applicable
from fewsolves.methods.staged.tuning import Tuning
from fewsolves.oracle import Oracle
from fewsolves.testing import check_stand_in
from problems_of_users import CHEAPEST, NEWSVENDOR
from staged_rows import N, grown

EVERYONE = np.arange(N)


def made(pool):
    spo = SPOPlus(pool, Tuning())
    spo.refresh()
    return spo


def test_spo_plus_keeps_the_contract():
    check_stand_in(SPOPlus)


def test_spo_plus_bounds_the_regret_and_has_the_slope_of_that_bound():
    pool = grown(CHEAPEST)
    spo, rows = made(pool), pool.rows
    truth = rows.units(rows.oracle.Y)
    u = truth + rows.rng.normal(size=truth.shape)
    regret = spo.value(EVERYONE, u, u[:, None])[:, 0]
    assert np.allclose(regret, rows.pay(EVERYONE, u, phase="test").regret)

    def loss(u):
        """As in the docstring, by matrices of costs: (N, K)."""
        at_truth, at_u = (spo.a + v @ spo.b.T for v in (truth, u))
        return (at_truth - 2 * at_u).max(1) + 2 * at_u[EVERYONE, pool.own] - at_truth[EVERYONE, pool.own]

    h = 1e-5
    slopes = np.stack([(loss(u + h * e) - loss(u - h * e)) / (2 * h) for e in np.eye(3)], axis=1)
    assert np.allclose(spo.slope(EVERYONE, u), slopes, atol=1e-6)
    assert (loss(u) >= regret - 1e-9).all()
    assert np.allclose(loss(truth), 0.0)


def test_spo_plus_applies_where_the_cost_is_linear_and_is_then_alone():
    linear, other = grown(CHEAPEST), grown(NEWSVENDOR)
    solves = linear.rows.oracle.calls.total("solve")
    assert SPOPlus.applicable(linear) and not SPOPlus.applicable(other)
    assert linear.rows.oracle.calls.total("solve") == solves
    names = [[one.name for one in applicable(pool, Tuning(), Tuning())] for pool in (linear, other)]
    assert names == [["spo+"], ["argmin", "gp"]]


def test_spo_plus_does_not_apply_where_no_cost_is_known_between_the_truths():
    def cost(y, z):
        if not any(np.array_equal(y, row) and np.array_equal(z, row) for row in truths):
            raise RuntimeError("no price")
        return 0.0

    truths = np.random.default_rng(0).normal(size=(N, 3))
    problem = fs.Problem(solve=lambda y: y.copy(), cost=cost)
    assert not SPOPlus.applicable(Pool(TrainingRows(Oracle(problem, truths), np.random.default_rng(0)), 10**9))


@pytest.mark.parametrize("linear", [None, "min"])
def test_spo_plus_queries_no_sign_that_no_truth_has_unless_the_problem_is_declared_linear(linear):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    Y = np.clip(1 + 0.7 * X @ rng.normal(size=(2, 3)) + rng.normal(size=(60, 3)), 0.1, 2.0)
    problem = fs.Problem(
        solve=lambda y: np.eye(3)[np.argmin(y)], cost=lambda y, z: float(y @ z), upper=2.0, linear=linear
    )
    rows = TrainingRows(Oracle(problem, Y), rng)
    spo = made(Pool(rows, 10**9))
    u = rng.normal(scale=5.0, size=(60, 3))
    queried = rows.raw(spo.query_points(np.arange(60), u, u))
    assert (queried > 0).all() == (linear is None)
    assert np.allclose(spo.b, np.array(spo.pool.decisions) * rows.scale.std), "no bound is in the way of the slope"


def test_spo_plus_never_selects_a_decision_with_a_failed_cost():
    pool = grown(CHEAPEST)
    original = pool.model_cost

    def failing(index, u, numbers):
        cost = original(index, u, numbers).copy()
        cost[numbers[:, 0] == 0] = np.inf
        return cost

    pool.model_cost = failing
    slope = made(pool).slope(EVERYONE, pool.rows.rng.normal(size=(N, 3)))
    assert np.isfinite(slope).all()
    assert not slope[pool.own == 0].any()
    assert slope.any()


def test_spo_plus_slope_of_a_row_with_a_failed_label_is_zero():
    pool = grown(CHEAPEST)
    pool.own[:4] = -1
    slope = made(pool).slope(EVERYONE, pool.rows.rng.normal(size=(N, 3)))
    assert not slope[:4].any()


def test_spo_plus_of_a_large_table_knows_the_decision_of_each_row(monkeypatch):
    monkeypatch.setattr(pool_module, "WHOLE_ROWS", N - 1)
    monkeypatch.setattr(pool_module, "SEARCHED", 1)
    pool = grown(CHEAPEST)
    spo, truth = made(pool), pool.rows.units(pool.rows.oracle.Y)
    assert len(spo.a) == 1
    assert np.allclose(spo.value(EVERYONE, truth, truth[:, None]), 0.0)
    assert not spo.slope(EVERYONE, truth).any()
    others = pool.own != len(pool) - 1
    assert spo.slope(EVERYONE, -10 * spo.b[0] + truth)[others].any(axis=1).all(), "that one is best"
