"""How the user's functions are run: here, or in worker processes. Both give the same answers in the same order.

An execution sees rows of the table, never the training: a cluster backend or a durable record of answers fits in
behind the same two methods.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, Protocol

import cloudpickle
import numpy as np

from fewsolves.errors import InputError, SolverError
from fewsolves.problem import Array, Problem

CHUNKS_PER_WORKER = 4  # small enough to share out uneven solves, large enough that the way there costs little


class Answers(NamedTuple):
    """What came back for some rows, and the seconds spent inside the user's function, summed over workers."""

    values: list[Any]
    seconds: float


class Execution(Protocol):
    """Runs `solve` and `cost` on rows; answers come in the order of the rows."""

    def solve(self, rows: Array, y_hat: Array) -> Answers: ...
    def cost(self, rows: Array, y: Array, z: Sequence[Array]) -> Answers: ...
    def close(self) -> None: ...


class Serial:
    """In this process, in order; by the batched form where the problem has one."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem

    def solve(self, rows: Array, y_hat: Array) -> Answers:
        known = self._known(rows)
        if self.problem.solve_batch is not None:
            return _batch("solve_batch", self.problem.solve_batch, rows, (y_hat, *known), _decision)
        assert self.problem.solve is not None
        return _loop("solve", self.problem.solve, rows, (y_hat, *known), _decision)

    def cost(self, rows: Array, y: Array, z: Sequence[Array]) -> Answers:
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
        if workers < 1:
            raise InputError(f"workers must be at least 1, got {workers}")
        self.workers = workers
        self._problem = cloudpickle.dumps(problem)
        self._pool: Any = None

    def solve(self, rows: Array, y_hat: Array) -> Answers:
        return self._run("solve", rows, y_hat)

    def cost(self, rows: Array, y: Array, z: Sequence[Array]) -> Answers:
        return self._run("cost", rows, y, z)

    def close(self) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=True, kill_workers=True)
            self._pool = None

    def _run(self, kind: str, rows: Array, *columns: Any) -> Answers:
        if self._pool is None:
            from loky import ProcessPoolExecutor  # starts no process before the first solve

            self._pool = ProcessPoolExecutor(self.workers, initializer=_hold, initargs=(self._problem,))
        bounds = np.linspace(0, len(rows), min(len(rows), CHUNKS_PER_WORKER * self.workers) + 1).astype(int)
        futures = [
            self._pool.submit(_in_worker, kind, rows[a:b], *(column[a:b] for column in columns))
            for a, b in pairwise(bounds)
        ]
        parts: list[Answers] = [future.result() for future in futures]
        return Answers([value for part in parts for value in part.values], sum(part.seconds for part in parts))


_held: Serial | None = None  # a worker process serves one problem


def _hold(problem: bytes) -> None:
    global _held
    _held = Serial(cloudpickle.loads(problem))


def _in_worker(kind: str, rows: Array, *columns: Any) -> Answers:
    answers: Answers = getattr(_held, kind)(rows, *columns)
    return answers


def _loop(
    name: str, function: Callable[..., Any], rows: Array, columns: Sequence[Any], check: Callable[..., Any]
) -> Answers:
    values, seconds = [], 0.0
    for k, row in enumerate(rows):
        arguments = [_own(column[k]) for column in columns]
        began = time.perf_counter()
        try:
            value = function(*arguments)
        except Exception as error:
            raise SolverError(f"`{name}` raised {type(error).__name__} at row {row}: {error}", row=int(row)) from error
        seconds += time.perf_counter() - began
        values.append(check(name, value, int(row)))
    return Answers(values, seconds)


def _batch(
    name: str, function: Callable[..., Any], rows: Array, columns: Sequence[Any], check: Callable[..., Any]
) -> Answers:
    arguments = [_own(column) for column in columns]
    began = time.perf_counter()
    try:
        values = function(*arguments)
    except Exception as error:
        where = f"rows {rows[0]} to {rows[-1]}"
        raise SolverError(f"`{name}` raised {type(error).__name__} in {where}: {error}", row=int(rows[0])) from error
    seconds = time.perf_counter() - began
    if not hasattr(values, "__len__") or len(values) != len(rows):
        got = f"{len(values)} values" if hasattr(values, "__len__") else type(values).__name__
        raise SolverError(f"`{name}` must return one value per row: {len(rows)} rows, got {got}", row=int(rows[0]))
    return Answers([check(name, value, int(row)) for value, row in zip(values, rows, strict=True)], seconds)


def _own(value: Any) -> Any:
    """A copy that the user's function may change without harm."""
    return value.copy() if isinstance(value, np.ndarray) else value


def _decision(name: str, value: Any, row: int) -> Array:
    if value is None:
        raise SolverError(f"`{name}` returned None at row {row}; return the decision z as an array", row=row)
    z = np.asarray(value)
    if z.dtype.kind not in "biuf":
        raise SolverError(f"`{name}` must return numbers, got {value!r:.80} at row {row}", row=row)
    if not np.isfinite(z).all():
        raise SolverError(f"`{name}` returned a decision with NaN or inf at row {row}", row=row)
    return z


def _number(name: str, value: Any, row: int) -> float:
    try:
        number = np.asarray(value)
        if number.size != 1 or number.dtype.kind not in "biuf":
            raise TypeError
    except Exception:
        message = f"`{name}` must return one number, got {value!r:.80} ({type(value).__name__}) at row {row}"
        raise SolverError(message, row=row) from None
    if not np.isfinite(number).all():
        raise SolverError(f"`{name}` returned {value} at row {row}; a cost is a finite number", row=row)
    return float(number.item())
