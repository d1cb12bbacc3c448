"""Execution in this process: the user's functions are called row by row or in one batch, and their answers checked.

Nothing that a function raises or returns leaves here as an exception: it becomes a `Failure` that names the row. Worker
processes (`execution.worker`) run the same code, so that all executions give the same answers.
"""

from __future__ import annotations

import contextlib
import math
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from itertools import islice
from typing import Any

import numpy as np

from fewsolves.errors import FewsolvesError, InputError
from fewsolves.execution.base import (
    LONGEST_MESSAGE,
    MAX_DECISION_BYTES,
    Answers,
    Failure,
    OnSend,
    Resources,
    no_charge,
    some,
)
from fewsolves.execution.encoding import Encoded, as_decision, decode
from fewsolves.execution.forked import (
    FORKED_MESSAGE,
    NoExceptionError,
    in_this_process,
    other_process_returned,
)
from fewsolves.execution.registry import register
from fewsolves.problem import Array, Problem

Check = Callable[[str, Any, int], Any]
RAISED = (Exception, SystemExit)  # a solver that calls sys.exit() must not end the run
PAUSES = (1.0, 4.0, 15.0)  # seconds after which a factory that failed is called again
NOT_TO_PASS = (FewsolvesError, ImportError, NameError, AttributeError, TypeError, SyntaxError, NotImplementedError)
"""Errors of a factory that a retry would repeat."""
CHARGED_SECONDS = 0.01  # of cost calls at known decisions that are charged together
LARGEST_COST = 1e150  # above it, a difference of costs or its square is no number
HAND_ON = 0.05  # seconds after which answers are handed on, where the user's function is called row by row


def all_at_once(
    name: str, function: Callable[..., Any], rows: Array, columns: Sequence[Any], check: Check, on_send: OnSend
) -> Answers:
    """One call for all rows; where it raises, all have failed, and which of them is at fault is not known."""
    arguments = [_own(column) for column in columns]
    on_send(len(rows))
    began, failure = time.perf_counter(), None
    try:
        values = in_this_process(function, *arguments)
    except RAISED as error:
        failure = _raised(name, error, f"at row {rows[0]}")
        if len(rows) > 1:
            failure = Failure("batch", f"`{name}` raised {words_of(error)}, with {len(rows)} rows at once", error)
    seconds = time.perf_counter() - began
    found = failure or _one_per_row(name, values, len(rows))
    if isinstance(found, Failure):
        checked = [found] * len(rows)
    else:
        checked = [check(name, value, int(row)) for value, row in zip(found, rows, strict=True)]
    return Answers(np.arange(len(rows)), checked, [seconds / len(rows)] * len(rows))


def _one_per_row(name: str, values: Any, n: int) -> list[Any] | Failure:
    """What a batched function returned, in order; a dict, a set or a data frame has no order of rows."""
    got = type(values).__name__
    unordered = isinstance(values, Mapping | Set | str | bytes) or hasattr(type(values), "columns")
    if not unordered and hasattr(values, "__len__"):
        with contextlib.suppress(Exception):  # an object of the user may do anything when it is looked at
            found = list(islice(values, n + 1))
            if len(found) == n == len(values):
                return found
            got = f"{len(values)} values"
    return Failure("bad-return", f"`{name}` must return one value per row: {n} rows, got {got}; return a list or array")


def decision(name: str, value: Any, row: int) -> Array | Encoded | Failure:
    """A decision: an array of finite numbers, or the text of anything that can be kept."""
    if value is None:
        return Failure("bad-return", f"`{name}` returned None at row {row}; return the decision z")
    try:
        made = as_decision(value)
        size = made.nbytes if isinstance(made, np.ndarray) else len(made)
        if size > MAX_DECISION_BYTES:
            said = f"the decision at row {row} has {size:,} bytes; at most {MAX_DECISION_BYTES:,} can be taken"
            return Failure("bad-return", said)
        return made
    except Exception as error:
        said = f"`{name}` returned {_shown(value)} at row {row}, which is not a decision: {words_of(error)}"
        return Failure("bad-return", said)


def _encoded_by(encode: Callable[[Any], Any]) -> Check:
    """A check like `decision`, of the value that the user's `encode` returns."""

    def check(name: str, value: Any, row: int) -> Array | Encoded | Failure:
        try:
            return decision("encode", in_this_process(encode, value), row)
        except RAISED as error:
            return _raised("encode", error, f"at row {row}")

    return check


def _original(name: str, value: Any, row: int) -> Any:
    """The decision object itself, for a caller in this process that stores nothing."""
    return decision(name, value, row) if value is None else value


def number(name: str, value: Any, row: int) -> float | Failure:
    """A cost: one finite number."""
    if isinstance(value, float) and -LARGEST_COST < value < LARGEST_COST:  # nearly always, and by the hundred thousand
        return float(value)
    try:
        single = np.asarray(value)
        if single.size != 1 or single.dtype.kind not in "iuf" or np.ma.is_masked(value):
            raise TypeError
    except Exception:
        got = f"{_shown(value)} ({type(value).__name__})"
        return Failure("bad-return", f"`{name}` must return one number, got {got} at row {row}")
    if not np.isfinite(single).all():
        return Failure("bad-return", f"`{name}` returned {_shown(value)} at row {row}; a cost is a finite number")
    if not abs(single.item()) < LARGEST_COST:
        said = f"`{name}` returned {_shown(value)} at row {row}; count costs in larger units, below {LARGEST_COST:g}"
        return Failure("bad-return", said)
    return float(single.item())


def words_of(error: BaseException) -> str:
    """Type and message of an exception; the type alone if it has no message."""
    if isinstance(error, NoExceptionError) and error.__cause__ is not None:
        error = error.__cause__
    try:
        return f"{type(error).__name__}: {error}"[:LONGEST_MESSAGE]
    except Exception:
        return type(error).__name__


def _raised(name: str, error: BaseException, where: str) -> Failure:
    kind, _, said = words_of(error).partition(": ")
    if isinstance(error, MemoryError):
        return Failure("out-of-memory", f"`{name}` ran out of memory {where}; raise memory_limit=", error)
    if isinstance(error, SystemExit):
        return Failure("error", f"`{name}` called sys.exit({said}) {where}", error)
    at_the_call = len(list(traceback.walk_tb(error.__traceback__))) == 2  # here, and in `in_this_process`
    if isinstance(error, TypeError) and at_the_call and "required positional argument" in said:
        said += "; known data by row are given as instances="
    return Failure("error", f"`{name}` raised {kind} {where}: {said}", error)


def _shown(value: Any) -> str:
    try:
        return f"{value!r:.80}"
    except Exception:
        return f"a {type(value).__name__} that cannot be shown"


def _own(value: Any) -> Any:
    """A copy that the user's function may change without harm."""
    return value.copy() if isinstance(value, np.ndarray) else value


class Serial:
    """In this process, in order; by the batched form where the problem has one."""

    def __init__(
        self,
        problem: Problem,
        hand_on: float = HAND_ON,
        *,
        originals: bool = False,
        pauses: Sequence[float] = PAUSES,
    ) -> None:
        """`originals`: decisions are handed on as the solver made them."""
        self.problem, self.hand_on, self._pauses = problem, hand_on, pauses
        self._decision: Check = decision if problem.encode is None else _encoded_by(problem.encode)
        if originals:
            self._decision = _original
        self.on_send: OnSend = no_charge
        self.on_fork: Callable[[str], None] = lambda name: warnings.warn(
            FORKED_MESSAGE.format(name), RuntimeWarning, stacklevel=2
        )
        self._alone: set[tuple[str, int]] = set()  # rows whose batch has failed

    def load(self) -> Problem:
        """The problem with its functions, which a factory makes once."""
        for pause in (*self._pauses, None):
            if self.problem.factory is None:
                break
            try:
                self.problem = in_this_process(self.problem.build)
                self._look_for_forks("factory")
            except NOT_TO_PASS:
                raise
            except RAISED:  # a licence may be busy
                if pause is None:
                    raise
                time.sleep(pause)
        return self.problem

    def solve(self, rows: Array, y_hat: Array, hints: Sequence[Any] | None = None) -> Iterator[Answers]:
        problem = self.load()
        columns = (y_hat, *self._known(rows))
        if problem.solve_batch is not None:
            return self._in_batches("solve_batch", problem.solve_batch, rows, columns, self._decision)
        assert problem.solve is not None
        starts = _decoded(hints or [None] * len(rows)) if problem.takes_hint else None
        function, columns = _with_last("hint", problem.solve, columns, starts)
        return self._one_by_one("solve", function, rows, columns, self._decision)

    def cost(self, rows: Array, y: Array, z: Sequence[Array], seeds: Array | None = None) -> Iterator[Answers]:
        problem, known, z = self.load(), self._known(rows), _decoded(z)
        if problem.cost_batch is not None:
            same = len({getattr(one, "shape", None) for one in z}) == 1 and isinstance(z[0], np.ndarray)
            decisions = np.stack(list(z)) if same else list(z)
            function, columns = _seeded(problem, problem.cost_batch, (y, decisions, *known), seeds)
            return self._in_batches("cost_batch", function, rows, columns, number)
        assert problem.cost is not None
        each = None if seeds is None else seeds.tolist()
        function, columns = _seeded(problem, problem.cost, (y, z, *known), each)
        return self._one_by_one("cost", function, rows, columns, number)

    def _one_by_one(
        self, name: str, function: Callable[..., Any], rows: Array, columns: Sequence[Any], check: Check
    ) -> Iterator[Answers]:
        """Answers in order; handed on at the latest `hand_on` seconds after they are there, a failure at once."""
        first, values, seconds, handed_on = 0, [], [], time.perf_counter()
        for k, row in enumerate(rows):
            arguments = [_own(column[k]) for column in columns]
            self.on_send(1)
            began = time.perf_counter()
            try:
                value, failure = in_this_process(function, *arguments), None
            except RAISED as error:
                failure = _raised(name, error, f"at row {row}")
            ended = time.perf_counter()
            seconds.append(ended - began)
            values.append(failure or check(name, value, int(row)))
            if ended - handed_on > self.hand_on or isinstance(values[-1], Failure) or k == len(rows) - 1:
                self._look_for_forks(name)
                yield Answers(np.arange(first, k + 1), values, seconds)
                first, values, seconds, handed_on = k + 1, [], [], ended

    def _look_for_forks(self, name: str) -> None:
        if other_process_returned():
            self.on_fork(name)

    def _in_batches(
        self, name: str, function: Callable[..., Any], rows: Array, columns: Sequence[Any], check: Check
    ) -> Iterator[Answers]:
        """All rows in one call, but for those whose batch has failed: each of them by itself."""
        alone = np.array([(name, row) in self._alone for row in rows.tolist()], dtype=bool)
        for at in [np.flatnonzero(~alone), *np.flatnonzero(alone)[:, None]]:
            if len(at):
                answers = all_at_once(name, function, rows[at], [some(c, at) for c in columns], check, self.on_send)
                for row, value in zip(rows[at].tolist(), answers.values, strict=True):
                    in_batch = isinstance(value, Failure) and value.status == "batch"
                    (self._alone.add if in_batch else self._alone.discard)((name, row))
                self._look_for_forks(name)
                yield answers._replace(at=at)

    def costs(
        self,
        rows: Array,
        y: Array,
        z: Sequence[Array] | Array,
        seeds: Array | None = None,
        *,
        again: Callable[[int], int],
    ) -> Array:
        """g(y, z) of many decisions at once, (B,), NaN where a call fails; for known decisions.

        Where the batched form fails, the rows are called one by one, to lose only those that fail; as many as `again`
        allows.
        """
        problem, known = self.load(), self._known(rows)
        costs, allowed = np.full(len(rows), np.nan), len(rows)
        if problem.cost_batch is not None:
            function, columns = _seeded(problem, problem.cost_batch, (y, _decoded(z), *known), seeds)
            self.on_send(len(rows))
            try:
                given = in_this_process(function, *columns)
                found = np.asarray(given)
                if found.shape == (len(rows),) and found.dtype.kind in "iuf" and not np.ma.isMaskedArray(given):
                    return np.where(np.abs(found) < LARGEST_COST, found, np.nan).astype(float)
            except RAISED:
                pass
            allowed = again(len(rows))
            self._alone |= {("cost_batch", row) for row in rows.tolist()}
        elif problem.cost is not None:
            each = None if seeds is None else seeds.tolist()
            return self._numbers(rows, *_seeded(problem, problem.cost, (y, _decoded(z), *known), each))
        few = None if seeds is None else seeds[:allowed]
        for answers in self.cost(rows[:allowed], y[:allowed], list(z[:allowed]), few):
            good = [k for k, value in enumerate(answers.values) if not isinstance(value, Failure)]
            costs[answers.at[good]] = [answers.values[k] for k in good]
        return costs

    def feasible(self, rows: Array, z: Sequence[Array] | Array) -> Array:
        """(B,): whether these rows may have these decisions, by `Problem.feasible`; where nothing says so, they may."""
        problem, known = self.load(), self._known(rows)
        if problem.feasible is None or not known:
            return np.ones(len(rows), dtype=bool)
        allowed = np.empty(len(rows), dtype=bool)
        for k, (row, one, instance) in enumerate(zip(rows.tolist(), _decoded(z), known[0], strict=True)):
            try:
                allowed[k] = bool(in_this_process(problem.feasible, _own(one), instance))
            except NOT_TO_PASS:
                raise
            except RAISED as error:
                raise InputError(f"Problem(feasible=) failed for row {row}: {words_of(error)}") from error
        return allowed

    def _numbers(self, rows: Array, cost: Callable[..., Any], columns: Sequence[Any]) -> Array:
        """The same costs as `_one_by_one`, (B,), without the record of each call, which can take as long."""
        costs, block = list[float](), 1
        arguments = zip(*(c.copy() if isinstance(c, np.ndarray) else map(_own, c) for c in columns), strict=True)
        while len(costs) < len(rows):
            some = rows[len(costs) : len(costs) + block].tolist()
            self.on_send(len(some))
            began = time.perf_counter()
            costs += _numbers_of(cost, some, arguments)
            block = block * 2 if time.perf_counter() - began < CHARGED_SECONDS else max(block // 2, 1)
        self._look_for_forks("cost")
        return np.array(costs)

    def close(self) -> None:
        pass

    def _known(self, rows: Array) -> tuple[list[Any], ...]:
        return () if self.problem.instances is None else ([self.problem.instance(row) for row in rows],)


def _numbers_of(cost: Callable[..., Any], rows: list[int], arguments: Iterator[tuple[Any, ...]]) -> list[float]:
    """Costs of the next calls, NaN where one fails."""
    costs = list[float]()
    for row, given in zip(rows, arguments, strict=False):
        try:
            value = in_this_process(cost, *given)
        except RAISED:
            value = None
        found = number("cost", value, row)
        costs.append(math.nan if isinstance(found, Failure) else found)
    return costs


def _decoded(z: Sequence[Any] | Array) -> Any:
    """Decisions as the user's cost takes them."""
    return z if isinstance(z, np.ndarray) else [decode(one) if isinstance(one, Encoded) else one for one in z]


def _seeded(
    problem: Problem, cost: Callable[..., Any], columns: tuple[Any, ...], seeds: Any
) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """A cost function with its columns, the seeds last, where it takes any."""
    return _with_last("seed", cost, columns, seeds if problem.takes_seed else None)


def _with_last(
    name: str, function: Callable[..., Any], columns: tuple[Any, ...], last: Any
) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """A function of its columns, of which the last is the argument `name`; as it is where there is no such column."""
    if last is None:
        return function, columns
    return lambda *given: function(*given[:-1], **{name: given[-1]}), (*columns, last)


def check_resources(resources: Resources) -> None:
    """Raise where this process alone cannot keep to them."""
    if resources != Resources():
        raise InputError("execution='serial' runs in this process: it takes no workers, time_limit or memory_limit")


def start(problem: Problem, resources: Resources) -> Serial:
    """For the registry."""
    check_resources(resources)
    return Serial(problem)


register("serial", start)
