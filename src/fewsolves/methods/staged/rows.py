"""The rows that the default learns from, in its own units, and what it has paid for them.

n, d     rows, parameters                    i  (B,)     positions in the rows
u        (B, d)  predictions in units of each parameter, from its mean: y_hat = mean + std u; where the start predicts
                 well, std is a part of the standard deviation, so that a draw is as long as what is unknown
"""

from __future__ import annotations

import numpy as np

from fewsolves.data import Scale
from fewsolves.execution.base import Phase
from fewsolves.oracle import Evaluation, Oracle
from fewsolves.problem import Array

UNKNOWN, SMALLEST = (
    0.4,
    0.01,
)  # errors of the start, in standard deviations of y, below which units shrink; and the least


class TrainingRows:
    """The rows of one run; `weights` (n,) are 1 on average, None: all alike."""

    def __init__(self, oracle: Oracle, rng: np.random.Generator, weights: Array | None = None) -> None:
        self.oracle, self.rng, self.weights = oracle, rng, weights
        self.n, self.d = oracle.Y.shape
        self.scale = Scale.of(oracle.Y)
        self.narrow = 1.0  # the unit, in standard deviations of each parameter
        self.paid = 0  # solves after the labels

    def shrink_units(self, y_hat: Array) -> None:
        """Take smaller units where these predictions (n, d) of unseen rows are much nearer to the truth than that."""
        known = ~np.isnan(y_hat).any(axis=1)
        error = np.median((y_hat - self.oracle.Y)[known].std(axis=0) / self.scale.std)
        self.narrow = float(np.clip(error / UNKNOWN, SMALLEST, 1.0))
        self.scale = Scale(self.scale.mean, self.narrow * self.scale.std)

    def units(self, y: Array) -> Array:
        """u of parameters in the user's units."""
        return np.asarray((y - self.scale.mean) / self.scale.std)

    def raw(self, u: Array) -> Array:
        """Parameters in the user's units."""
        return np.asarray(self.scale.mean + self.scale.std * u)

    def weighted(self, values: Array, index: Array) -> Array:
        """Values (B, ...) of some rows, each times the weight of its row."""
        if self.weights is None:
            return values
        return np.asarray(values * self.weights[index].reshape(-1, *[1] * (values.ndim - 1)))

    def pay(self, index: Array, u: Array, phase: Phase = "online") -> Evaluation:
        """Solve at u for these rows: regrets (B,), NaN where a solve failed, and decisions."""
        paid = self.oracle.evaluate(index, self.raw(u), phase=phase)
        self.paid += len(index)
        return paid
