"""Steps without autograd, for the built-in predictors and losses with a closed-form gradient.

In a step of 32 rows, autograd takes most of the time. This module makes the same computations in the same order, by
the same kernels of torch, so the numbers are equal to the last bit.
"""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor, float64

from fewsolves._internal import dense
from fewsolves.methods.base import Loss
from fewsolves.predictors.predictor import Predictor


class Direct:
    """Predictions of rows of X, and the gradients of all layers from the slope by the last ones."""

    def __init__(self, predictor: Predictor, layers: list[Tensor], X: Tensor) -> None:
        self.layers, self.y_mean, self.y_std = layers, predictor.y_mean, predictor.y_std
        self._gradient = torch.empty(sum(layer.numel() for layer in layers), dtype=float64)
        self._numbers = self._gradient.numpy()  # the same memory
        parts = self._gradient.split([layer.numel() for layer in layers])
        self._slopes = [part.view_as(layer) for part, layer in zip(parts, layers, strict=True)]  # the same memory
        self.u = (X.double() - predictor.x_mean) / predictor.x_std

    @classmethod
    def of(cls, predictor: Predictor, X: Tensor) -> Direct | None:
        """None where the predictor is another, has bounds, or is trained in part."""
        layers = predictor.dense_layers
        if layers is None or predictor.bounds is not None:
            return None
        usual = all(layer.requires_grad and layer.dtype == float64 for layer in layers) and X.ndim == 2
        return cls(predictor, layers, X) if usual else None

    def predict(self, index: Tensor) -> Tensor:
        """y_hat (B, n_y)."""
        u, self.kept = dense.forward(self.u[index], self.layers)
        return self.y_mean + self.y_std * u

    def back(self, slope: Tensor) -> None:
        """Leave the gradients; `slope` (B, n_y) is that of the loss by what was predicted."""
        dense.backward(slope * self.y_std, self.kept, self._slopes)
        for layer, gradient in zip(self.layers, self._slopes, strict=True):
            layer.grad = gradient

    def finite(self) -> bool:
        """Whether the gradients that `back` left certainly are."""
        return math.isfinite(np.vdot(self._numbers, self._numbers))  # of large ones it is infinite, too


def has_slope(loss: Loss) -> bool:
    """Whether `with_slope` belongs to the loss's own `forward`: a subclass that overrides `forward` alone has none."""
    of = {name: next(one for one in type(loss).__mro__ if name in vars(one)) for name in ("forward", "with_slope")}
    return of["with_slope"] is not Loss and issubclass(of["with_slope"], of["forward"])
