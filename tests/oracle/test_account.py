import time
import tracemalloc
from collections import Counter
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

import fewsolves as fs
from fewsolves.errors import BudgetSpent
from fewsolves.ledger import keys
from fewsolves.ledger.decision import pack_decision
from fewsolves.ledger.ledger import open_ledger
from fewsolves.oracle import Budget, Oracle, SolveConfig
from problems_of_users import CHEAPEST, NEWSVENDOR, demand_table

_, Y = demand_table(20)
ALL = np.arange(20)


def test_account_a_view_shares_calls_budget_memory_and_failures_with_the_whole():
    whole = Oracle(CHEAPEST, Y, budget=Budget(solves=100))
    part = whole.part(ALL[5:10])
    part.regret(ALL[:5], Y[5:10] + 1, phase="online")
    assert whole.calls is part.calls
    assert whole.budget_left is part.budget_left
    assert whole.failures is part.failures
    whole.regret(ALL[5:10], Y[5:10] + 1, phase="online")
    assert whole.calls.total() == 10, "five labels and five points, once"
    assert part.part(ALL[1:3]).rows.tolist() == [6, 7]


def test_account_checks_of_answers_hold_for_every_view_whenever_they_are_added():
    whole = Oracle(CHEAPEST, Y)
    before = whole.part(ALL[:5])
    seen = []
    before.account.on_answer(lambda: seen.append("first"))
    whole.account.on_answer(lambda: seen.append("second"))
    after = whole.part(ALL[5:])
    for part in (before, after):
        seen.clear()
        part.labels(np.arange(2))
        assert seen == ["first", "second"]


def test_account_a_check_that_raises_comes_after_the_answer_is_remembered():
    oracle = Oracle(CHEAPEST, Y)

    def stop():
        raise KeyboardInterrupt

    oracle.account.on_answer(stop)
    with pytest.raises(KeyboardInterrupt):
        oracle.labels(ALL[:1])
    assert len(oracle.account.memory.answers["solve"]) == 1


def test_account_calls_before_close_functions_before_the_execution_ends():
    oracle, closed = Oracle(CHEAPEST, Y), []
    oracle.part(ALL[:3]).account.before_close(lambda: closed.append("part"))
    oracle.account.execution.close = lambda: closed.append("execution")
    oracle.account.before_close(lambda: closed.append("whole"))
    oracle.part(ALL[3:]).close()
    assert closed == ["part", "whole", "execution"]


@pytest.mark.parametrize("with_ledger", [False, True])
def test_account_an_evaluation_is_hashed_once_for_each_key(with_ledger, tmp_path, monkeypatch):
    """Points of 3 numbers (24 bytes), decisions of 7 (56 bytes); what is shorter is made of keys."""
    problem = fs.Problem(solve=lambda y: np.resize(y, 7), cost=lambda y, z: float(z.sum()))
    ledger = open_ledger(tmp_path, problem, Y, identity="a") if with_ledger else None
    oracle = Oracle(problem, Y, ledger=ledger)
    oracle.optimum(ALL)
    hashed, original = Counter(), keys.blake2b

    def counting(content, **options):
        hashed[len(content), "person" in options] += 1
        return original(content, **options)

    monkeypatch.setattr(keys, "blake2b", counting)
    oracle.regret(ALL, Y + 1, phase="online")
    if ledger is not None:
        ledger.close()
    points, decisions, costs = hashed[24, False], hashed[56, True], hashed[16 + 8, False]
    assert points == costs == 40, "both of 24 bytes: 20 points, 20 cost calls"
    assert decisions == 20
    assert hashed.total() == 60


def test_account_decisions_of_one_content_in_two_shapes_or_dtypes_have_their_own_costs():
    forms = iter([np.zeros((2, 3)), np.zeros((3, 2)), np.zeros(6), np.zeros(6, dtype=int)])
    problem = fs.Problem(solve=lambda y: next(forms), cost=lambda y, z: float(100 * z.ndim + len(z) + (z.dtype == int)))
    oracle = Oracle(problem, Y)
    decisions = oracle.solve(np.zeros(4, dtype=int), np.arange(12.0).reshape(4, 3), phase="online")
    assert oracle.cost(np.zeros(4, dtype=int), decisions, phase="online").tolist() == [202.0, 203.0, 106.0, 107.0]


class Reused:
    """A solver that returns the same buffer each time."""

    def __init__(self, batched=False, **more):
        self.buffer = np.empty(3)
        self.batch = np.empty((20, 3))
        functions = {"solve_batch": self.solve_batch} if batched else {"solve": self.solve}
        self.problem = fs.Problem(**functions, cost=lambda y, z: float(y @ z), **more)

    def solve(self, y_hat):
        self.buffer[:] = 2 * y_hat
        return self.buffer

    def solve_batch(self, y_hat):
        self.batch[: len(y_hat)] = 2 * y_hat
        return self.batch[: len(y_hat)]


@pytest.mark.parametrize("batched", [False, True])
@pytest.mark.parametrize("deterministic", [False, True])
@pytest.mark.parametrize("workers", [1, 2])
def test_account_a_solver_may_use_its_buffer_again(batched, deterministic, workers, tmp_path):
    problem = Reused(batched, noisy=None if deterministic else "both").problem
    ledger = open_ledger(tmp_path, problem, Y, identity="a")
    with closing(ledger), closing(Oracle(problem, Y, solving=SolveConfig(workers=workers), ledger=ledger)) as oracle:
        for points in (Y, Y + 1):
            assert np.array_equal(oracle.solve(ALL, points, phase="online"), 2 * points)
        assert np.array_equal(oracle.labels(ALL), 2 * Y)
        regret = oracle.regret(ALL, Y + 1, phase="online")
        assert np.allclose(regret, [2 * y @ (y + 1) - 2 * y @ y for y in Y])
        calls = list(ledger.file.calls("kind = 'solve' AND status = 'ok'"))
    written, points = ([np.frombuffer(getattr(call, name)) for call in calls] for name in ("decision", "y_hat"))
    assert np.array_equal(written, 2 * np.array(points))


def test_account_a_write_into_a_decision_changes_no_other_answer():
    problem = fs.Problem(solve=lambda y: y, cost=lambda y, z: float(z.sum()))
    oracle = Oracle(problem, Y)
    oracle.labels(ALL)[0][:] = 99.0
    assert np.array_equal(oracle.labels(ALL), Y)


def test_account_recompute_calls_the_solver_itself():
    solved = []
    oracle = Oracle(fs.Problem(solve=lambda y: solved.append(1) or y, cost=NEWSVENDOR.cost), Y)
    for recompute, expected in ((False, 1), (False, 1), (True, 2), (True, 3), (False, 3)):
        z = oracle.solve(ALL[:1], Y[:1], phase="probe", recompute=recompute)
        oracle.cost(ALL[:1], z, phase="probe", recompute=recompute)
        assert len(solved) == expected
    assert oracle.calls.counts["cost"]["probe"] == 3


def test_account_what_others_have_paid_is_not_billed(tmp_path):
    for run, budget in (("a", None), ("b", Budget(solves=20))):
        ledger = open_ledger(tmp_path, CHEAPEST, Y, identity=run)
        with closing(ledger):
            oracle = Oracle(CHEAPEST, Y, budget=budget, ledger=ledger)
            oracle.regret(ALL, Y + 1, phase="online")
            if budget is not None:
                oracle.solve(ALL, Y + 2, phase="online")
                with pytest.raises(BudgetSpent):
                    oracle.solve(ALL[:1], Y[:1] + 3, phase="online")
    assert oracle.calls.shared["solve"] == 40


def test_account_a_request_that_the_budget_refuses_leaves_no_trace_in_the_ledger(tmp_path):
    for run, budget in (("a", None), ("b", Budget(solves=5))):
        ledger = open_ledger(tmp_path, CHEAPEST, Y, identity=run)
        with closing(ledger):
            oracle, rows = Oracle(CHEAPEST, Y, budget=budget, ledger=ledger), ledger.last
            if budget is None:
                oracle.solve(ALL[:10], Y[:10], phase="online")
            else:
                with pytest.raises(BudgetSpent):
                    oracle.solve(ALL, Y, phase="online")
                assert ledger.last == rows


@pytest.mark.parametrize(("kind", "most"), [(bool, 700), (int, 1100), (float, 1100)])
@pytest.mark.parametrize("with_ledger", [False, True])
def test_account_a_paid_solve_takes_little_memory(kind, most, with_ledger, tmp_path):
    """50 numbers, all decisions different; 1,500 bytes are promised (`measure.memory` of the studies measures them)."""
    rng, rows = np.random.default_rng(0), np.arange(100)
    truth = rng.normal(size=(100, 50))
    problem = fs.Problem(
        solve_batch=lambda y: y > 0 if kind is bool else (1000 * y).astype(kind),
        cost_batch=lambda y, z: (y * z).sum(axis=1),
    )
    ledger = open_ledger(tmp_path, problem, truth, identity="a") if with_ledger else None
    oracle = Oracle(problem, truth, ledger=ledger)
    oracle.regret(rows, truth + 1, phase="online")
    tracemalloc.start()
    for _ in range(20):
        oracle.regret(rows, rng.normal(size=truth.shape), phase="online")
    taken = tracemalloc.get_traced_memory()[0] / 2000
    tracemalloc.stop()
    if ledger is not None:
        ledger.close()
    assert taken < most + (300 if with_ledger else 0)


def sleeping(log, seconds):
    def solve(y_hat):
        with Path(log).open("a") as file:
            file.write(".")
        while len(Path(log).read_text()) < 2:  # the other worker may start late
            time.sleep(0.01)
        time.sleep(seconds * (1 + (y_hat[0] > 0)))
        return y_hat

    return fs.Problem(solve=solve, cost=lambda y, z: 0.0)


@pytest.mark.parametrize("why", [KeyboardInterrupt, BudgetSpent])
def test_account_what_is_under_way_when_a_run_is_stopped_is_waited_for_and_recorded(why, tmp_path):
    Y = np.array([[0.0], [1.0], [0.5], [0.7], [0.8], [0.9]])
    problem = sleeping(tmp_path / "log", 0.2)
    ledger = open_ledger(tmp_path, problem, Y, identity="a")
    oracle = Oracle(problem, Y, solving=SolveConfig(workers=2), ledger=ledger)

    def stop():
        if ledger.last:
            raise why("enough")

    oracle.account.on_answer(stop)
    try:
        with pytest.raises(why):
            oracle.labels(np.arange(6))
        begun = len((tmp_path / "log").read_text())
        assert 2 <= begun <= 4
        assert ledger.last == begun == oracle.calls.total("solve")
        assert oracle.calls.unanswered["solve"] == 0
    finally:
        oracle.close()
        ledger.close()


def test_account_what_does_not_land_within_the_grace_is_given_up_and_stays_charged(tmp_path):
    Y = np.array([[0.0], [1.0]])
    log = tmp_path / "log"
    oracle = Oracle(sleeping(log, 3600.0), Y, solving=SolveConfig(workers=2, grace=0.3))

    def stop():
        if log.exists() and len(log.read_text()) == 2:
            raise KeyboardInterrupt

    oracle.account.on_answer(stop)
    with pytest.raises(KeyboardInterrupt):
        oracle.labels(np.arange(2))
    oracle.close()
    assert oracle.calls.unanswered["solve"] == 2


@pytest.mark.parametrize("attempts", [1, 2], ids=["once", "tried again"])
def test_account_what_a_kill_left_of_a_request_that_no_longer_fits_stays_spent(attempts, tmp_path):
    """Seven of ten rows were answered, of which the first took several attempts; four more had begun."""
    called, rows = [], np.arange(10)
    problem = fs.Problem(solve=lambda y_hat: called.append(1) or y_hat, cost=lambda y, z: 0.0)
    began = 7 - 1 + attempts + 4
    ledger = open_ledger(tmp_path, problem, Y, identity="this", adopt=True)
    names = keys.solve_keys(rows, Y[rows], own=False)
    ledger.charge("solve", began)
    calls = ledger.pending("solve", "online", rows[:7], names[:7], y_hat=Y[:7])
    ledger.record(calls, [pack_decision(y) for y in Y[:7]], [0.0] * 7, [attempts, *[1] * 6])
    ledger.close()
    for _ in range(2):  # the second start finds what the first one came to
        ledger = open_ledger(tmp_path, problem, Y, identity="this", adopt=True)
        oracle = Oracle(problem, Y, budget=Budget(solves=began + 2), ledger=ledger)
        with pytest.raises(BudgetSpent):
            oracle.solve(rows, Y[rows], phase="online")
        assert oracle.calls.total("solve") + oracle.calls.unanswered["solve"] == began
        with pytest.raises(BudgetSpent):
            oracle.solve(np.arange(10, 13), Y[10:13], phase="validation")
        oracle.solve(np.arange(7), Y[:7], phase="validation")
        oracle.solve(np.arange(10, 12), Y[10:12], phase="validation")
        assert oracle.calls.total("solve") + oracle.calls.unanswered["solve"] == began + 2
        assert len(called) == 2
        ledger.close()


def test_account_a_run_that_goes_another_way_when_it_is_started_again_has_spent_what_it_passes_by(tmp_path):
    """As in the asynchronous mode, or where a machine rounds otherwise: what is on record is not what is asked."""
    called = []
    problem = fs.Problem(solve=lambda y_hat: called.append(1) or y_hat, cost=lambda y, z: 0.0)
    for start, spent in enumerate([7, 10, 10], 1):
        ledger = open_ledger(tmp_path, problem, Y, identity="this", adopt=True)
        with closing(ledger):
            oracle = Oracle(problem, Y, budget=Budget(solves=10), ledger=ledger)
            if start == 1:
                oracle.solve(ALL[:7], Y[:7] + 1, phase="online")
            with pytest.raises(BudgetSpent):
                oracle.solve(ALL[:4], Y[:4] + 2, phase="online")
            if start == 2:
                oracle.solve(ALL[:3], Y[:3] + 3, phase="online")
                assert oracle.calls.total("solve") == 3
                assert oracle.calls.unanswered["solve"] == 7
            assert len(called) == oracle.calls.total("solve") + oracle.calls.unanswered["solve"] == spent
            if start == 3:  # what it has passed by, and asks for after all, counts once
                oracle.solve(ALL[3:7], Y[3:7] + 1, phase="online")
                with pytest.raises(BudgetSpent):
                    oracle.solve(ALL[:1], Y[:1] + 4, phase="online")
                assert len(called) == oracle.calls.total("solve") + oracle.calls.unanswered["solve"] == 10
