"""What a former run over the first rows of a grown table has paid for: its rows cost nothing twice.

With a ledger all of it is on record. Without one it is what the former run remembered, and the points that its method
learned from.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from fewsolves.oracle.memory import Memory
from fewsolves.problem import Array


class PaidPoints(NamedTuple):
    """N evaluations that a method learned from."""

    rows: Array  # (N,) of the table; told by a loss, positions in its training rows
    y_hat: Array  # (N, n_y)
    regret: Array  # (N,)


@dataclass(frozen=True)
class FormerRun:
    """What it knew, where no ledger tells it."""

    n_rows: int  # of its table, which are the first of this one
    memory: Memory | None = None
    points: PaidPoints | None = None
