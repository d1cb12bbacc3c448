"""A batch: calls of one kind that are requested together, with the identity of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fewsolves.execution.base import Kind, Phase, some
from fewsolves.ledger.decision import PackedDecision
from fewsolves.problem import Array

Drawn = tuple[Array, Array]  # centre (B, n_y) and standard deviation (n_y,) or (B, n_y) of a Normal, in the units of y


@dataclass(frozen=True)
class Batch:
    """B calls of one kind that are requested together."""

    kind: Kind
    phase: Phase
    rows: Array  # (B,) in the user's table
    keys: Sequence[bytes]
    y: Array  # (B, n_y) of a solve the prediction, of a cost call the truth
    drawn: Drawn | None = None  # of a solve: the distribution that y was drawn from
    decisions: Sequence[PackedDecision] | None = None  # of a cost call
    solved_by: Sequence[bytes] | None = None  # of a cost call: the keys of the solves that led to the decisions
    seeds: Array | None = None  # of a noisy cost
    repeats: bool = True  # the same question has the same answer

    def __len__(self) -> int:
        return len(self.rows)

    def part(self, at: Array) -> Batch:
        """Some of the calls; `at` is ascending."""
        drawn = self.drawn
        if drawn is not None:
            drawn = drawn[0][at], np.broadcast_to(drawn[1], drawn[0].shape)[at]
        rows, keys, y = (some(column, at) for column in (self.rows, self.keys, self.y))
        decisions = None if self.decisions is None else some(self.decisions, at)
        solved_by = None if self.solved_by is None else some(self.solved_by, at)
        seeds = None if self.seeds is None else some(self.seeds, at)
        return Batch(self.kind, self.phase, rows, keys, y, drawn, decisions, solved_by, seeds, self.repeats)

    def arguments(self) -> tuple[Any, ...]:
        """The columns of the user's function."""
        if self.decisions is None:
            return (self.y,)
        seeds = () if self.seeds is None else (self.seeds,)
        return self.y, [z.argument() for z in self.decisions], *seeds
