"""The argmin over known decisions."""

import numpy as np
import pytest

import fewsolves as fs
from fewsolves.methods.staged import pool as pool_module
from fewsolves.methods.staged.pool import Pool
from fewsolves.methods.staged.rows import TrainingRows
from fewsolves.methods.staged.stand_ins import Argmin
from fewsolves.methods.staged.tuning import Tuning
from fewsolves.oracle import Oracle
from fewsolves.testing import check_stand_in
from problems_of_users import CHEAPEST, NEWSVENDOR, demand_table
from staged_rows import N, grown

EVERYONE = np.arange(N)


def test_argmin_keeps_the_contract():
    check_stand_in(Argmin)


def test_argmin_over_all_decisions_is_the_solver():
    pool = grown(CHEAPEST)
    u = pool.rows.rng.normal(size=(N, 3))
    predicted = Argmin(pool, Tuning()).value(EVERYONE, u, u[:, None])[:, 0]
    assert np.allclose(predicted, pool.rows.pay(EVERYONE, u).regret, atol=1e-5)


def test_argmin_of_a_row_prices_decisions_under_its_own_instance():
    _, Y = demand_table(N, 3)
    prices = np.random.default_rng(1).uniform(0.2, 5, size=(N, 3))
    problem = fs.Problem(
        solve=lambda y, price: np.eye(3)[np.argmin(price * y)],
        cost=lambda y, z, price: float(price * y @ z),
        instances=list(prices),
    )
    pool = Pool(TrainingRows(Oracle(problem, Y), np.random.default_rng(0)), 10**9)
    assert len(pool) == 3 and Argmin.applicable(pool)
    u = pool.rows.rng.normal(size=(N, 3))
    predicted = Argmin(pool, Tuning()).value(EVERYONE, u, u[:, None])[:, 0]
    assert np.allclose(predicted, pool.rows.pay(EVERYONE, u).regret, atol=1e-5)


def test_argmin_of_a_row_has_its_own_decision_among_its_candidates():
    pool = grown(NEWSVENDOR, points=200)
    far = pool.rows.units(pool.rows.oracle.Y) + 5.0
    argmin = Argmin(pool, Tuning(near=10, best=10))
    candidates, _ = argmin._candidates(EVERYONE, far)
    assert (candidates == pool.own[:, None]).any(axis=1).all()


def test_argmin_of_a_row_with_a_failed_label_has_other_candidates():
    pool = grown(NEWSVENDOR)
    pool.own[:3] = -1
    argmin, u = Argmin(pool, Tuning(near=5, best=3)), pool.rows.rng.normal(size=(3, 3))
    assert (argmin._candidates(np.arange(3), u)[0] >= 0).all()
    assert np.isfinite(argmin.value(np.arange(3), u, u[:, None])).all()


def test_argmin_applies_to_no_random_solver():
    noisy = fs.Problem(solve=NEWSVENDOR.solve, cost=NEWSVENDOR.cost, noisy="solve")
    assert not Argmin.applicable(grown(noisy))


@pytest.mark.parametrize("solves", [0, 1, 30, 3000])
def test_argmin_plan_makes_few_epochs_for_each_solve(solves):
    plan = Argmin(grown(NEWSVENDOR), Tuning()).plan(solves, 0)
    assert plan.solves == solves
    assert plan.epochs == max(2.0, Tuning().epochs * np.sqrt(solves / N))


def test_argmin_slope_is_that_of_its_smoothed_value_where_costs_are_linear():
    pool = grown(CHEAPEST)
    argmin = Argmin(pool, Tuning(directions=3, draws=20_000))
    u, width = pool.rows.rng.normal(size=(N, 3)), np.sqrt(3) * argmin.sigma  # three directions of that length
    slope = np.mean([argmin.slope(EVERYONE, u) for _ in range(4)], axis=0)
    a = width * pool.rows.rng.standard_normal((20_000, 3))
    for i in range(3):
        value = argmin.value(np.full(1, i), u[i : i + 1], u[i] + np.concatenate([a, -a])[None])[0]
        smoothed = (value[:20_000] - value[20_000:]) @ a / 2 / 20_000 / width**2
        assert np.allclose(slope[i], smoothed, atol=0.1 * np.abs(smoothed).max() + 0.02)


def test_argmin_slope_ignores_decisions_that_a_row_cannot_price():
    pool = grown(CHEAPEST)
    pool._regrets[0], pool._known[0] = np.nan, True
    slope = Argmin(pool, Tuning()).slope(EVERYONE, pool.rows.rng.normal(size=(N, 3)))
    assert np.isfinite(slope).all() and slope.any()


def test_argmin_of_a_large_table_looks_at_the_last_decisions_and_that_of_the_row(monkeypatch):
    monkeypatch.setattr(pool_module, "WHOLE_ROWS", N - 1)
    monkeypatch.setattr(pool_module, "SEARCHED", 12)
    pool = grown(NEWSVENDOR)
    candidates, _ = Argmin(pool, Tuning(near=6, best=6))._candidates(EVERYONE, pool.rows.units(pool.rows.oracle.Y) + 5)
    assert (candidates == pool.own[:, None]).any(axis=1).all()
    assert ((candidates >= len(pool) - 12) | (candidates == pool.own[:, None])).all()
