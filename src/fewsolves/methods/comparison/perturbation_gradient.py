"""Perturbation gradient (Huang and Gupta): the cost of a decision as the slope of the solver's own optimal value.

c, c_hat (B, d)   true and predicted costs, in the sense that is minimised (`methods.linear`)
V(c_hat) = min_z c_hat' z      its slope along c is c' z*(c_hat): the true cost of the decision at c_hat (Danskin)

    backward   (V(c_hat) - V(c_hat - h c)) / h            an upper bound of that cost, as V is concave
    central    (V(c_hat + h c) - V(c_hat - h c)) / (2 h)

and minus c' z*(c), so that the loss is a regret.
"""

from __future__ import annotations

from typing import Literal

from torch import Tensor

from fewsolves.methods.base import Context
from fewsolves.methods.linear import LinearTrainer
from fewsolves.methods.torch_linear import LinearLoss
from fewsolves.oracle import Oracle
from fewsolves.settings import setting, settings


@settings
class PerturbationGradientConfig:
    """Settings of the perturbation gradient."""

    width: float = setting("h: how far to look along the true costs", default=0.1, above=0)
    difference: Literal["backward", "central"] = setting("which difference quotient is taken", default="backward")


class PerturbationGradientLoss(LinearLoss):
    """Two solves per example and step."""

    def __init__(self, oracle: Oracle, config: PerturbationGradientConfig) -> None:
        super().__init__(oracle)
        self.config = config

    def forward(self, y_hat: Tensor, index: Tensor) -> Tensor:
        c, z = self.truth(index)
        c_hat, h = self.sign * y_hat, self.config.width
        ahead = h if self.config.difference == "central" else 0.0
        high, low = c_hat + ahead * c, c_hat - h * c
        (z_high, known_high), (z_low, known_low) = self.decide(high, index), self.decide(low, index)
        slope = (high * z_high - low * z_low).sum(-1) / (h + ahead)
        return self.mean(slope - (c * z).sum(-1), known_high & known_low, index)


class PerturbationGradient(LinearTrainer):
    """Minimises `PerturbationGradientLoss`."""

    name = "pg"
    summary = (
        "slope of the solver's optimal value along the truth; linear objectives only, two solves per row and epoch"
    )
    settings = PerturbationGradientConfig()

    def loss(self, context: Context) -> PerturbationGradientLoss:
        return PerturbationGradientLoss(context.train_oracle, self.settings)


METHOD = PerturbationGradient()
