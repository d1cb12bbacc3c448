"""Known decisions: each once, priced by each row under its own known data, within a number of cost calls."""

import warnings
from contextlib import closing

import numpy as np
import pytest

import fewsolves as fs
from fewsolves.errors import FewsolvesWarning
from fewsolves.ledger.ledger import open_ledger
from fewsolves.methods.staged import pool as pool_module
from fewsolves.methods.staged.pool import CostCallsTooExpensive, Pool, warn_of_slow_costs
from fewsolves.methods.staged.rows import TrainingRows
from fewsolves.methods.staged.stand_ins import Argmin
from fewsolves.methods.staged.tuning import Tuning
from fewsolves.oracle import Oracle
from problems_of_users import CHEAPEST, NEWSVENDOR, demand_table, shortage_cost
from staged_rows import N, grown, rows_of

EVERYONE = np.arange(N)


def all_regrets(pool):
    return pool.regret(EVERYONE[:, None], np.arange(len(pool))[None])


def test_pool_has_each_decision_once_and_prices_it_without_a_solve():
    rows = rows_of(CHEAPEST)
    pool = Pool(rows, 10**9)
    assert len(pool) <= 3, "two of three items are chosen"
    solves = rows.oracle.calls.total("solve")
    regret = all_regrets(pool)
    assert rows.oracle.calls.total("solve") == solves
    assert np.allclose(regret[EVERYONE, pool.own], 0.0, atol=1e-6)
    for k, z in enumerate(pool.decisions):
        assert np.allclose(regret[:, k], rows.oracle.Y @ z - pool.optimum, atol=1e-5)


def test_pool_numbers_a_known_decision_as_before_and_moves_its_point():
    pool = grown(CHEAPEST)
    before, u = len(pool), np.full((1, 3), 7.0)
    number = pool.add(u, pool.rows.oracle.packed_labels(np.array([4])))
    assert len(pool) == before
    assert number[0] == pool.own[4]
    assert np.array_equal(pool.points[number[0]], u[0])


def test_pool_prices_a_decision_under_the_instance_of_the_row():
    _, Y = demand_table(N, 3)
    problem = fs.Problem(
        solve=lambda y, rate: y.copy(),
        cost=lambda y, z, rate: float((z + rate * np.maximum(y - z, 0)).sum()),
        instances=[2.0 + row for row in range(N)],
    )
    pool = Pool(TrainingRows(Oracle(problem, Y), np.random.default_rng(0)), 10**9)
    regret = all_regrets(pool)
    for row in (0, 7, 29):
        costs = [problem.cost(Y[row], z, 2.0 + row) for z in pool.decisions]
        assert np.allclose(regret[row], np.array(costs) - Y[row].sum(), rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("nan", [True, False])
def test_pool_decision_that_a_row_cannot_price_is_no_candidate(nan):
    def cost(y, z):
        if z[0] != y[0] and z[0] > 12:
            if nan:
                return float("nan")
            raise RuntimeError("no price")
        return shortage_cost(y, z)

    pool = Pool(rows_of(fs.Problem(solve=lambda y: y.copy(), cost=cost)), 10**9)
    regret, expensive = all_regrets(pool), np.array([z[0] > 12 for z in pool.decisions])
    others = ~np.eye(N, dtype=bool)
    assert expensive.any() and np.array_equal(np.isnan(regret) & others, np.broadcast_to(expensive, (N, N)) & others)
    u = pool.rows.units(pool.rows.oracle.Y) + 0.01
    chosen = Argmin(pool, Tuning(near=N, best=N)).value(EVERYONE, u, u[:, None])
    assert np.isfinite(chosen).sum() > N / 2
    assert np.isinf(pool.model_cost(EVERYONE, u[:, None], np.tile(np.flatnonzero(expensive)[:1], (N, 1)))).all()


def test_pool_charges_each_pair_once():
    pool = grown(NEWSVENDOR)
    first, left = all_regrets(pool), pool.calls_left
    assert np.array_equal(all_regrets(pool), first)
    assert pool.calls_left == left


def test_pool_charges_what_it_calls():
    pool = grown(NEWSVENDOR)
    calls, left = pool.rows.oracle.calls.total("cost"), pool.calls_left
    all_regrets(pool)
    pool.model_cost(EVERYONE, np.zeros((N, 2, 3)), np.tile(np.arange(5), (N, 1)))
    assert pool.rows.oracle.calls.total("cost") - calls == left - pool.calls_left > 0


@pytest.mark.parametrize("limit", [0, 1, 100])
def test_pool_makes_no_call_beyond_the_limit(limit):
    pool = grown(NEWSVENDOR, cost_calls=limit)
    calls = pool.rows.oracle.calls.total("cost")
    with pytest.raises(CostCallsTooExpensive):
        all_regrets(pool)
    with pytest.raises(CostCallsTooExpensive):
        pool.model_cost(EVERYONE, np.zeros((N, 2, 3)), np.tile(np.arange(5), (N, 1)))
    assert pool.rows.oracle.calls.total("cost") == calls


def test_pool_paid_regrets_are_known_without_a_call():
    rows = rows_of(NEWSVENDOR)
    pool = Pool(rows, 0)
    index, u = np.array([3, 8]), np.full((2, 3), 0.3)
    paid = rows.pay(index, u)
    pool.learn(index, u, paid)
    numbers = pool.add(u, paid.decisions)
    assert np.allclose(pool.regret(index, numbers), paid.regret, rtol=1e-5)


def test_pool_answers_many_requests_in_parts_and_the_same(monkeypatch):
    pools = [grown(NEWSVENDOR), grown(NEWSVENDOR)]
    whole, cost = all_regrets(pools[0]), pools[0].model_cost(EVERYONE, np.zeros((N, 2, 3)), np.tile([0, 5], (N, 1)))
    sizes, cost_at = [], pools[1].rows.oracle.cost_at
    monkeypatch.setattr(
        pools[1].rows.oracle, "cost_at", lambda rows, *of: sizes.append(len(rows)) or cost_at(rows, *of)
    )
    monkeypatch.setattr(pool_module, "CALLS_AT_ONCE", 100)
    monkeypatch.setattr(pool_module, "NUMBERS_AT_ONCE", 60)
    monkeypatch.setattr(pool_module, "ENTRIES_AT_ONCE", 600)
    assert np.array_equal(all_regrets(pools[1]), whole)
    assert np.array_equal(pools[1].model_cost(EVERYONE, np.zeros((N, 2, 3)), np.tile([0, 5], (N, 1))), cost)
    assert max(sizes) <= 100 and len(sizes) > 3


def test_pool_keeps_decisions_of_several_shapes_apart():
    problem = fs.Problem(
        solve=lambda y: np.zeros((2, 3) if y[0] > y[1] else (3, 2)), cost=lambda y, z: float(z.shape[0])
    )
    pool = Pool(rows_of(problem), 10**9)
    assert len(pool) == 2
    assert set(pool.regret(np.array([0]), np.arange(2)).tolist()) != {0.0}


def test_pool_that_is_full_takes_no_more(monkeypatch):
    monkeypatch.setattr(pool_module, "TABLE_ENTRIES", 40 * N)
    pool = grown(NEWSVENDOR, points=60)
    assert len(pool) == 40
    assert np.isfinite(all_regrets(pool)).all()


def test_pool_nearest_are_the_nearest():
    pool, u = grown(NEWSVENDOR), np.random.default_rng(2).normal(size=(4, 3))
    distance = ((u[:, None] - pool.points) ** 2).sum(axis=2)
    assert np.array_equal(np.sort(pool.nearest(u, 5), axis=1), np.sort(np.argsort(distance, axis=1)[:, :5], axis=1))
    assert pool.nearest(u, 10**6).shape == (4, len(pool))


def test_pool_has_the_decisions_of_other_runs(tmp_path):
    _, Y = demand_table(N, 3)
    point = np.full((1, 3), 7.5)
    with closing(open_ledger(tmp_path, NEWSVENDOR, Y, identity="earlier")) as ledger:
        Oracle(NEWSVENDOR, Y, ledger=ledger).evaluate(np.array([0]), point, phase="online")
    with closing(open_ledger(tmp_path, NEWSVENDOR, Y, identity="later")) as ledger:
        pool = Pool(TrainingRows(Oracle(NEWSVENDOR, Y, ledger=ledger), np.random.default_rng(0)), 10**9)
    assert any(np.allclose(pool.rows.raw(u), point) for u in pool.points)


@pytest.mark.parametrize(("seconds", "warns"), [(0.002, True), (2e-6, False)])
def test_pool_slow_cost_calls_are_announced_before_they_are_made(seconds, warns):
    rows = rows_of(NEWSVENDOR)
    rows.oracle.optimum(np.arange(rows.n))
    calls = rows.oracle.account.calls
    calls.seconds_in["cost"] = seconds * calls.total("cost")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn_of_slow_costs(rows, 400_000, solves=100)
    assert [one.category is FewsolvesWarning for one in caught] == [True] * warns
    if warns:
        assert "takes about 2 ms" in str(caught[0].message)
        assert "settings={'cost_calls': 20}" in str(caught[0].message)


@pytest.fixture
def large(monkeypatch):
    """A table of which rows look at ten decisions beside their own, and no regret is kept."""
    monkeypatch.setattr(pool_module, "WHOLE_ROWS", N - 1)
    monkeypatch.setattr(pool_module, "SEARCHED", 10)
    monkeypatch.setattr(pool_module, "TABLE_ENTRIES", 5 * N)


def test_pool_of_a_large_table_has_the_decision_of_every_row_and_takes_more(large):
    pool = grown(NEWSVENDOR, points=60)
    assert len(pool) == N + 60
    assert np.allclose(pool.regret(EVERYONE, pool.own), 0.0)
    for row, k in enumerate(pool.own):
        assert np.array_equal(pool.points[k], pool.rows.units(pool.rows.oracle.Y)[row])


def test_pool_of_a_large_table_searches_the_last_decisions_which_are_labels_in_a_random_order_at_first(large):
    pool = Pool(rows_of(NEWSVENDOR), 10**9)
    u = pool.rows.rng.normal(size=(4, 3))
    assert (pool.nearest(u, 5) >= N - 10).all()
    assert not np.array_equal(np.sort(np.flatnonzero(pool.own >= N - 10)), np.arange(N - 10, N))
    assert np.array_equal(pool.own, Pool(rows_of(NEWSVENDOR, seed=1), 10**9).own), "a run that continues has the same"


def test_pool_of_a_large_table_prices_as_one_of_a_small_table(large, monkeypatch):
    pool = grown(NEWSVENDOR)
    monkeypatch.setattr(pool_module, "WHOLE_ROWS", N)
    monkeypatch.setattr(pool_module, "TABLE_ENTRIES", 10**6)
    small, left = grown(NEWSVENDOR), pool.calls_left
    number = {z.tobytes(): k for k, z in enumerate(small.decisions)}
    same = [number[z.tobytes()] for z in pool.decisions]
    assert np.allclose(all_regrets(pool), all_regrets(small)[:, same], rtol=1e-5, atol=1e-5)
    assert left - pool.calls_left == N * len(pool), "no regret is kept"


def test_pool_of_a_large_table_is_restored(large):
    pool, other = grown(NEWSVENDOR), Pool(rows_of(NEWSVENDOR), 5)
    other.restore(pool.state())
    assert other.calls_left == pool.calls_left
    assert np.array_equal(other.points, pool.points) and np.array_equal(other.own, pool.own)
    assert np.array_equal(all_regrets(other), all_regrets(pool))
