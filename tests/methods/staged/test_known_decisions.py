"""The pool of known decisions, and what stands in for the solver."""

from contextlib import closing

import numpy as np
import pytest
import torch

import fewsolves as fs
from fewsolves.fitting.fit import fit
from fewsolves.fitting.plan import Plan
from fewsolves.ledger.ledger import open_ledger
from fewsolves.methods.staged import pilot
from fewsolves.methods.staged import pool as pool_module
from fewsolves.methods.staged.pool import Pool, TooDear
from fewsolves.methods.staged.scene import Scene
from fewsolves.methods.staged.stand_ins import BEST, LEAST_SHARE, NEAR, Argmin, SharedGP, SPOPlus
from fewsolves.oracle import Oracle
from problems_of_users import CHEAPEST, NEWSVENDOR, demand_table

N = 30


def scene_of(problem, n_y=3):
    X, Y = demand_table(N, n_y)
    return Scene(Oracle(problem, Y), torch.as_tensor(X), np.random.default_rng(0))


def grown(problem, points=40, n_y=3):
    scene = scene_of(problem, n_y)
    pool = Pool(scene, 1.0)
    rows = scene.rng.integers(N, size=points)
    u = scene.rng.normal(size=(points, n_y))
    pool.learn(rows, u, scene.pay(rows, u))
    return pool


def test_a_decision_is_kept_once_and_costed_for_other_rows_without_a_solve():
    scene = scene_of(CHEAPEST)
    pool = Pool(scene, 1.0)
    assert len(pool) <= 3, "one of three items is chosen"
    solves = scene.oracle.calls.total("solve")
    regret = pool.regret(np.arange(N)[:, None], np.arange(len(pool))[None])
    assert scene.oracle.calls.total("solve") == solves
    assert regret.shape == (N, len(pool))
    assert (regret >= -1e-6).all()
    assert np.allclose(regret[np.arange(N), pool.own], 0.0, atol=1e-6)
    for k, z in enumerate(pool.decisions):
        assert np.allclose(regret[:, k], scene.oracle.Y @ z - pool.optimum, atol=1e-5)


def test_many_regrets_are_asked_for_in_parts_and_are_the_same(monkeypatch):
    pools = [grown(NEWSVENDOR), grown(NEWSVENDOR)]
    whole = pools[0].regret(np.arange(N)[:, None], np.arange(len(pools[0]))[None])
    oracle, asked = pools[1].scene.oracle, []
    cost_at = oracle.cost_at
    monkeypatch.setattr(oracle, "cost_at", lambda rows, *of: asked.append(len(rows)) or cost_at(rows, *of))
    monkeypatch.setattr(pool_module, "AT_ONCE", 100)
    monkeypatch.setattr(pool_module, "LOOKED_UP", 600)
    assert np.array_equal(pools[1].regret(np.arange(N)[:, None], np.arange(len(pools[1]))[None]), whole)
    assert max(asked) == 100 and len(asked) > 3


@pytest.mark.parametrize("many", [1, 10**9])
def test_each_pair_is_asked_for_once_however_they_are_told_apart(many, monkeypatch):
    monkeypatch.setattr(pool_module, "MANY", many)
    index, numbers = np.random.default_rng(0).integers(9, size=(2, 70))
    i, k = pool_module._distinct(index, numbers, (9, 9))
    assert list(zip(i.tolist(), k.tolist(), strict=True)) == sorted(
        set(zip(index.tolist(), numbers.tolist(), strict=True))
    )


def test_a_row_whose_own_decision_is_not_known_has_others():
    pool = grown(NEWSVENDOR)
    pool.own[:3] = -1  # as after a solve that failed
    u = pool.scene.rng.normal(size=(3, 3))
    near = Argmin(pool, near=5, best=3)._candidates(np.arange(3), u)
    assert (near >= 0).all() and np.isfinite(Argmin(pool, near=5, best=3).value(np.arange(3), u, u[:, None])).all()


def test_decisions_of_several_shapes_are_different_decisions():
    problem = fs.Problem(
        solve=lambda y: np.zeros((2, 3) if y[0] > y[1] else (3, 2)), cost=lambda y, z: float(z.shape[0])
    )
    pool = Pool(scene_of(problem), 1.0)
    assert len(pool) == 2
    assert set(pool.regret(np.array([0]), np.arange(2)).tolist()) != {0.0}


def test_the_argmin_over_all_decisions_is_the_solver():
    pool = grown(CHEAPEST)
    scene, u = pool.scene, pool.scene.rng.normal(size=(N, 3))
    predicted = Argmin(pool).value(np.arange(N), u, u[:, None])[:, 0]
    assert np.allclose(predicted, scene.pay(np.arange(N), u).regret, atol=1e-5)


def test_the_argmin_looks_as_far_as_the_price_of_cost_calls_allows():
    pool, wanted = grown(CHEAPEST), 1000 * (NEAR + 12 * BEST)
    argmin, looked = Argmin(pool), {}
    for allowed in (4.0, 2.0, 1.2, 0.02):
        pool._seconds_left = allowed * wanted * pool._cost_seconds
        argmin.prepare(1000, 12)
        looked[allowed] = argmin.near, argmin.best
    assert looked[4.0] == looked[2.0] == (NEAR, BEST), "half of it is left for later stages"
    assert looked[1.2] == (NEAR // 2, BEST // 2), "a power of two: it hangs on no exact time"
    assert looked[0.02] == (NEAR // 4, BEST // 4)


def test_more_steps_than_rows_are_made_only_where_cost_calls_are_cheap():
    pool = grown(CHEAPEST)
    least = LEAST_SHARE * 1000 * (NEAR + 12 * BEST) * pool._cost_seconds
    for share, afforded in ((2.1, True), (1.9, False)):
        pool._seconds_left = share * least
        assert Argmin(pool).affords(1000, 12) is afforded
    assert SPOPlus(pool).affords(1000, 12), "it asks for no cost"
    assert not SharedGP(pool).affords(1000, 12), "few rows teach it little"


def test_spo_plus_bounds_the_regret_and_is_the_solver_where_all_decisions_are_known():
    pool = grown(CHEAPEST)
    spo, oracle = SPOPlus(pool), pool.scene.oracle
    spo.refresh()
    everyone, truth = np.arange(N), pool.scene.units(oracle.Y)
    u = truth + pool.scene.rng.normal(size=truth.shape)
    regret = spo.value(everyone, u, u[:, None])[:, 0]
    assert np.allclose(regret, oracle.evaluate(everyone, pool.scene.raw(u), phase="test").regret)

    def loss(u):
        """As in the docstring, by matrices of costs: (N, K)."""
        at_truth, at_u = (spo.a + v @ spo.b.T for v in (truth, u))
        own = pool.own[everyone]
        return (at_truth - 2 * at_u).max(1) + 2 * at_u[everyone, own] - at_truth[everyone, own]

    h = 1e-5
    slopes = np.stack([(loss(u + h * e) - loss(u - h * e)) / (2 * h) for e in np.eye(3)], axis=1)
    assert np.allclose(spo.slope(everyone, u), slopes, atol=1e-6)
    assert (loss(u) >= regret - 1e-9).all()
    assert np.allclose(loss(truth), 0.0)


@pytest.mark.parametrize("linear", [None, "min"])
def test_spo_plus_asks_for_no_sign_that_no_truth_has_unless_the_problem_is_declared_linear(linear):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    Y = np.clip(1 + 0.7 * X @ rng.normal(size=(2, 3)) + rng.normal(size=(60, 3)), 0.1, 2.0)
    problem = fs.Problem(
        solve=lambda y: np.eye(3)[np.argmin(y)], cost=lambda y, z: float(y @ z), upper=2.0, linear=linear
    )
    scene = Scene(Oracle(problem, Y), torch.as_tensor(X), rng)
    spo = SPOPlus(Pool(scene, 10.0))
    spo.refresh()
    asked = scene.raw(spo.asks(np.arange(60), rng.normal(scale=5.0, size=(60, 3))))
    assert (asked > 0).all() == (linear is None)
    decisions = np.array(spo.pool.decisions)
    assert np.allclose(spo.b, decisions * scene.scale.std), "the slope in y of y @ z, in units; no bound is in the way"


def test_a_decision_whose_cost_fails_is_nobodys_best():
    pool = grown(CHEAPEST)
    asked = pool.model_cost

    def failing(index, V, candidates):
        cost = asked(index, V, candidates).copy()
        cost[candidates[:, 0] == 0] = np.nan
        return cost

    pool.model_cost = failing
    spo = SPOPlus(pool)
    spo.refresh()
    slope = spo.slope(np.arange(N), pool.scene.rng.normal(size=(N, 3)))
    assert np.isfinite(slope).all()
    assert not slope[pool.own == 0].any()
    assert slope.any()


def test_slopes_are_those_of_the_values():
    pool = grown(NEWSVENDOR)
    stand_in = SharedGP(pool)
    stand_in.refresh()
    index, u, h = np.arange(5), pool.scene.rng.normal(size=(5, 3)), 1e-5
    steps = h * np.concatenate([np.eye(3), -np.eye(3)])
    value = stand_in.value(index, u, u[:, None] + steps)
    assert np.allclose(stand_in.slope(index, u), (value[:, :3] - value[:, 3:]) / (2 * h), rtol=1e-3, atol=1e-6)


def test_the_processes_of_all_rows_know_what_was_paid():
    pool = grown(NEWSVENDOR)
    gp = SharedGP(pool)
    gp.noise = 1e-8  # as good as none
    gp.refresh()
    everyone, at = np.arange(N), np.broadcast_to(gp.u[:4], (N, 4, 3))
    known = pool.regret(everyone[:, None], np.arange(4))
    assert np.corrcoef(gp.value(everyone, at[:, 0], at).ravel(), known.ravel())[0, 1] > 0.99


def test_linearity_and_optimality_are_found_out_by_cost_calls_alone():
    linear, other = grown(CHEAPEST), grown(NEWSVENDOR)
    solves = linear.scene.oracle.calls.total("solve")
    assert pilot.linear_in_y(linear)
    assert not pilot.linear_in_y(other)
    assert linear.scene.oracle.calls.total("solve") == solves
    everyone = np.arange(N)
    labels = linear.scene.oracle.packed_labels(everyone)
    assert pilot.share_beaten(linear, everyone, linear.scene.units(linear.scene.oracle.Y), labels) == 0.0
    dearest = fs.Problem(solve=lambda y: np.eye(3)[np.argmax(y)], cost=lambda y, z: float(y @ z))
    poor = grown(dearest)
    labels = poor.scene.oracle.packed_labels(everyone)
    assert pilot.share_beaten(poor, everyone, poor.scene.units(poor.scene.oracle.Y), labels) > 0.9


def test_a_cost_that_fails_is_no_number():
    def cost(y, z):
        if z[0] > 1:
            raise RuntimeError("no")
        return 1.0

    oracle = Oracle(fs.Problem(solve=lambda y: y, cost=cost), np.zeros((2, 1)))
    costs = oracle.cost_at(np.array([0, 1]), np.zeros((2, 1)), [np.array([0.0]), np.array([2.0])])
    assert costs[0] == 1.0
    assert np.isnan(costs[1])


def test_cost_calls_may_take_half_as_long_as_the_solves_that_are_allowed_and_no_longer(monkeypatch):
    monkeypatch.setattr(fs.oracle.calls.Calls, "mean_seconds", lambda self, kind: 2.0)
    monkeypatch.setattr(Pool, "_timed", lambda self: 1.0)
    pool = Pool(scene_of(NEWSVENDOR), 1.0)  # 30 rows, 60 s of solves: 30 cost calls
    pool.regret(np.arange(20), pool.own[(np.arange(20) + 1) % N])
    with pytest.raises(TooDear, match="1 s each"):
        pool.regret(np.arange(20), pool.own[(np.arange(20) + 2) % N])


def test_what_is_too_dear_for_all_rows_is_found_out_before_a_pair_is_looked_up(monkeypatch):
    pool = grown(NEWSVENDOR)
    pairs = N * len(pool)
    pool._cost_seconds, pool._seconds_left = 1.0, float(pairs)
    pool.refuse_too_many(pairs)  # as many as are allowed
    pool._seconds_left = pairs - pool._most_known - 1.0
    monkeypatch.setattr(pool, "regret", None)
    with pytest.raises(TooDear):
        SharedGP(pool).refresh()


def test_costs_under_predictions_are_asked_for_in_parts_and_are_the_same(monkeypatch):
    pool = grown(NEWSVENDOR)
    u, numbers = pool.scene.rng.normal(size=(7, 2, 3)), np.tile(np.arange(5), (7, 1))
    whole = pool.model_cost(np.arange(7), u, numbers)
    oracle, asked = pool.scene.oracle, []
    cost_at = oracle.cost_at
    monkeypatch.setattr(oracle, "cost_at", lambda rows, *of: asked.append(len(rows)) or cost_at(rows, *of))
    monkeypatch.setattr(pool_module, "COPIED", 60)  # two rows, of ten calls with three parameters each
    assert np.array_equal(pool.model_cost(np.arange(7), u, numbers), whole)
    assert asked == [20, 20, 20, 10]


def test_a_pair_that_is_known_counts_as_known_and_costs_nothing_more():
    pool = grown(NEWSVENDOR)
    everyone, all_of_them = np.arange(N)[:, None], np.arange(len(pool))[None]
    first = pool.regret(everyone, all_of_them)
    assert pool._known[: len(pool)].sum() == N * len(pool) <= pool._most_known
    left = pool.calls_left
    assert np.array_equal(pool.regret(everyone, all_of_them), first)
    assert pool.calls_left == left


def test_the_history_of_others_is_in_the_pool(tmp_path):
    X, Y = demand_table(N, 3)
    point = np.full((1, 3), 7.5)
    with closing(open_ledger(tmp_path, NEWSVENDOR, Y, identity="earlier")) as ledger:
        Oracle(NEWSVENDOR, Y, ledger=ledger).evaluate(np.array([0]), point, phase="online")
    with closing(open_ledger(tmp_path, NEWSVENDOR, Y, identity="later")) as ledger:
        oracle = Oracle(NEWSVENDOR, Y, ledger=ledger)
        pool = Pool(Scene(oracle, torch.as_tensor(X), np.random.default_rng(0)), 1.0)
    assert any(np.allclose(pool.scene.raw(u), point) for u in pool.points)


def interrupted_after(solves):
    """A problem whose solver is asked to stop after so many calls."""
    left = [solves]

    def solve(y_hat):
        left[0] -= 1
        if left[0] == 0:
            raise KeyboardInterrupt
        return y_hat

    return fs.Problem(solve=solve, cost=NEWSVENDOR.cost, version="one")


def test_started_again_a_run_goes_by_the_clock_of_its_first_start(tmp_path, monkeypatch):
    """On a busy machine cost calls look dear, and known decisions would be given up in the middle of a run."""
    X, Y = demand_table(N, 3)

    def ended(folder, problem, seconds):
        monkeypatch.setattr(Pool, "_timed", lambda self: seconds)
        return fit(Plan(problem, X, Y, method="staged", predictor="linear", folder=folder))

    expected = ended(None, NEWSVENDOR, 2.0**-16)
    assert "known_decisions" not in expected.report
    assert "known_decisions" in ended(None, NEWSVENDOR, 1.0).report, "the clock makes a difference"
    assert ended(tmp_path, interrupted_after(90), 2.0**-16).interrupted
    found = ended(tmp_path, interrupted_after(10**9), 1.0)
    assert found.report == expected.report
    assert found.oracle.calls.counts == expected.oracle.calls.counts
    for name, values in expected.predictor.state_dict().items():
        assert torch.equal(found.predictor.state_dict()[name], values), name


def test_what_it_takes_to_charge_cost_calls_is_no_part_of_them(tmp_path, monkeypatch):
    X, Y = demand_table(N, 3)
    with closing(open_ledger(tmp_path, NEWSVENDOR, Y, identity="one")) as ledger:
        oracle = Oracle(NEWSVENDOR, Y, ledger=ledger)
        oracle.optimum(np.arange(N))
        now = [0.0]
        monkeypatch.setattr("time.perf_counter", lambda: now[0])
        monkeypatch.setattr(ledger, "charge", lambda kind, number: now.append(now.pop() + 1.0))  # a slow disk
        before = oracle.calls.seconds
        Pool(Scene(oracle, torch.as_tensor(X), np.random.default_rng(0)), 1.0)
        assert now[0] > 0.0
        assert oracle.calls.seconds == before


def test_the_pilot_of_a_long_table_pays_for_no_more_pairs_than_tell_a_correlation():
    """All pairs are compared with all known decisions, and both would grow with the table."""
    rng, n = np.random.default_rng(0), 4000
    Y = rng.normal(size=(n, 2)) + 5.0
    problem = fs.Problem(solve_batch=lambda y: y > 5.0, cost_batch=lambda y, z: ((y - 5.0) * (1 - 2 * z)).sum(axis=1))
    scene = Scene(Oracle(problem, Y), torch.zeros(n, 1), rng)
    pool = Pool(scene, 1.0)
    pilot.fly(scene, pool, np.zeros((n, 2)), 0.5)
    assert scene.oracle.calls.training("solve") <= pilot.POINTS * n + 2 * pilot.MOST_PAIRS < 2 * pilot.PAIRS * n + 500


def test_the_price_of_a_batched_cost_is_that_of_a_batch():
    taken = []

    def cost_batch(y, z):
        taken.append(len(y))
        return (y * z).sum(axis=1)

    Y = np.random.default_rng(0).random((1000, 2))
    oracle = Oracle(fs.Problem(solve_batch=lambda y: y > 0.5, cost_batch=cost_batch), Y)
    scene = Scene(oracle, torch.zeros(1000, 1), np.random.default_rng(0))
    Pool(scene, 1.0)
    assert taken[-2:] == [pool_module.TIMED, 10 * pool_module.TIMED]
