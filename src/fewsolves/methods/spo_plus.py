"""SPO+ (Elmachtoub and Grigas): a convex upper bound of the regret of a linear objective over a fixed set.

c, c_hat (B, d)   true and predicted costs, in the sense that is minimised (`methods.linear`)

    loss_i    = max_z (c - 2 c_hat)' z + 2 c_hat' z*(c) - c' z*(c) = (2 c_hat - c)' (z*(c) - z*(2 c_hat - c)) >= regret
    gradient  2 (z*(c) - z*(2 c_hat - c))  with respect to c_hat
"""

from __future__ import annotations

from torch import Tensor

from fewsolves.methods.base import Context
from fewsolves.methods.linear import LinearLoss, LinearTrainer, mean


class SPOPlusLoss(LinearLoss):
    """One solve per example and step, at 2 y_hat - y."""

    def forward(self, y_hat: Tensor, index: Tensor) -> Tensor:
        c, z = self.truth(index)
        spread = 2 * self.sign * y_hat - c
        decisions, known = self.decide(spread, index)
        return mean((spread * (z - decisions)).sum(-1), known)


class SPOPlus(LinearTrainer):
    """Starts from random weights, as published."""

    name = "spo+"
    summary = "convex bound of the regret; linear objectives only, one solve per example and epoch"

    def loss(self, context: Context) -> SPOPlusLoss:
        return SPOPlusLoss(context.train_oracle)

    def starts_warm(self) -> bool:
        return False


METHOD = SPOPlus()
