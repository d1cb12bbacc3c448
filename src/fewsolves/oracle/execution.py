"""How the user's functions are run: here, or in worker processes. Both give the same answers.

An execution sees rows of the table, never the training: a cluster backend fits in behind the same two methods.
Answers are handed on as they land, so that what was paid is on record before the rest is there.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import as_completed
from itertools import pairwise
from typing import Any, Protocol

import cloudpickle
import numpy as np

from fewsolves.oracle.answers import Answers, Failure
from fewsolves.problem import Array, Problem

CHUNKS_PER_WORKER = 4  # small enough to share out uneven solves, large enough that the way there costs little
HAND_ON = 0.05  # seconds after which answers are handed on, where the user's function is called row by row


class Execution(Protocol):
    """Runs `solve` and `cost` on rows; every row is answered once, by a value or a Failure, in any order."""

    def solve(self, rows: Array, y_hat: Array) -> Iterator[Answers]: ...
    def cost(self, rows: Array, y: Array, z: Sequence[Array]) -> Iterator[Answers]: ...
    def close(self) -> None: ...


class Serial:
    """In this process, in order; by the batched form where the problem has one."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem

    def solve(self, rows: Array, y_hat: Array) -> Iterator[Answers]:
        known = self._known(rows)
        if self.problem.solve_batch is not None:
            return _batch("solve_batch", self.problem.solve_batch, rows, (y_hat, *known), _decision)
        assert self.problem.solve is not None
        return _loop("solve", self.problem.solve, rows, (y_hat, *known), _decision)

    def cost(self, rows: Array, y: Array, z: Sequence[Array]) -> Iterator[Answers]:
        known = self._known(rows)
        if self.problem.cost_batch is not None:
            same = len({decision.shape for decision in z}) == 1
            decisions = np.stack(list(z)) if same else list(z)
            return _batch("cost_batch", self.problem.cost_batch, rows, (y, decisions, *known), _number)
        assert self.problem.cost is not None
        return _loop("cost", self.problem.cost, rows, (y, z, *known), _number)

    def close(self) -> None:
        pass

    def _known(self, rows: Array) -> tuple[list[Any], ...]:
        instances = self.problem.instances
        return () if instances is None else ([instances[row] for row in rows],)


class Processes:
    """In worker processes that live on between calls; each holds the problem, sent once."""

    def __init__(self, problem: Problem, workers: int) -> None:
        self.workers = workers
        self._problem = cloudpickle.dumps(problem)
        self._pool: Any = None

    def solve(self, rows: Array, y_hat: Array) -> Iterator[Answers]:
        return self._run("solve", rows, y_hat)

    def cost(self, rows: Array, y: Array, z: Sequence[Array]) -> Iterator[Answers]:
        return self._run("cost", rows, y, z)

    def close(self) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=True, kill_workers=True)
            self._pool = None

    def _run(self, kind: str, rows: Array, *columns: Any) -> Iterator[Answers]:
        if self._pool is None:
            from loky import ProcessPoolExecutor  # starts no process before the first solve

            self._pool = ProcessPoolExecutor(self.workers, initializer=_hold, initargs=(self._problem,))
        bounds = np.linspace(0, len(rows), min(len(rows), CHUNKS_PER_WORKER * self.workers) + 1).astype(int)
        futures = {
            self._pool.submit(_in_worker, kind, rows[a:b], *(column[a:b] for column in columns)): a
            for a, b in pairwise(bounds)
        }
        for future in as_completed(futures):
            for part in future.result():
                yield part._replace(at=part.at + futures[future])


_held: Serial | None = None  # a worker process serves one problem


def _hold(problem: bytes) -> None:
    global _held
    _held = Serial(cloudpickle.loads(problem))


def _in_worker(kind: str, rows: Array, *columns: Any) -> list[Answers]:
    return list(getattr(_held, kind)(rows, *columns))


def _loop(
    name: str, function: Callable[..., Any], rows: Array, columns: Sequence[Any], check: Callable[..., Any]
) -> Iterator[Answers]:
    first, values, seconds, handed_on = 0, [], [], time.perf_counter()
    for k, row in enumerate(rows):
        arguments = [_own(column[k]) for column in columns]
        began = time.perf_counter()
        try:
            value, failure = function(*arguments), None
        except Exception as error:
            failure = Failure("error", f"`{name}` raised {type(error).__name__} at row {row}: {error}", error)
        ended = time.perf_counter()
        seconds.append(ended - began)
        values.append(failure or check(name, value, int(row)))
        if ended - handed_on > HAND_ON or isinstance(values[-1], Failure):
            yield Answers(np.arange(first, k + 1), values, seconds)
            first, values, seconds, handed_on = k + 1, [], [], ended
    if values:
        yield Answers(np.arange(first, len(rows)), values, seconds)


def _batch(
    name: str, function: Callable[..., Any], rows: Array, columns: Sequence[Any], check: Callable[..., Any]
) -> Iterator[Answers]:
    arguments = [_own(column) for column in columns]
    began, failure = time.perf_counter(), None
    try:
        values = function(*arguments)
    except Exception as error:
        where = f"rows {rows[0]} to {rows[-1]}"
        failure = Failure("error", f"`{name}` raised {type(error).__name__} in {where}: {error}", error)
    seconds = time.perf_counter() - began
    if failure is None and (not hasattr(values, "__len__") or len(values) != len(rows)):
        got = f"{len(values)} values" if hasattr(values, "__len__") else type(values).__name__
        failure = Failure("bad-return", f"`{name}` must return one value per row: {len(rows)} rows, got {got}")
    if failure is None:
        checked = [check(name, value, int(row)) for value, row in zip(values, rows, strict=True)]
    else:
        checked = [failure] * len(rows)
    yield Answers(np.arange(len(rows)), checked, [seconds / len(rows)] * len(rows))


def _own(value: Any) -> Any:
    """A copy that the user's function may change without harm."""
    return value.copy() if isinstance(value, np.ndarray) else value


def _decision(name: str, value: Any, row: int) -> Array | Failure:
    if value is None:
        return Failure("bad-return", f"`{name}` returned None at row {row}; return the decision z as an array")
    z = np.asarray(value)
    if z.dtype.kind not in "biuf":
        return Failure("bad-return", f"`{name}` must return numbers, got {value!r:.80} at row {row}")
    if not np.isfinite(z).all():
        return Failure("bad-return", f"`{name}` returned a decision with NaN or inf at row {row}")
    return z


def _number(name: str, value: Any, row: int) -> float | Failure:
    try:
        number = np.asarray(value)
        if number.size != 1 or number.dtype.kind not in "biuf":
            raise TypeError
    except Exception:
        message = f"`{name}` must return one number, got {value!r:.80} ({type(value).__name__}) at row {row}"
        return Failure("bad-return", message)
    if not np.isfinite(number).all():
        return Failure("bad-return", f"`{name}` returned {value} at row {row}; a cost is a finite number")
    return float(number.item())
