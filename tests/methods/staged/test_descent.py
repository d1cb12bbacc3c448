"""A descent pays at most what its plan says, and goes down."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fewsolves.methods.staged.descent import Descent, membership, pairs_plan, union
from fewsolves.methods.staged.pool import Pool
from fewsolves.methods.staged.replicas import Shifts
from fewsolves.methods.staged.stand_ins import Argmin, DescentPlan, SharedGP
from fewsolves.methods.staged.tuning import Tuning
from problems_of_users import NEWSVENDOR
from staged_rows import N, grown, rows_of

TUNING = Tuning()
BAGS = [np.arange(20), np.arange(10, N)]


def shifts_of(rows):
    return Shifts(rows.units(rows.oracle.Y) - 1.0, BAGS)  # each prediction a standard deviation too low


@settings(max_examples=40)
@given(st.integers(0, 200), st.floats(0.01, 12), st.integers(1, 64), st.sampled_from(["points", "pairs"]))
def test_descent_pays_at_most_what_its_plan_says(solves, epochs, batch, pay):
    rows = rows_of(NEWSVENDOR)
    plan = DescentPlan(epochs=epochs, solves=solves, pay=pay, sigma=0.3, rate=0.05, batch=batch, jitter=0.3)
    Descent(rows, shifts_of(rows), None, None, TUNING).run(plan)
    assert rows.paid <= solves
    assert rows.oracle.calls.training("solve") <= solves


@settings(max_examples=20)
@given(st.integers(0, 400))
def test_descent_of_pairs_uses_what_it_is_given(solves):
    rows = rows_of(NEWSVENDOR)
    Descent(rows, shifts_of(rows), None, None, TUNING).run(pairs_plan(solves, rows, TUNING))
    plan = pairs_plan(solves, rows, TUNING)
    assert solves - 2 * plan.batch < rows.paid + 1 <= solves + 1  # whole steps, with one pair per row in each


@pytest.mark.parametrize(("kind", "left"), [(None, 0.95), (Argmin, 0.8), (SharedGP, 0.8)])
def test_descent_goes_down(kind, left):
    pool = grown(NEWSVENDOR)
    rows, models = pool.rows, shifts_of(pool.rows)
    stand_in = None if kind is None else kind(pool, TUNING)
    plan = pairs_plan(8 * N, rows, TUNING) if stand_in is None else stand_in.plan(8 * N, 0)
    before = rows.pay(np.arange(N), models.forward(0, np.arange(N))).regret.mean()
    Descent(rows, models, pool, stand_in, TUNING).run(plan)
    after = rows.pay(np.arange(N), models.forward(0, np.arange(N))).regret.mean()
    assert after < left * before
    assert np.isfinite(models.t).all()


def test_descent_of_pairs_draws_for_all_rows_of_a_step_and_pays_for_some():
    """In this order of draws the recorded results of pairs repeat."""
    rows, twin = rows_of(NEWSVENDOR, seed=4), np.random.default_rng(4)
    descent, index = Descent(rows, shifts_of(rows), None, None, TUNING), np.arange(8)
    plan, u = pairs_plan(6, rows, TUNING), rows.units(rows.oracle.Y[index]) - 1.0
    descent.begin(plan, 6)
    slope = descent.gradient(index, u)
    chosen, e = twin.permutation(8)[:3], twin.standard_normal(u.shape)
    above, below = (
        rows.oracle.evaluate(index, rows.raw(u + by * plan.sigma * e), phase="online").regret for by in (1, -1)
    )
    expected = 8 / 3 * ((above - below) / 2 / plan.sigma)[:, None] * e
    expected[np.setdiff1d(index, chosen)] = 0.0
    np.testing.assert_allclose(slope, expected, rtol=1e-12)


def test_descent_reports_each_epoch_and_the_regret_that_was_paid():
    rows, losses = rows_of(NEWSVENDOR), []
    plan = DescentPlan(epochs=4, solves=40, sigma=0.3, rate=0.05, batch=10)
    Descent(rows, shifts_of(rows), None, None, TUNING).run(plan, losses.append)
    assert len(losses) == 4
    assert np.isfinite(losses).all() and min(losses) > 0


def test_descent_without_solves_reports_no_regret():
    rows, losses = rows_of(NEWSVENDOR), []
    Descent(rows, shifts_of(rows), None, None, TUNING).run(pairs_plan(0, rows, TUNING), losses.append)
    assert np.isnan(losses).all() and rows.paid == 0


def test_descent_adds_to_the_pool_only_where_it_may_grow():
    for grow in (True, False):
        pool = grown(NEWSVENDOR)
        before = len(pool)
        plan = DescentPlan(epochs=2, solves=20, sigma=0.3, rate=0.05, grow=grow)
        stand_in = SharedGP(pool, TUNING)
        stand_in.refresh()
        Descent(pool.rows, shifts_of(pool.rows), pool, stand_in, TUNING).run(plan)
        assert (len(pool) > before) is grow


def test_descent_follows_a_stand_in_by_its_paid_residuals():
    """A stand-in whose regrets are all wrong has a coefficient of next to nothing in the end."""

    class Wrong(SharedGP):
        def value(self, index, u, V):
            return -super().value(index, u, V)

        def slope(self, index, u):
            return -super().slope(index, u)

    found = {}
    for kind in (SharedGP, Wrong):
        pool = grown(NEWSVENDOR)
        stand_in = kind(pool, TUNING)
        stand_in.refresh()
        descent = Descent(pool.rows, shifts_of(pool.rows), pool, stand_in, TUNING)
        descent.run(DescentPlan(epochs=4, solves=4 * N, sigma=0.3, rate=0.02, residual=1.0, grow=False))
        found[kind] = stand_in.rho
    assert found[Wrong] == 0.0
    assert found[SharedGP] > 0.5


def test_descent_of_rows_without_weight_does_not_move():
    weights = np.r_[np.zeros(N - 1), float(N)]
    rows = rows_of(NEWSVENDOR, weights=weights)
    models = Shifts(rows.units(rows.oracle.Y) - 1.0, [np.arange(N - 1)])
    Descent(rows, models, None, None, TUNING).run(pairs_plan(4 * N, rows, TUNING))
    assert not models.t.any()


def test_descent_is_determined_by_its_random_stream():
    found = []
    for _ in range(2):
        rows = rows_of(NEWSVENDOR, seed=3)
        pool = Pool(rows, 10**9)
        models = shifts_of(rows)
        stand_in = Argmin(pool, TUNING)
        Descent(rows, models, pool, stand_in, TUNING).run(stand_in.plan(2 * N, 0))
        found.append(models.t)
    assert np.array_equal(*found)


def test_descent_requests_the_solves_of_several_steps_at_once():
    """Workers would wait for each other after each of many small requests."""
    found = []
    for at_once in (None, 64):
        pool = grown(NEWSVENDOR)
        sizes, pay = [], pool.rows.pay

        def recorded(index, u, *, pay=pay, sizes=sizes, **options):
            sizes.append(len(index))
            return pay(index, u, **options)

        pool.rows.pay = recorded
        plan = DescentPlan(epochs=20, solves=256, sigma=0.3, rate=0.02, batch=8, residual=1.0)
        Descent(pool.rows, shifts_of(pool.rows), pool, SharedGP(pool, TUNING), TUNING, at_once).run(plan)
        found.append(sizes)
    by_step, together = found
    assert sum(by_step) <= 256 and sum(together) <= 256
    assert max(by_step) <= 8
    assert 4 <= len(together) <= 6 and max(together) <= 80


def test_descent_shares_what_is_paid_with_the_models_that_may_see_the_row():
    weights = np.where(np.arange(N) < N // 2, 0.0, 2.0)  # the rows of the first model say nothing
    rows = rows_of(NEWSVENDOR, weights=weights)
    bags = [np.arange(N // 2), np.arange(N // 2, N), np.arange(N)]
    models = Shifts(rows.units(rows.oracle.Y) - 1.0, bags)
    Descent(rows, models, None, None, TUNING).run(pairs_plan(8 * N, rows, TUNING))
    assert not models.t[0].any()
    assert models.t[1].any()
    assert np.allclose(models.t[1], models.t[2], atol=0.2), "both have the same pairs"


def test_descent_of_one_number_for_all_outputs_moves_them_alike():
    pool = grown(NEWSVENDOR)
    for stand_in in (None, Argmin(pool, TUNING), SharedGP(pool, TUNING)):
        models = Shifts(pool.rows.units(pool.rows.oracle.Y) - 1.0, BAGS, common=True)
        plan = DescentPlan(epochs=4, solves=4 * N, sigma=0.3, rate=0.1, batch=16)
        Descent(pool.rows, models, pool, stand_in, TUNING).run(plan)
        assert np.ptp(models.t, axis=1) == pytest.approx(0.0, abs=1e-9)
        assert (models.t > 0).all(), "each prediction was too low"


def test_descent_draws_from_all_bags_and_repeats_rows_as_the_bags_do():
    bags = [np.array([1, 2, 2, 5]), np.array([2, 3, 5, 5])]
    assert union(bags).tolist() == [1, 2, 2, 3, 5, 5]
    assert np.flatnonzero(membership(bags, 7)[0]).tolist() == [1, 2, 5]
