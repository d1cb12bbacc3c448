"""How the user's functions are run: here (`Serial`), in worker processes (`oracle.workers`), or on a Ray cluster
(`oracle.cluster`). All give the same answers.

An execution sees rows of the table, never the training. Answers are handed on as they land, so that what was paid is
on record before the rest is there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import numpy as np

from fewsolves.oracle.answers import Answers
from fewsolves.oracle.calling import all_at_once, decision, number, one_by_one
from fewsolves.problem import Array, Problem

HAND_ON = 0.05  # seconds after which answers are handed on, where the user's function is called row by row


class Execution(Protocol):
    """Runs `solve` and `cost` on rows; every row is answered once, by a value or a Failure, in any order."""

    def solve(self, rows: Array, y_hat: Array) -> Iterator[Answers]: ...
    def cost(self, rows: Array, y: Array, z: Sequence[Array]) -> Iterator[Answers]: ...
    def close(self) -> None: ...


class Serial:
    """In this process, in order; by the batched form where the problem has one."""

    def __init__(self, problem: Problem, hand_on: float = HAND_ON) -> None:
        self.problem, self.hand_on = problem, hand_on

    def load(self) -> Problem:
        """The problem with its functions, which a factory makes once."""
        if self.problem.factory is not None:
            self.problem = self.problem.build()
        return self.problem

    def solve(self, rows: Array, y_hat: Array) -> Iterator[Answers]:
        problem = self.load()
        columns = (y_hat, *self._known(rows))
        if problem.solve_batch is not None:
            return all_at_once("solve_batch", problem.solve_batch, rows, columns, decision)
        assert problem.solve is not None
        return one_by_one("solve", problem.solve, rows, columns, decision, self.hand_on)

    def cost(self, rows: Array, y: Array, z: Sequence[Array]) -> Iterator[Answers]:
        problem, known = self.load(), self._known(rows)
        if problem.cost_batch is not None:
            same = len({one.shape for one in z}) == 1
            decisions = np.stack(list(z)) if same else list(z)
            return all_at_once("cost_batch", problem.cost_batch, rows, (y, decisions, *known), number)
        assert problem.cost is not None
        return one_by_one("cost", problem.cost, rows, (y, z, *known), number, self.hand_on)

    def close(self) -> None:
        pass

    def _known(self, rows: Array) -> tuple[list[Any], ...]:
        instances = self.problem.instances
        return () if instances is None else ([instances[row] for row in rows],)
