"""Perturbed Fenchel-Young loss (Berthet et al.): imitate z*(y) with the decisions of a solver that sees noisy costs.

c, c_hat (B, d)   true and predicted costs, in the sense that is minimised (`methods.linear`)
xi_m     (B, d)   standard normal, M draws        s (d,)  standard deviation of each cost

    z_m   = z*(c_hat + sigma s xi_m)
    loss  = c_hat' z*(c) - mean_m (c_hat + sigma s xi_m)' z_m       convex, gradient z*(c) - mean_m z_m

In expectation over xi it is least where the mean decision is z*(c).
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from fewsolves.methods.base import Context
from fewsolves.methods.linear import LinearTrainer
from fewsolves.methods.torch_linear import LinearLoss
from fewsolves.oracle import Oracle
from fewsolves.settings import setting, settings


@settings
class PerturbedFYConfig:
    """Settings of the perturbed Fenchel-Young loss."""

    sigma: float = setting("standard deviation of the noise, in units of each parameter's own", default=0.5, above=0)
    samples: int = setting("draws, and so solves, per row and step", default=1, least=1)


class PerturbedFYLoss(LinearLoss):
    """`samples` solves per example and step."""

    def __init__(self, oracle: Oracle, config: PerturbedFYConfig, rng: np.random.Generator) -> None:
        super().__init__(oracle)
        self.config = config
        self.rng: np.random.Generator = rng

    def forward(self, y_hat: Tensor, index: Tensor) -> Tensor:
        _, z = self.truth(index)
        c_hat = self.sign * y_hat
        noise = torch.as_tensor(self.rng.standard_normal((self.config.samples, *y_hat.shape)))
        noisy = c_hat + self.config.sigma * self.scale * noise
        decided = [(point, *self.decide(point, index)) for point in noisy]
        reached = torch.stack([(point * decisions).sum(-1) for point, decisions, _ in decided]).mean(0)
        known = torch.stack([known for *_, known in decided]).all(0)
        return self.mean((c_hat * z).sum(-1) - reached, known, index)


class PerturbedFY(LinearTrainer):
    """Minimises `PerturbedFYLoss`."""

    name = "perturbed-fy"
    summary = "imitates the best decision under noisy costs; linear objectives only, one solve per row and epoch"
    settings = PerturbedFYConfig()

    def loss(self, context: Context) -> PerturbedFYLoss:
        return PerturbedFYLoss(context.train_oracle, self.settings, context.rng)


METHOD = PerturbedFY()
