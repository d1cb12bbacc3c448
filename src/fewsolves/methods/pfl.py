"""Prediction-focused learning: maximum likelihood of y under a Gaussian of fixed variance; no solve at all."""

from __future__ import annotations

import numpy as np

from fewsolves.data import Scale
from fewsolves.methods.base import START_EPOCHS, WARM_START, Context, Demand, Outcome, Trainer
from fewsolves.methods.loss import ArrayLoss
from fewsolves.problem import Array
from fewsolves.settings import setting, settings


class PFLLoss(ArrayLoss):
    """Mean squared error, in units of each parameter's standard deviation or in one unit for all."""

    def __init__(self, Y: Array, weights: Array | None = None, *, one_unit: bool = False) -> None:
        """`weights` (M,) of the rows, 1 on average; None: all alike. `one_unit`: plain squared error."""
        self.Y, self.weights = Y, None if weights is None else weights[:, None]
        std = Scale.of(Y).std
        self.scale = np.full_like(std, np.sqrt(np.mean(std**2))) if one_unit else std

    def with_slope(self, y_hat: Array, index: Array) -> tuple[float, Array]:
        off = (y_hat - self.Y[index]) / self.scale
        weighted = off if self.weights is None else self.weights[index] * off
        return float((weighted * off).mean()), (2.0 / off.size) * weighted / self.scale


@settings
class PFLConfig:
    """Settings of prediction-focused learning."""

    warm_start: bool | None = setting(WARM_START, default=None)
    start_epochs: int | None = setting(START_EPOCHS, default=None, least=0)


class PFL(Trainer):
    """The start itself is the result."""

    name = "pfl"
    summary = "prediction-focused learning: minimises squared error, no solve; the start of most other methods"
    common = PFLConfig()
    looks_at_regret = False

    def train(self, context: Context) -> Outcome:
        assert context.started is not None
        return context.started

    def demand(self, n_y: int) -> Demand:
        return Demand(training_rows=False)


METHOD = PFL()
