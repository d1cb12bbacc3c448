"""What every method is: (y_hat, index) -> a scalar whose backward() trains the predictor.

y_hat  (B, n_y)  predictions in the units of Y, differentiable        index (B,)  positions in the training rows
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor, nn

from fewsolves.data import Scale
from fewsolves.oracle import Oracle


class Loss(nn.Module):
    """Base of all methods; a plain prediction loss needs `forward` only."""

    def start(self, y_hat: Tensor) -> None:
        """Once, before the first step, with the predictions (M, n_y) for all training rows."""

    def begin_epoch(self, predict: Callable[[], Tensor]) -> None:
        """Before each epoch; `predict()` gives the predictions for all training rows, without gradient."""

    def trained_parameters(self) -> Iterable[nn.Parameter]:
        """What the loop trains beside the predictor."""
        return self.parameters()

    @property
    def trusted(self) -> float | None:
        """Share of this epoch's examples that needed no solve thanks to a surrogate; None without one."""
        return None

    def finish(self, y_hat: Tensor) -> dict[str, Any]:
        """Once, after training, with the final predictions: what this method has to tell, for result.json."""
        return {}

    def forward(self, y_hat: Tensor, index: Tensor) -> Tensor:
        raise NotImplementedError  # each method is its forward


class OracleLoss(Loss):
    """A loss that pays: it knows the oracle of its training rows and the scale of Y."""

    scale: Tensor

    def __init__(self, oracle: Oracle) -> None:
        super().__init__()
        self.oracle = oracle
        self.register_buffer("scale", torch.as_tensor(Scale.of(oracle.Y).std))
