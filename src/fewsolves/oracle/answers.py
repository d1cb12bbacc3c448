"""What comes back from the user's functions: a value, or the reason why there is none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from fewsolves.problem import Array

Status = Literal["error", "bad-return", "crash", "timeout", "out-of-memory", "lost"]
"""error: the function raised · bad-return: it returned something unusable · crash: its process died · timeout: it took
longer than allowed · out-of-memory · lost: its process was ended from outside, or its machine went away."""

LONGEST_MESSAGE = 4096  # bytes


@dataclass(frozen=True)
class Failure:
    """A call that was paid for and gave nothing usable; `message` names the row and says what happened."""

    status: Status
    message: str
    cause: BaseException | None = field(default=None, compare=False)  # only where it happened in this process

    def __reduce__(self) -> tuple[object, ...]:
        return Failure, (self.status, self.message)  # an exception of the user's may not survive the way


class Answers(NamedTuple):
    """Some of the rows that were asked for, as they landed."""

    at: Array  # (k,) positions among the rows asked for
    values: list[Any]  # decisions or costs, or a Failure in their place
    seconds: list[float]  # inside the user's function, each; over all attempts
    attempts: Sequence[int] = ()  # how many each took; empty: one
