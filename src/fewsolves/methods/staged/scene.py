"""What all stages look at: the training rows, their units, and what calls cost.

n, d     training rows, parameters           i  (B,)     positions in the rows
u        (B, d)  predictions in standard deviations of each parameter, from its mean: y_hat = mean + std u; where the
                 start predicts well, std is a part of the standard deviation
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from fewsolves.data import Scale
from fewsolves.oracle import Evaluation, Oracle
from fewsolves.predictors.predictor import Predictor
from fewsolves.problem import Array

UNKNOWN = 0.4  # of a standard deviation: a start whose errors are as large needs no smaller unit
LEAST = 0.01


@dataclass
class Scene:
    """The training rows of one run."""

    oracle: Oracle
    X: Tensor  # (n, n_x)
    rng: np.random.Generator
    weights: Array | None = None  # (n,) of the rows, 1 on average; None: all alike

    def __post_init__(self) -> None:
        self.scale = Scale.of(self.oracle.Y)
        self.n, self.d = self.oracle.Y.shape
        self.std = torch.as_tensor(self.scale.std)
        self.narrow = 1.0  # the unit, in standard deviations of each parameter

    def measure(self, y_hat: Array) -> None:
        """Take smaller units where the start, with these predictions (n, d), is much nearer to the truth than that.

        A draw, a step and a shift should be as long as what is unknown, not as what varies.
        """
        unknown = np.median((y_hat - self.oracle.Y).std(axis=0) / self.scale.std)
        self.narrow = float(np.clip(unknown / UNKNOWN, LEAST, 1.0))
        self.scale = Scale(self.scale.mean, self.narrow * self.scale.std)
        self.std = torch.as_tensor(self.scale.std)

    def units(self, y: Array) -> Array:
        """u of parameters in the user's units."""
        return np.asarray((y - self.scale.mean) / self.scale.std)

    def raw(self, u: Array) -> Array:
        """Parameters in the user's units."""
        return np.asarray(self.scale.mean + self.scale.std * u)

    def predictions(self, predictor: Predictor, index: Array | None = None) -> Array:
        """u (B, d) of some rows, or of all."""
        with torch.no_grad():
            y_hat = predictor(self.X if index is None else self.X[torch.as_tensor(index)])
        return self.units(y_hat.numpy())

    def weighted(self, values: Array, index: Array) -> Array:
        """Values (B, ...) of some rows, each times the weight of its row."""
        if self.weights is None:
            return values
        return np.asarray(values * self.weights[index].reshape(-1, *[1] * (values.ndim - 1)))

    def pay(self, index: Array, u: Array) -> Evaluation:
        """Solve at u for these rows: regrets (B,), NaN where a solve failed, and decisions."""
        return self.oracle.evaluate(index, self.raw(u), phase="online")

    @property
    def paid(self) -> float:
        """Training solves per row so far."""
        return float(self.oracle.calls.training("solve") / self.n)
