"""Processes of all rows over the same points."""

import numpy as np
import pytest

import fewsolves as fs
from fewsolves.methods.staged import pool as pool_module
from fewsolves.methods.staged.stand_ins import SharedGP
from fewsolves.methods.staged.stand_ins import shared_gp as module
from fewsolves.methods.staged.tuning import Tuning
from fewsolves.testing import check_stand_in
from problems_of_users import NEWSVENDOR
from staged_rows import N, grown

EVERYONE = np.arange(N)


def made(pool, noise=None):
    gp = SharedGP(pool, Tuning())
    gp.noise = gp.noise if noise is None else noise
    gp.refresh()
    return gp


def test_shared_gp_keeps_the_contract():
    check_stand_in(SharedGP)


def test_shared_gp_slopes_are_those_of_its_values():
    gp = made(grown(NEWSVENDOR))
    index, u, h = np.arange(5), gp.pool.rows.rng.normal(size=(5, 3)), 1e-5
    value = gp.value(index, u, u[:, None] + h * np.concatenate([np.eye(3), -np.eye(3)]))
    assert np.allclose(gp.slope(index, u), (value[:, :3] - value[:, 3:]) / (2 * h), rtol=1e-3, atol=1e-6)


def test_shared_gp_knows_what_was_paid():
    gp = made(grown(NEWSVENDOR), noise=1e-8)
    at = np.broadcast_to(gp.u[:4], (N, 4, 3))
    known = gp.pool.regret(EVERYONE[:, None], np.arange(4))
    assert np.corrcoef(gp.value(EVERYONE, at[:, 0], at).ravel(), known.ravel())[0, 1] > 0.99


def test_shared_gp_looks_at_the_last_points_of_a_long_run(monkeypatch):
    monkeypatch.setattr(module, "POINTS", 50)
    pool = grown(NEWSVENDOR, points=100)
    gp = made(pool)
    assert np.array_equal(gp.u, pool.points[-50:])


def test_shared_gp_takes_more_for_noise_where_the_cost_is_noisy():
    noisy = fs.Problem(solve=NEWSVENDOR.solve, cost=NEWSVENDOR.cost, noisy="cost")
    assert made(grown(noisy)).noise > made(grown(NEWSVENDOR)).noise


def test_shared_gp_does_not_apply_to_rows_with_known_data():
    problem = fs.Problem(
        solve=lambda y, limit: np.minimum(y, limit), cost=lambda y, z, limit: float(y @ z), instances=[9.0] * N
    )
    assert not SharedGP.applicable(grown(problem))


@pytest.mark.parametrize(("paid", "pay"), [(0, "points"), (10 * N, "pairs")])
def test_shared_gp_learns_from_points_and_is_then_corrected_by_pairs(paid, pay):
    plan = SharedGP(grown(NEWSVENDOR), Tuning()).plan(2 * N, paid)
    assert (plan.pay, plan.solves, plan.grow) == (pay, 2 * N, pay == "points")


def test_shared_gp_of_a_large_table_has_fewer_points_and_learns_in_parts(monkeypatch):
    whole = made(grown(NEWSVENDOR))
    monkeypatch.setattr(module, "ENTRIES_AT_ONCE", 7 * len(whole.pool))
    parts = made(grown(NEWSVENDOR))
    assert np.allclose(parts.alpha, whole.alpha) and np.allclose(parts.mean, whole.mean)
    monkeypatch.setattr(pool_module, "WHOLE_ROWS", N - 1)
    monkeypatch.setattr(module, "TABLE_ENTRIES", 8 * N)
    gp = made(grown(NEWSVENDOR))
    assert np.array_equal(gp.u, gp.pool.points[-8:])
    assert gp.alpha.shape == (N, 8)
