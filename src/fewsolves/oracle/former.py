"""Answers that a former run over the first rows of a grown table has paid: they are reused.

With a ledger they are all recorded. Without one they are the memory of the former run, and the points that its method
learned from.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from fewsolves.oracle.memory import Memory
from fewsolves.problem import Array


class PaidPoints(NamedTuple):
    """N evaluations that a method learned from."""

    rows: Array  # (N,) of the table; from a loss, positions in its training rows
    y_hat: Array  # (N, n_y)
    regret: Array  # (N,)


@dataclass(frozen=True)
class FormerRun:
    """The former run's answers, for a run without a ledger."""

    n_rows: int  # of its table, which are the first of this one
    memory: Memory | None = None
    points: PaidPoints | None = None
    relative: bool = False  # the kind of regret of these points
