"""Validation readings for early stopping: the regret on rows that are not trained on, paid only where it can matter.

A reading costs one solve per validation row. A hundred rows read in each of two hundred epochs would cost more than
the training of a method that is sparing with solves. So a reading waits until the predictions have moved, and until
all readings together cost less than `validation_share` of the training solves.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from fewsolves.data import Scale
from fewsolves.errors import BudgetSpent, SolverError
from fewsolves.methods.loss import ArrayLoss
from fewsolves.methods.reading import Reading
from fewsolves.oracle import Oracle
from fewsolves.predictors.predictor import Predictor
from fewsolves.problem import Array


class Monitor(Protocol):
    """Reads the predictor, or returns None if a reading is not worth its price now."""

    def __call__(self, predictor: Predictor, *, final: bool = False) -> Reading | None: ...


class LossMonitor:
    """The prediction loss on validation rows; costs nothing."""

    def __init__(self, loss: ArrayLoss, X: Array) -> None:
        self.loss, self.X, self.index = loss, X, np.arange(len(X))

    def __call__(self, predictor: Predictor, *, final: bool = False) -> Reading:
        return Reading(np.array([self.loss.value(predictor(self.X), self.index)]))


class RegretMonitor:
    """The regret on validation rows.

    `share` bounds the solves of all readings by that multiple of the training solves so far (None: read always);
    `move` is how far the predictions must have moved since the last reading, in standard deviations of Y.
    With a budget, the last reading that it allows is kept for the end. `weights` (n,) of the rows are 1 on average.
    """

    def __init__(
        self, oracle: Oracle, X: Array, *, share: float | None, move: float, weights: Array | None = None
    ) -> None:
        self.oracle, self.X, self.share, self.move, self.weights = oracle, X, share, move, weights
        self.scale = Scale.of(oracle.Y).std
        self._read_at: Array | None = None
        self._spent = 0

    def __call__(self, predictor: Predictor, *, final: bool = False) -> Reading | None:
        y_hat = predictor(self.X)
        if self._read_at is not None and not self._worth(y_hat, final):
            return None
        before = self.oracle.calls.counts["solve"]["validation"]
        try:
            regret = self.oracle.regret(np.arange(len(self.oracle)), y_hat, phase="validation")
        except BudgetSpent:
            if self._read_at is None:
                raise
            return None
        self._spent += self.oracle.calls.counts["solve"]["validation"] - before
        self._read_at = y_hat
        if np.isnan(regret).all():
            last = self.oracle.failures.failed[-1]
            raise SolverError(f"all solves of a validation reading failed; last error: {last.message}", row=last.row)
        return Reading(regret if self.weights is None else self.weights * regret)

    def state(self) -> tuple[Array | None, int]:
        """The predictions of the last reading, and what all readings cost: for a checkpoint."""
        return self._read_at, self._spent

    def restore(self, read_at: Array | None, spent: int) -> None:
        """Restore a saved state."""
        self._read_at, self._spent = read_at, spent

    def _worth(self, y_hat: Array, final: bool) -> bool:
        moved = np.sqrt((((y_hat - self._read_at) / self.scale) ** 2).mean())
        worth = moved > 0
        if self.share is not None:
            in_proportion = self._spent + len(y_hat) <= self.share * self.oracle.calls.training()
            worth = in_proportion and (moved > self.move or (final and moved > 0))
        return bool(worth) and self.oracle.budget_left.fits("validation", len(y_hat) if final else 2 * len(y_hat))
