"""What the methods for linear objectives share: they differentiate through z*, which only such problems allow.

y, y_hat (B, d)   as the user counts them         c = y, c_hat = y_hat in a problem that minimises, else -y, -y_hat

so that z*(y_hat) always minimises c_hat @ z over a set that y does not change. A solver's answer is constant around a
point, so autograd through c_hat @ z, with z taken as a number, is the (sub)gradient of that minimum.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from fewsolves.losses.base import OracleLoss
from fewsolves.oracle import Oracle
from fewsolves.problem import Problem


def refuse(problem: Problem) -> str | None:
    """Why a method for linear objectives does not fit this problem, or None where it does."""
    if problem.linear:
        return None
    return (
        "it needs an objective y @ z that is linear in the predicted parameters, over a set that they do not change, "
        "with the same true cost. If that holds, say Problem(linear='min') or 'max'; else use 'gp-surrogate' or 'sfge'"
    )


class LinearLoss(OracleLoss):
    """A loss of predicted costs c_hat (B, d)."""

    def __init__(self, oracle: Oracle) -> None:
        super().__init__(oracle)
        self.sign = 1.0 if oracle.problem.linear == "min" else -1.0

    def truth(self, index: Tensor) -> tuple[Tensor, Tensor]:
        """c and z*(y), (B, d) each; the decisions are labels, paid once."""
        rows = index.numpy()
        return torch.as_tensor(self.sign * self.oracle.Y[rows]), _matrix(self.oracle.labels(rows))

    def decide(self, c_hat: Tensor, index: Tensor) -> Tensor:
        """The decisions (B, d) at costs c_hat, without gradient; paid."""
        points = self.sign * c_hat.detach().numpy()
        return _matrix(self.oracle.solve(index.numpy(), points, phase="online"))


def _matrix(decisions: list[np.ndarray]) -> Tensor:
    return torch.as_tensor(np.stack(decisions).astype(float))
