"""Solve and cost of many rows at a time; a single call is a batch of one row.

Y_hat, Y  (B, n_y)     Z  (B, ...) decisions     known  B entries: known data of the rows, where a problem has any
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from fewsolves.problem import Array, Problem


class Batched(ABC):
    """The four functions of a problem, from two."""

    @abstractmethod
    def solve_batch(self, Y_hat: Array, *args: Any, **kwargs: Any) -> Array:
        """(B, n_y) and known data to B decisions."""

    @abstractmethod
    def cost_batch(self, Y: Array, Z: Array, *args: Any, **kwargs: Any) -> Array:
        """(B,)"""

    def solve(self, y_hat: Array, *known: Any) -> Array:
        z: Array = self.solve_batch(np.asarray(y_hat)[None], *([one] for one in known))[0]
        return z

    def cost(self, y: Array, z: Array, *known: Any) -> float:
        return float(self.cost_batch(np.asarray(y)[None], np.asarray(z)[None], *([one] for one in known))[0])

    def problem(self, **facts: Any) -> Problem:
        """`facts` are the other fields of the problem."""
        return Problem(
            solve=self.solve, cost=self.cost, solve_batch=self.solve_batch, cost_batch=self.cost_batch, **facts
        )
