"""One look at the surrogate for the rows of a step: its std is for the gate, and where all are trusted also the loss.

    u (B, d)        predictions in standardised units        m, s (B,)  posterior mean and std of the regret there
    least (B,)      the least regret seen of each row        m' = m, or least where m + s is below it (`sober`)

    loss = sum(m' + pessimism s) / B        dloss/du = ([m' is m] dm/du + pessimism ds/du) / B

Most steps pay for no solve. Then a node of autograd for each of these operations takes longer than the operations;
here they are one. Of arrays as small as these, NumPy's operations take a fraction of torch's. The numbers are the same,
to the last bit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from fewsolves.methods.gp_surrogate.surrogate.regret import RegretSurrogate
from fewsolves.problem import Array

if TYPE_CHECKING:
    from fewsolves.methods.gp_surrogate.config import GPSurrogateConfig


class _WithSlope(torch.autograd.Function):
    """A number whose slope (B, n_y) is known already."""

    @staticmethod
    def forward(ctx: Any, y_hat: Tensor, value: float, slope: Tensor) -> Tensor:
        ctx.save_for_backward(slope)
        return torch.tensor(value, dtype=torch.float64)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, by_value: Tensor) -> tuple[Tensor, None, None]:
        return by_value * ctx.saved_tensors[0], None, None


class Looked:
    """Posterior mean and std of `rows` at u, with or without slopes."""

    def __init__(self, u: Array, rows: Array, surrogate: RegretSurrogate, *, slopes: bool) -> None:
        self.surrogate, self.rows = surrogate, rows
        queries = np.ascontiguousarray(u / surrogate.units)
        self.mean, self.std, self.slopes = surrogate.gps.evaluated(queries, rows, slopes=slopes)

    def loss(self, y_hat: Tensor, scale: Array, config: GPSurrogateConfig) -> Tensor:
        """The mean over the rows, differentiable in y_hat = scale u."""
        value, slope = self.with_slope(scale, config)
        total: Tensor = _WithSlope.apply(y_hat, value, slope.to(y_hat.dtype))  # type: ignore[no-untyped-call]
        return total

    def with_slope(self, scale: Array, config: GPSurrogateConfig) -> tuple[float, Tensor]:
        """The same, and its slope by y_hat."""
        share, mean, std = 1.0 / len(self.rows), self.mean, self.std
        by_mean: Array | float = 1.0
        if config.sober:
            least = self.surrogate.least[self.rows]
            known = mean + std > least
            mean, by_mean = np.where(known, mean, least), known[:, None]
        value = float(torch.from_numpy(mean + config.pessimism * std).sum()) / len(mean)
        slope = self.slopes[:, 0] * (share * by_mean)
        total = torch.from_numpy(slope)  # the same memory
        total.add_(torch.from_numpy(self.slopes)[:, 1], alpha=share * config.pessimism)  # rounded once, as by autograd
        slope /= self.surrogate.units
        slope /= scale
        return value, total
