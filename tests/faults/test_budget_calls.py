"""No budget is overrun, counted in the user's own function: over crashes, time limits, raised errors, kills, resumes.

The function writes each of its calls to a file opened with O_APPEND before it does anything else. The trainer is a
process of its own, which a call may kill.
"""

import os
import signal
import traceback
import warnings
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, seed, settings
from hypothesis import strategies as st

import fewsolves as fs
from fewsolves.errors import BudgetSpent, SolverError
from fewsolves.ledger.ledger import open_ledger
from fewsolves.oracle import Budget, Oracle, SolveConfig

from .misbehaviour import ACTS, LIMIT, Misbehaving

ROWS, N_Y = 12, 2
Y = np.random.default_rng(0).normal(size=(ROWS, N_Y))


def forked(run):
    child = os.fork()
    if child == 0:
        code = 1
        try:
            warnings.simplefilter("ignore")
            run()
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    return os.waitpid(child, 0)[1]


def evaluate_until_it_is_spent(folder, log, solves, costs, workers, limit, batched, weights, seed, reported):
    solver = Misbehaving(log, weights, seed, os.getpid())
    function = {"solve_batch": solver.solve_batch} if batched else {"solve": solver.solve}
    problem = fs.Problem(cost=solver.cost, **function)
    ledger = open_ledger(folder, problem, Y, identity="this", adopt=True, replays_failures=True)
    config = SolveConfig(workers=workers, time_limit=limit, on_failure="skip")
    oracle = Oracle(problem, Y, solving=config, budget=Budget(solves=solves, cost_calls=costs), ledger=ledger)
    rng = np.random.default_rng(0)
    try:
        while True:
            index = rng.permutation(ROWS)[: rng.integers(1, ROWS)]
            oracle.regret(index, Y[index] + rng.normal(size=(len(index), N_Y)), phase="online")
    except (BudgetSpent, SolverError):
        pass
    finally:
        oracle.close()
        calls = oracle.calls
        reported.write_text(f"{calls.total('solve') + calls.unanswered['solve']} {calls.total('cost')}")
        ledger.close()


def most_calls(place, *, kills, **schedule):
    """Solves and cost calls that the user's function saw, those that the run reported, and how often it was killed."""
    log, reported, killed = place / "log", place / "told", 0
    for start in range(kills + 1):
        calm = start == kills
        weights = np.array(schedule["weights"], dtype=float)
        weights[-1] *= not calm
        now = schedule | {"weights": weights / weights.sum()}
        status = forked(lambda now=now: evaluate_until_it_is_spent(place / "run", log, reported=reported, **now))
        killed += os.WIFSIGNALED(status)
        assert os.WIFSIGNALED(status) or status == 0
    seen = log.read_text()
    return (seen.count("s"), seen.count("c")), tuple(map(int, reported.read_text().split())), killed


def schedules(most_kills):
    return {
        "solves": st.integers(ROWS + 2, 120),
        "costs": st.none() | st.integers(ROWS + 2, 120),
        "workers": st.sampled_from([1, 1, 2]),
        "limit": st.sampled_from([None, None, LIMIT]),
        "batched": st.booleans(),
        "weights": st.tuples(st.just(20), *[st.integers(0, 3) for _ in ACTS[1:]]),
        "seed": st.integers(0, 2**31),
        "kills": st.integers(0, most_kills),
    }


@settings(max_examples=5)
@given(**schedules(most_kills=2))
def test_budget_calls_the_users_function_never_sees_more_calls_than_the_budget_allows(tmp_path_factory, **schedule):
    never_overrun(tmp_path_factory.mktemp("schedule"), **schedule)


@pytest.mark.faults
@pytest.mark.timeout(1600)
@pytest.mark.parametrize("part", range(50))
def test_budget_calls_five_hundred_schedules(part, tmp_path_factory, record_property):
    counted = Counter()

    @seed(part)
    @settings(max_examples=10)
    @given(**schedules(most_kills=4))
    def these(**schedule):
        never_overrun(tmp_path_factory.mktemp("schedule"), counted, **schedule)

    try:
        these()
    finally:
        for what, number in counted.items():
            record_property(what, number)


def never_overrun(place, counted=None, *, solves, costs, kills, **schedule):
    calls, spent, killed = most_calls(place, kills=kills, solves=solves, costs=costs, **schedule)
    (seen, seen_costs), (reported, reported_costs) = calls, spent
    if counted is not None:
        over = max(0, seen - solves) + max(0, seen_costs - (costs or seen_costs))
        more = {"schedules": 1, "calls": seen + seen_costs, "kills of the trainer": killed, "calls over a budget": over}
        counted.update(more)
    assert seen <= solves
    assert seen_costs <= (costs or np.inf)
    assert seen <= reported, "the report has no fewer calls than were made"
    assert seen_costs >= reported_costs


@pytest.mark.parametrize(("workers", "batched"), [(1, False), (1, True), (2, False)])
def test_budget_calls_what_is_under_way_at_a_kill_is_spent(workers, batched, tmp_path):
    weights = [4 if batched else 12, 0, 0, 0, 0, 1]
    schedule = {"workers": workers, "batched": batched, "limit": None, "weights": weights, "seed": 1, "costs": None}
    (seen, _), (reported, _), killed = most_calls(tmp_path, kills=4, solves=100, **schedule)
    assert killed
    assert seen <= 100
    assert seen <= reported <= 100 + 64


def test_budget_calls_an_input_that_kills_the_trainer_each_time_costs_no_more_than_the_budget(tmp_path):
    """B13: each start comes to it again and pays for it, until nothing is left to pay with; then the run ends."""
    log, reported = tmp_path / "log", tmp_path / "told"

    class Deadly(Misbehaving):
        def solve(self, y_hat):
            self.note("s", 1)
            if y_hat[0] == Y[3, 0]:
                os.kill(os.getpid(), signal.SIGKILL)
            return y_hat

    def start():
        solver = Deadly(log, None, 0, os.getpid())
        problem = fs.Problem(solve=solver.solve, cost=solver.cost)
        ledger = open_ledger(tmp_path / "run", problem, Y, identity="this", adopt=True)
        oracle = Oracle(problem, Y, budget=Budget(solves=3 * ROWS), ledger=ledger)
        try:
            oracle.labels(np.arange(ROWS))
        except BudgetSpent:
            reported.write_text("the budget was spent")
        ledger.close()

    starts = 0
    while not os.WIFEXITED(forked(start)):
        starts += 1
        assert starts <= 3 * ROWS
    assert starts >= 2
    assert reported.exists()
    assert log.read_text().count("s") <= 3 * ROWS


def test_budget_calls_a_batch_that_raises_counts_each_of_its_rows_and_is_tried_row_by_row(tmp_path):
    sizes = []

    def solve_batch(y_hat):
        sizes.append(len(y_hat))
        if (y_hat == Y[3]).all(axis=1).any():
            raise ValueError("singular")
        return y_hat

    problem = fs.Problem(solve_batch=solve_batch, cost=lambda y, z: 0.0)
    oracle = Oracle(problem, Y, solving=SolveConfig(on_failure="skip"), budget=Budget(solves=20))
    decisions = oracle.labels(np.arange(ROWS))
    assert sizes == [12] + [1] * 8
    assert oracle.calls.total("solve") == 20
    failed = {k: z for k, z in enumerate(decisions) if not isinstance(z, np.ndarray)}
    assert {k: one.status for k, one in failed.items()} == {
        3: "error",
        8: "batch",
        9: "batch",
        10: "batch",
        11: "batch",
    }
    assert "raised ValueError at row 3: singular" in failed[3].message
