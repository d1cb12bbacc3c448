"""Prediction-focused learning: maximum likelihood of y under a Gaussian of fixed variance; no solve at all."""

from __future__ import annotations

import torch
from torch import Tensor

from fewsolves.data import Scale
from fewsolves.methods.base import START_EPOCHS, WARM_START, Context, Demand, Loss, Outcome, Trainer
from fewsolves.problem import Array
from fewsolves.settings import setting, settings


class PFLLoss(Loss):
    """Mean squared error in units of each parameter's standard deviation."""

    Y: Tensor
    scale: Tensor

    def __init__(self, Y: Array, weights: Array | None = None) -> None:
        """`weights` (M,) of the rows, 1 on average; None: all alike."""
        super().__init__()
        self.weights = None if weights is None else torch.as_tensor(weights)[:, None]
        self.register_buffer("Y", torch.as_tensor(Y))
        self.register_buffer("scale", torch.as_tensor(Scale.of(Y).std))
        self._Y, self._scale = self.Y.numpy(), self.scale.numpy()  # the same memory

    def forward(self, y_hat: Tensor, index: Tensor) -> Tensor:
        squares = ((y_hat - self.Y[index]) / self.scale).square()
        return squares.mean() if self.weights is None else (self.weights[index] * squares).mean()

    def with_slope(self, y_hat: Tensor, index: Tensor) -> tuple[float, Tensor]:
        off = y_hat.numpy() - self._Y[index.numpy()]  # so small, NumPy's operations take a fraction of torch's
        off /= self._scale
        squares, share = torch.from_numpy(off).square(), 1.0 / off.size
        if self.weights is not None:
            squares, share = self.weights[index] * squares, share * self.weights[index].numpy()
        return float(squares.mean()), torch.from_numpy(share * (2 * off) / self._scale)


@settings
class PFLConfig:
    """Settings of prediction-focused learning."""

    warm_start: bool | None = setting(WARM_START, default=None)
    start_epochs: int | None = setting(START_EPOCHS, default=None, least=0)


class PFL(Trainer):
    """The start itself is the result."""

    name = "pfl"
    summary = "prediction-focused: maximum likelihood, no solve; where every other method starts"
    common = PFLConfig()
    looks_at_regret = False

    def train(self, context: Context) -> Outcome:
        assert context.started is not None
        return context.started

    def demand(self, n_y: int) -> Demand:
        return Demand(training_rows=False)


METHOD = PFL()
