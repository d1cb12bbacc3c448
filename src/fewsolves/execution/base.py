"""The protocol of an execution: rows in, answers out, each a value or the reason why there is none.

rows  (n,)       numbers of rows in the user's table     at  (k,)  positions among the n requested rows
y, y_hat (n, n_y), z a list of n decisions (arrays, or text: `execution.encoding`), seeds (n,) for a noisy cost, hints a
list of n decisions or None for a solver that takes a start: the columns that go with the rows
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np

from fewsolves._internal.text import plain
from fewsolves.problem import Array

Kind = Literal["solve", "cost"]
Phase = Literal["probe", "labels", "pre-training", "online", "validation", "test"]
PHASES: tuple[Phase, ...] = ("probe", "labels", "pre-training", "online", "validation", "test")
TRAINING: tuple[Phase, ...] = ("pre-training", "online")  # what the paper counts
KINDS: tuple[Kind, ...] = ("solve", "cost")


def paid(counts: Mapping[Any, int]) -> int:
    """Calls that a run pays for, from counts by phase: those of a test come after it and are no part of its price."""
    return sum(number for phase, number in counts.items() if phase != "test")


Status = Literal["error", "bad-return", "crash", "timeout", "out-of-memory", "lost", "batch"]
"""error: the function raised · bad-return: it returned something unusable · crash: its process died · timeout: it took
longer than allowed · out-of-memory · lost: its process was ended from outside, or its machine went away · batch: it was
in work together with others, of which one is at fault; requested again, it is called by itself."""

LONGEST_MESSAGE = 4096  # bytes
MAX_DECISION_BYTES = 64 * 2**20  # bytes of one decision


@dataclass(frozen=True)
class Failure:
    """A call that was paid for and gave nothing usable; `message` names the row and says what happened."""

    status: Status
    message: str
    cause: BaseException | None = field(default=None, compare=False)  # only where it happened in this process

    def __post_init__(self) -> None:
        object.__setattr__(self, "message", plain(self.message))  # it may come from anywhere, and ends in a terminal

    def __reduce__(self) -> tuple[object, ...]:
        return Failure, (self.status, self.message)  # an exception of the user's may not survive the way


@dataclass(frozen=True, kw_only=True)
class Resources:
    """Limits of an execution; one that cannot enforce a limit refuses to start."""

    workers: int = 1  # solves side by side
    time_limit: float | None = None  # seconds per solve
    memory_limit: int | None = None  # bytes that a worker may take beyond what it holds with the problem loaded


class Answers(NamedTuple):
    """Answers to some of the requested rows, as they land."""

    at: Array  # (k,) positions among the requested rows
    values: list[Any]  # decisions or costs, or a Failure in their place
    seconds: list[float]  # inside the user's function, each; over all attempts
    attempts: Sequence[int] = ()  # how many each took; empty: one


OnSend = Callable[[int], None]


def no_charge(rows: int) -> None:
    """An `on_send` for calls that are free of charge."""


class Execution(Protocol):
    """Runs `solve` and `cost` on rows; every row is called once, and answered by a value or a Failure, in any order.

    Answers are yielded as they land, so that paid calls are recorded before the others have ended. The caller may stop
    early (`close` of the iterator): rows in work are then given up. One request runs at a time. After `close` no worker
    is left running; a new request starts new ones. `fewsolves.testing.check_execution` checks all of this. `seeds` are
    given for a noisy cost alone, and go to a cost function that has an argument of that name.

    An execution whose `solve` has a third argument `hints`, a list of decisions or None, gets them for a solver that
    takes one, or whose factory may make one that does.

    A call is charged before it begins. An execution with an attribute `on_send`, a function, calls it with the number
    of rows that are about to be called; without it, all rows of a request are charged when the request is made.

    The caller may want no more rows, without losing the calls under way. An execution with workers has
    `finish(seconds)`: it calls no further row, and the answers end when the calls under way have landed, or after
    `seconds`; and it calls `on_wait`, a function, at least once per second while it waits.
    """

    def solve(self, rows: Array, y_hat: Array) -> Iterator[Answers]: ...
    def cost(self, rows: Array, y: Array, z: Sequence[Array], seeds: Array | None = None) -> Iterator[Answers]: ...
    def close(self) -> None: ...


def some(column: Any, at: Array) -> Any:
    """Some entries of an array or of a list of decisions; `at` is ascending, so it may be all."""
    if len(at) == len(column):
        return column
    return column[at] if isinstance(column, np.ndarray) else [column[k] for k in at]
