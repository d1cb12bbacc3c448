"""Gradient steps: mini-batches and Adam.

A step whose loss or gradient is not finite, or whose predictions are far off any table, is not taken, so nothing has
to be undone: the weights and the optimiser stay at the last good step. The first time the learning rate is halved, the
second time training ends.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator

import numpy as np

from fewsolves._internal.adam import Adam
from fewsolves.data import MAX_ABS
from fewsolves.methods.base import TrainConfig
from fewsolves.methods.loss import ArrayLoss
from fewsolves.predictors.boosted.trees import rounds_of
from fewsolves.predictors.predictor import Predictor, unit_step
from fewsolves.problem import Array

ROUND = 10.0  # a boosting round changes predictions by this many learning rates, in standard deviations of y


class Steps:
    """The gradient steps of `predictor` and of the loss's own parameters; `kept` follows as their mean."""

    def __init__(
        self,
        predictor: Predictor,
        loss: ArrayLoss,
        X: Array,
        config: TrainConfig,
        rng: np.random.Generator,
        weights: Array | None = None,
    ) -> None:
        """`weights` (M,) multiply the slope of each row: every loss is a mean over rows."""
        self.predictor, self.loss, self.X, self.config, self.rng = predictor, loss, X, config, rng
        self.rounds = rounds_of(predictor, X)
        self.kept = copy.deepcopy(predictor) if config.averaging and self.rounds is None else predictor
        self.learning_rate = config.learning_rate * unit_step(predictor, X)
        self.optimiser = Adam([*predictor.weights(), *loss.trained()], self.learning_rate)
        self.weight = 1.0 / (config.averaging * -(-len(X) // config.batch_size) + 1.0)
        self.refused: list[str] = []  # what was not finite
        self.row_weights = None if weights is None else weights[:, None]

    @property
    def rows_per_epoch(self) -> int:
        """Examples that an epoch sees."""
        steps, size = self.config.steps_per_epoch, self.config.batch_size
        return len(self.X) if steps is None else min(len(self.X), steps * size)

    def predict(self) -> Array:
        """The predictions (M, n_y) for all rows."""
        y_hat: Array = self.predictor(self.X)
        return y_hat

    def fault(self, epoch: int) -> str | None:
        """Why training cannot go on after this epoch, or None where it can."""
        if len(self.refused) > 1:
            return self.refused[-1]
        return None if usable(self.predict()) else f"predictions were not usable numbers after epoch {epoch}"

    def epoch(self, number: int) -> float:
        """The mean loss of the steps that were taken; ends early at the second that is refused."""
        total, seen = 0.0, 0
        for index in _batches(len(self.X), self.config, self.rng):
            value, fault = self._step(index)
            if fault is None:
                total, seen = total + value * len(index), seen + len(index)
                continue
            self.refused.append(f"{fault} in epoch {number} and that step was not taken")
            if len(self.refused) > 1:
                break
            self.optimiser.learning_rate /= 2
            self.refused[0] += f"; the learning rate was halved to {self.learning_rate / 2:g}"
        if self.rounds is not None:
            self.rounds.grow(ROUND * self.optimiser.learning_rate)
        return total / seen if seen else float("nan")

    def _step(self, index: Array) -> tuple[float, str | None]:
        """The loss, and why the step was not taken, or None where it was."""
        y_hat, kept = self.predictor.forward(self.X[index])
        if not usable(y_hat):  # before a solver sees it
            return float("nan"), "a prediction was not a usable number"
        value, slope = self.loss.with_slope(y_hat, index)
        if not math.isfinite(value):
            return value, f"the loss was {value}"
        if slope is not None and self.row_weights is not None:
            slope = self.row_weights[index] * slope
        of_predictor = [None] * len(self.predictor.weights()) if slope is None else self.predictor.backward(slope, kept)
        gradients = [*of_predictor, *self.loss.trained_slopes()]
        if not all(one is None or _finite(one) for one in gradients):
            return value, "the gradient was not finite"
        self.optimiser.step(gradients)
        if self.rounds is not None and slope is not None:
            self.rounds.note(index, len(index) * slope)
        if self.kept is not self.predictor:
            for mean, latest in zip(self.kept.weights(), self.predictor.weights(), strict=True):
                mean += self.weight * (latest - mean)
        return value, None


def usable(y_hat: Array) -> bool:
    """Whether predictions are numbers of a size that a table may have."""
    if np.vdot(y_hat, y_hat) <= MAX_ABS**2:  # then each of them is
        return True
    return bool(y_hat.min() >= -MAX_ABS and y_hat.max() <= MAX_ABS)  # both false for NaN


def _finite(gradient: Array) -> bool:
    """Of large ones the square may be infinite, too."""
    return math.isfinite(np.vdot(gradient, gradient)) or bool(np.isfinite(gradient).all())


def _batches(n: int, config: TrainConfig, rng: np.random.Generator) -> Iterator[Array]:
    """The rows of one epoch: in a random order, reshuffled if an epoch is longer than a pass."""
    in_a_pass = -(-n // config.batch_size)
    left = config.steps_per_epoch or in_a_pass
    while left > 0:
        order = rng.permutation(n)
        for first in range(0, min(left, in_a_pass) * config.batch_size, config.batch_size):
            yield order[first : first + config.batch_size]
        left -= in_a_pass
