"""Hints: the known decision at the nearest parameters, for a solver that takes a start from outside.

P  (N, n_y)   parameters of the latest N solves        s  (n_y,)  their standard deviations, by which columns compare

The hint of a solve at y_hat is the decision of the solve k with the least |(y_hat - P_k) / s|. With known data by row,
only the solves of the same row are candidates, since the decision of another row may have another form. Hints follow
from the requests before this one, in their order, and not from the order in which workers answer. So a run is the same
with any number of workers, for a solver whose answer depends on its start too.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

import numpy as np

from fewsolves.execution.base import Execution, some
from fewsolves.ledger.decision import PackedDecision
from fewsolves.oracle.batch import Batch
from fewsolves.problem import Array, Problem

MOST = 1024  # solves that are remembered: looking through them takes less than 0.1 ms
FIRST = 64  # labels that are solved before the others, which then have hints


class Hints:
    """The latest solves of a run; nothing is kept for a solver, or an execution, that takes no hints."""

    def __init__(self, problem: Problem, execution: Execution) -> None:
        takes = problem.takes_hint or problem.factory is not None
        self.wanted = takes and "hints" in inspect.signature(execution.solve).parameters
        self._by_row = problem.instances is not None
        self._rows = np.empty(0, dtype=int)
        self._points: Array | None = None
        self._decisions: list[PackedDecision] = []

    def split(self, batch: Batch) -> list[Batch]:
        """The batch, or the first labels of a run and the others."""
        if not self.wanted or self._by_row or self._decisions or batch.phase != "labels" or len(batch) <= FIRST:
            return [batch]
        return [batch.part(at) for at in np.split(np.arange(len(batch)), [FIRST])]

    def learn(self, batch: Batch, answers: Sequence[Any]) -> None:
        """Remember the decisions of a batch of solves."""
        if not self.wanted or batch.kind != "solve":
            return
        solved = np.array([k for k, z in enumerate(answers) if isinstance(z, PackedDecision)], dtype=int)[-MOST:]
        points = batch.y[solved] if self._points is None else np.concatenate([self._points, batch.y[solved]])
        self._points = points[-MOST:]
        self._rows = np.concatenate([self._rows, batch.rows[solved]])[-MOST:]
        self._decisions = [*self._decisions, *some(list(answers), solved)][-MOST:]

    def columns(self, batch: Batch) -> tuple[Any, ...]:
        """A column of hints for a batch of solves, None where there is none; no column where none are wanted."""
        if not self.wanted or batch.kind != "solve":
            return ()
        if self._points is None or not self._decisions:
            return ([None] * len(batch),)
        scale = self._points.std(axis=0)
        scale[scale == 0.0] = 1.0
        known, here = self._points / scale, batch.y / scale
        distance = (known**2).sum(axis=1) - 2.0 * (here @ known.T)
        if self._by_row:
            distance = np.where(batch.rows[:, None] == self._rows, distance, np.inf)
        nearest, found = distance.argmin(axis=1), np.isfinite(distance.min(axis=1))
        hints = zip(nearest.tolist(), found.tolist(), strict=True)
        return ([self._decisions[k].argument() if any_ else None for k, any_ in hints],)
