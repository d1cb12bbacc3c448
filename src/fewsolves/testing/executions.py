"""Contract of an execution: run it on those of the library, and on one of your own.

    from fewsolves.testing import check_execution

    def test_my_execution():
        check_execution(start)  # (problem, resources) -> Execution, or the name by which it is registered

An execution whose solves run in processes of their own promises more: give `apart=True`, and crashes and solves that
never end are tried too. (In the process of the test they would take it along.) As for methods, each check raises
AssertionError with what was expected, and `EXECUTION_CHECKS` and `APART_CHECKS` list them one by one. What is left
running is looked for on this machine.
"""

from __future__ import annotations

import contextlib
import inspect
import os
import socket
import sys
import tempfile
import threading
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fewsolves.errors import Infeasible, InputError
from fewsolves.execution import Answers, Execution, Failure, Resources, Serial
from fewsolves.execution.registry import Start, find
from fewsolves.problem import Array, Problem
from fewsolves.testing.expect import expect

N_TABLE = 50  # rows of the table; the rows that are asked for are some of them, in another order
CHECKED_ROWS = np.random.default_rng(0).permutation(N_TABLE)[:30]
Y = np.random.default_rng(1).normal(size=(N_TABLE, 3))
BAD = int(CHECKED_ROWS[7])  # the row at which something goes wrong
PATIENCE = 30.0  # seconds in which what was closed must have ended
FOREVER = 600.0  # seconds that a solve takes which never ends
TIME_LIMIT = 2.0  # seconds after which one that must not is ended
GiveUp = Callable[[Execution, Iterator[Answers]], None]


def check_execution(start: str | Start, *, workers: int = 2, apart: bool = False) -> None:
    """Run all checks of an execution, one after the other; raises AssertionError with what was expected.

    Args:
        start: The name by which it is registered, or a function of a problem and resources.
        workers: How many solve side by side.
        apart: Whether solves run in processes of their own: crashes and solves that never end are then tried too.
    """
    for check in (*EXECUTION_CHECKS, *(APART_CHECKS if apart else ())):
        check(start, workers)


def check_every_row(start: str | Start, workers: int = 2) -> None:
    """Every row is answered once, in any order, and by its position among the rows asked for."""
    problem = Problem(solve=lambda y: y + 1.0, cost=lambda y, z: float(np.sum(y * z)))
    with _running(start, problem, workers) as execution:
        for rows in (CHECKED_ROWS, CHECKED_ROWS[:1], CHECKED_ROWS[::-1]):
            decisions = _answered(execution.solve(rows, Y[rows]), len(rows))
            costs = _answered(execution.cost(rows, Y[rows], decisions), len(rows))
            expected = [float(np.sum(y * (y + 1.0))) for y in Y[rows]]
            expect(costs == expected, f"the costs {expected} in the order of the rows", costs)


def check_same_answers(start: str | Start, workers: int = 2) -> None:
    """The answers of an execution in this process bit for bit: decisions of any type and shape, which may differ from
    row to row; what a function does to its arguments stays there."""
    kinds, shapes = ("f8", "f4", "i8", "?"), ((), (3,), (0,), (2, 3))

    def solve(y: Array) -> Array:
        which = int(1000 * abs(y[0])) % 16
        z: Array = np.resize(y * np.pi, shapes[which // 4]).astype(kinds[which % 4])
        y[:] = np.nan
        return z

    def cost(y: Array, z: Array) -> float:
        total = float(np.sum(y) + np.sum(z, dtype=float) / 3.0)
        y[:] = np.nan
        return total

    _expect_as_here(start, workers, Problem(solve=solve, cost=cost))


def check_any_decision(start: str | Start, workers: int = 2) -> None:
    """Decisions that are no arrays arrive as an execution in this process has them, and reach the cost as they were."""
    kinds: tuple[Callable[[Array], Any], ...] = (
        lambda y: {"units": y, "by": ("van", 2)},
        lambda y: [[0, 3], [1, 2, 4]],
        lambda y: "keep the plan",
        lambda y: y,
    )

    def cost(y: Array, z: Any) -> float:
        return float(["dict", "list", "str", "ndarray"].index(type(z).__name__)) + float(y[0])

    _expect_as_here(start, workers, Problem(solve=lambda y: kinds[int(1000 * abs(y[0])) % 4](y), cost=cost))


def check_instances(start: str | Start, workers: int = 2) -> None:
    """Both functions get the known data of their row."""
    known = [{"row": row} for row in range(N_TABLE)]
    _expect_as_here(
        start,
        workers,
        Problem(
            solve=lambda y, instance: y * instance["row"],
            cost=lambda y, z, instance: float(z.sum() - instance["row"]),
            instances=known,
        ),
    )


def check_seeds(start: str | Start, workers: int = 2) -> None:
    """A noisy cost that takes a seed gets that of its row, a whole number; one that does not gets none."""
    seeds = CHECKED_ROWS * 1000 + 7

    def cost(y: Array, z: Array, seed: int) -> float:
        assert type(seed) is int
        return float(seed)

    for function, expected in ((cost, [float(seed) for seed in seeds]), (lambda y, z: 1.0, [1.0] * len(CHECKED_ROWS))):
        problem = Problem(solve=lambda y: y, cost=function, noisy="cost")
        with _running(start, problem, workers) as execution:
            costs = _answered(
                execution.cost(CHECKED_ROWS, Y[CHECKED_ROWS], list(Y[CHECKED_ROWS]), seeds), len(CHECKED_ROWS)
            )
            expect(costs == expected, f"the costs {expected}", costs)


def check_hints(start: str | Start, workers: int = 2) -> None:
    """A solver with an argument `hint` gets that of its row; for executions whose `solve` takes hints."""
    hints = [None if row % 3 == 0 else Y[row] + 1.0 for row in CHECKED_ROWS]
    problem = Problem(solve=lambda y, hint: y if hint is None else hint, cost=lambda y, z: 0.0)
    expected = [y if hint is None else hint for y, hint in zip(Y[CHECKED_ROWS], hints, strict=True)]
    with _running(start, problem, workers) as execution:
        solve: Callable[..., Iterator[Answers]] = execution.solve
        if "hints" in inspect.signature(solve).parameters:
            got = _answered(solve(CHECKED_ROWS, Y[CHECKED_ROWS], hints), len(CHECKED_ROWS))
            expect(np.array_equal(got, expected), f"the decisions {expected}", got)


def check_batched(start: str | Start, workers: int = 2) -> None:
    """Batched forms are called where there is no other, with as many rows as suit; also those that a factory brings."""

    def solve_batch(y: Array) -> list[Array]:
        assert y.ndim == 2
        return [one[: 1 + int(1000 * abs(one[0])) % 3] for one in y]

    def cost_batch(y: Array, z: Sequence[Array]) -> list[float]:
        assert len(y) == len(z)
        return [float(a.sum() + b.sum()) for a, b in zip(y, z, strict=True)]

    problem = Problem(solve_batch=solve_batch, cost_batch=cost_batch)
    _expect_as_here(start, workers, problem)
    _expect_as_here(start, workers, Problem(factory=lambda: problem))


def check_failures(start: str | Start, workers: int = 2) -> None:
    """What a function raises, or returns in place of an answer, is a Failure that names the row, and no other row's."""

    def solve(y: Array) -> Any:
        which = int(1000 * abs(y[0])) % 6
        if which == 0:
            raise Infeasible("no feasible decision")
        if which == 1:
            sys.exit("licence is busy")
        return {2: None, 3: np.full(2, np.nan), 4: object}.get(which, y)

    def cost(y: Array, z: Array) -> Any:
        if y[0] > 1.0:
            raise ZeroDivisionError("cost")
        return np.inf if y[0] < -1.0 else 1.0

    problem = Problem(solve=solve, cost=cost)
    try:
        _expect_as_here(start, workers, problem)
    except Exception as error:
        if isinstance(error, AssertionError):
            raise
        raise AssertionError(f"expected a Failure for each row that failed; got {error!r}") from error


def check_closed_early(start: str | Start, workers: int = 2) -> None:
    """Who stops listening gets no answers of that request in the next one."""

    def solve(y: Array) -> Array:
        time.sleep(0.005)
        return y

    with _running(start, Problem(solve=solve, cost=lambda y, z: 0.0), workers) as execution:
        for _ in range(2):
            landed = execution.solve(CHECKED_ROWS, Y[CHECKED_ROWS])
            next(landed)
            _close(landed)
            again = CHECKED_ROWS[:11]
            decisions = _answered(execution.solve(again, -Y[again]), len(again))
            expect(np.array_equal(decisions, -Y[again]), "the answers of the request that was made last", decisions)


def check_close(start: str | Start, workers: int = 2, *, patience: float = PATIENCE) -> None:
    """After `close` no process and no thread is left that solved; closing twice does no harm, and asking again."""

    def solve(y: Array) -> Array:
        time.sleep(0.01)  # a name of this module would have each worker import it, with all the library
        return np.array([zlib.crc32(socket.gethostname().encode()), os.getpid(), threading.get_ident()])

    with _running(start, Problem(solve=solve, cost=lambda y, z: 0.0), workers) as execution:
        for _ in range(2):
            where = {
                tuple(map(int, z)) for z in _answered(execution.solve(CHECKED_ROWS, Y[CHECKED_ROWS]), len(CHECKED_ROWS))
            }
            execution.close()
            execution.close()
            gone = _in_time(patience, _gone, where)
            expect(gone, "no process and no thread left that solved", [one for one in where if _lives(*one)])


def check_limits(start: str | Start, workers: int = 2, *, forever: float = FOREVER) -> None:
    """A time limit is kept to, or refused by InputError before anything runs."""

    def solve(y: Array) -> Array:
        if np.array_equal(y, Y[BAD]):
            time.sleep(forever)
        return y

    problem = Problem(solve=solve, cost=lambda y, z: 0.0)
    try:
        execution = _start(start)(problem, Resources(workers=workers, time_limit=TIME_LIMIT))
    except InputError:
        return
    began = time.monotonic()
    with contextlib.closing(execution):
        _expect_one_failure(execution, ("timeout",))
    took = time.monotonic() - began
    expect(took < forever, f"the solve ended after about {TIME_LIMIT} seconds", took)


def check_crash(start: str | Start, workers: int = 2) -> None:
    """A solver whose process dies loses its own row and no other."""

    def solve(y: Array) -> Array:
        if np.array_equal(y, Y[BAD]):
            os._exit(3)
        return y

    with _running(start, Problem(solve=solve, cost=lambda y, z: 0.0), workers) as execution:
        _expect_one_failure(execution, ("crash", "lost"))


def check_given_up(start: str | Start, workers: int = 2, *, patience: float = PATIENCE) -> None:
    """A solve that never ends is stopped when the caller closes the iterator, and when the execution is closed."""
    for stop in (lambda execution, landed: _close(landed), lambda execution, landed: execution.close()):
        with tempfile.TemporaryDirectory() as folder:
            _give_up(start, max(workers, 2), stop, Path(folder) / "began", patience)


def _give_up(start: str | Start, workers: int, stop: GiveUp, began: Path, patience: float) -> None:
    def solve(y: Array) -> Array:
        if np.array_equal(y, Y[BAD]):
            began.write_text(f"{zlib.crc32(socket.gethostname().encode())} {os.getpid()}\n")
            time.sleep(FOREVER)
        return y

    rows = np.array([BAD, *(row for row in CHECKED_ROWS if row != BAD)])
    with _running(start, Problem(solve=solve, cost=lambda y, z: 0.0), workers) as execution:
        landed = execution.solve(rows, Y[rows])
        next(landed)  # of another row, by another worker
        expect(_in_time(patience, _written, began), f"that row {BAD} is solved too", "no sign of it")
        stop(execution, landed)
        machine, process = map(int, began.read_text().split())
        expect(_in_time(patience, _gone, {(machine, process, 0)}), "the process that solved ended", process)


ExecutionCheck = Callable[[str | Start, int], None]

EXECUTION_CHECKS: tuple[ExecutionCheck, ...] = (
    check_every_row,
    check_same_answers,
    check_any_decision,
    check_instances,
    check_seeds,
    check_hints,
    check_batched,
    check_failures,
    check_closed_early,
    check_close,
    check_limits,
)
APART_CHECKS: tuple[ExecutionCheck, ...] = (check_crash, check_given_up)
"""For executions whose solves run in processes of their own."""


def _start(start: str | Start) -> Start:
    return find(start) if isinstance(start, str) else start


@contextlib.contextmanager
def _running(start: str | Start, problem: Problem, workers: int) -> Iterator[Execution]:
    execution = _start(start)(problem, Resources(workers=workers))
    with contextlib.closing(execution):
        yield execution


def _answered(landed: Iterator[Answers], n: int) -> list[Any]:
    """The values in the order of the rows."""
    values: dict[int, Any] = {}
    for answers in landed:
        lengths = {len(answers.at), len(answers.values), len(answers.seconds)}
        expect(len(lengths) == 1 and len(answers.attempts) in (0, *lengths), "one value and one time for each", answers)
        expect(all(np.isfinite(s) and s >= 0.0 for s in answers.seconds), "seconds of 0 and more", answers.seconds)
        for at, value in zip(np.asarray(answers.at).tolist(), answers.values, strict=True):
            expect(at not in values, f"one answer for position {at}", "another")
            values[at] = value
    expect(sorted(values) == list(range(n)), f"an answer for each position from 0 to {n - 1}", sorted(values))
    return [values[at] for at in range(n)]


def _expect_as_here(start: str | Start, workers: int, problem: Problem) -> None:
    """Solves, and costs of what was solved, as an execution in this process has them."""
    here, y = Serial(problem), Y[CHECKED_ROWS]
    expected = _answered(here.solve(CHECKED_ROWS, y.copy()), len(CHECKED_ROWS))
    with _running(start, problem, workers) as execution:
        given = y.copy()
        decisions = _answered(execution.solve(CHECKED_ROWS, given), len(CHECKED_ROWS))
        _expect_equal(CHECKED_ROWS, decisions, expected)
        solved = np.array([k for k, z in enumerate(expected) if not isinstance(z, Failure)])
        z = [expected[k] for k in solved]
        costs = _answered(execution.cost(CHECKED_ROWS[solved], given[solved], z), len(solved))
        _expect_equal(
            CHECKED_ROWS[solved], costs, _answered(here.cost(CHECKED_ROWS[solved], y[solved], z), len(solved))
        )
    expect(np.array_equal(given, y), "the rows as they were handed in", given)


def _expect_equal(rows: Array, got: list[Any], expected: list[Any]) -> None:
    for row, one, other in zip(rows, got, expected, strict=True):
        expect(_bits(one) == _bits(other), f"{other!r} at row {row}", repr(one))


def _bits(value: Any) -> Any:
    if isinstance(value, Failure):
        return value.status, value.message
    if isinstance(value, bytes):
        return type(value), value
    array = np.asarray(value)
    return type(value), array.dtype, array.shape, array.tobytes()


def _expect_one_failure(execution: Execution, statuses: tuple[str, ...]) -> None:
    values = _answered(execution.solve(CHECKED_ROWS, Y[CHECKED_ROWS]), len(CHECKED_ROWS))
    for row, value in zip(CHECKED_ROWS.tolist(), values, strict=True):
        if row != BAD:
            expect(np.array_equal(value, Y[row]), f"the decision of row {row}", value)
        else:
            named = isinstance(value, Failure) and value.status in statuses and f"row {row}" in value.message
            expect(named, f"a Failure ({' or '.join(statuses)}) that names row {row}", value)


def _close(landed: Iterator[Answers]) -> None:
    close = getattr(landed, "close", None)
    if close is not None:
        close()


def _written(path: Path) -> bool:
    return path.exists() and path.read_text().endswith("\n")


def _gone(where: set[tuple[int, int, int]]) -> bool:
    return not any(_lives(*one) for one in where)


def _in_time(patience: float, holds: Callable[..., bool], *arguments: Any) -> bool:
    """Whether it comes to hold within `patience` seconds."""
    until = time.monotonic() + patience
    while not (held := holds(*arguments)) and time.monotonic() < until:
        time.sleep(0.02)
    return held


def _lives(machine: int, process: int, thread: int) -> bool:
    """Whether a thread of this process, but for the one that asks, or another process of this machine is alive."""
    if machine != zlib.crc32(socket.gethostname().encode()):
        return False  # it cannot be seen from here
    if process == os.getpid():
        return thread in {one.ident for one in threading.enumerate()} - {threading.get_ident()}
    try:
        os.kill(process, 0)
    except OSError:
        return False
    status = Path(f"/proc/{process}/stat")  # what has ended and was not waited for does not live
    with contextlib.suppress(OSError):
        return status.read_text().rpartition(")")[2].split()[0] not in "ZX"
    return not Path("/proc/self").exists()
