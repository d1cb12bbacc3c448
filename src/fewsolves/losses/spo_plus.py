"""SPO+ (Elmachtoub and Grigas): a convex upper bound of the regret of a linear objective over a fixed set.

For costs c = y (problem "min") or c = -y ("max"), so that z*(c) minimises c @ z:

    loss_i    = max_z (c - 2 c_hat)' z + 2 c_hat' z*(c) - c' z*(c) = (2 c_hat - c)' (z*(c) - z*(2 c_hat - c)) >= regret
    gradient  2 (z*(c) - z*(2 c_hat - c))  with respect to c_hat
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from fewsolves.losses.base import OracleLoss
from fewsolves.oracle import Oracle
from fewsolves.problem import Array, Problem


def refuse(problem: Problem) -> str | None:
    """Why SPO+ does not fit this problem, or None where it does."""
    if problem.linear:
        return None
    return (
        "it needs an objective y @ z that is linear in the predicted parameters, over a set that they do not change, "
        "with the same true cost. If that holds, say Problem(linear='min') or 'max'; else use 'gp-surrogate' or 'sfge'"
    )


class SPOPlusLoss(OracleLoss):
    """One solve per example and step, at 2 y_hat - y."""

    def __init__(self, oracle: Oracle) -> None:
        super().__init__(oracle)
        self.sign = 1.0 if oracle.problem.linear == "min" else -1.0

    def forward(self, y_hat: Tensor, index: Tensor) -> Tensor:
        rows = index.numpy()
        y = self.oracle.Y[rows]
        spread = 2 * y_hat.detach().numpy() - y
        z_true = _matrix(self.oracle.labels(rows))
        z_spread = _matrix(self.oracle.solve(rows, spread, phase="online"))
        # the solver's answer is constant near y_hat, so autograd through this expression is the subgradient
        c_hat, c = self.sign * y_hat, torch.as_tensor(self.sign * y)
        return ((2 * c_hat - c) * torch.as_tensor(z_true - z_spread)).sum(-1).mean()


def _matrix(decisions: list[Array]) -> Array:
    return np.stack(decisions).astype(float)
