"""What the methods for linear objectives share: they differentiate through z*, which only such problems allow.

y, y_hat (B, d)   as the user counts them         c = y, c_hat = y_hat in a problem that minimises, else -y, -y_hat

so that z*(y_hat) always minimises c_hat @ z over a set that y does not change. A solver's answer is constant around a
point, so autograd through c_hat @ z, with z taken as a number, is the (sub)gradient of that minimum.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from fewsolves.methods.base import Demand, GradientTrainer, OracleLoss, State
from fewsolves.oracle import Oracle
from fewsolves.problem import Problem


def refuse(problem: Problem) -> str | None:
    """Why a method for linear objectives does not fit this problem, or None where it does."""
    if problem.linear and problem.bounded:
        return "it solves beyond any bounds, such as at 2 y_hat - y; use 'gp-surrogate' or 'sfge'"
    if problem.linear:
        return None
    return (
        "it needs an objective y @ z that is linear in the predicted parameters, over a set that they do not change, "
        "with the same true cost. If that holds, say Problem(linear='min') or 'max'; else use 'gp-surrogate' or 'sfge'"
    )


class LinearTrainer(GradientTrainer):
    """A method for linear objectives: their cost is known without a call."""

    def refuse(self, problem: Problem) -> str | None:
        return refuse(problem)

    def demand(self, n_y: int) -> Demand:
        return Demand(cost_calls=False)


class LinearLoss(OracleLoss):
    """A loss of predicted costs c_hat (B, d)."""

    def __init__(self, oracle: Oracle) -> None:
        super().__init__(oracle)
        self.sign = 1.0 if oracle.problem.linear == "min" else -1.0
        self.rng: np.random.Generator | None = None  # where a method draws

    def state(self) -> State:
        return self._module_state(self.rng)

    def restore(self, state: State) -> None:
        self._restore_module(state, self.rng)

    def truth(self, index: Tensor) -> tuple[Tensor, Tensor]:
        """c and z*(y), (B, d) each; the decisions are labels, paid once."""
        rows = index.numpy()
        return torch.as_tensor(self.sign * self.oracle.Y[rows]), _matrix(self.oracle.labels(rows))

    def decide(self, c_hat: Tensor, index: Tensor) -> tuple[Tensor, Tensor]:
        """The decisions (B, d) at costs c_hat, without gradient, paid; and (B,) whether there is one.

        A solve that failed decides 0, and has no weight in `mean`.
        """
        points = self.sign * c_hat.detach().numpy()
        decisions = self.oracle.solve(index.numpy(), points, phase="online")
        known = [isinstance(z, np.ndarray) for z in decisions]
        if not all(known):
            decisions = [z if found else np.zeros(points.shape[1]) for z, found in zip(decisions, known, strict=True)]
        return _matrix(decisions), torch.tensor(known)


def mean(losses: Tensor, known: Tensor) -> Tensor:
    """Over the rows (B,) that are known; 0 where none is."""
    return losses[known].mean() if known.any() else 0.0 * losses.sum()


def _matrix(decisions: list[np.ndarray]) -> Tensor:
    return torch.as_tensor(np.stack(decisions).astype(float))
