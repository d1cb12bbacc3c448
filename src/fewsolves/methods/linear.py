"""Common code of methods for linear objectives: they differentiate through z*, which only such problems allow.

y, y_hat (B, d)   as the user counts them         c = y, c_hat = y_hat in a problem that minimises, else -y, -y_hat

so that z*(y_hat) always minimises c_hat @ z over a set that y does not change. A solver's answer is constant around a
point, so z is the (sub)gradient of that minimum by c_hat.
"""

from __future__ import annotations

import numpy as np

from fewsolves.methods.base import Demand, GradientTrainer
from fewsolves.oracle import Oracle
from fewsolves.problem import Array, Problem


def refuse(problem: Problem) -> str | None:
    """Why a method for linear objectives does not fit this problem, or None where it does."""
    if problem.linear and problem.bounded:
        return "it solves beyond any bounds, such as at 2 y_hat - y; use the default, 'staged'"
    if problem.linear:
        return None
    return (
        "it needs an objective y @ z that is linear in the predicted parameters, over a set that they do not change, "
        "with the same true cost. If that holds, declare Problem(linear='min') or 'max'; else use the default, 'staged'"
    )


class LinearTrainer(GradientTrainer):
    """A method for linear objectives: their cost is known without a call."""

    def refuse(self, problem: Problem) -> str | None:
        return refuse(problem)

    def demand(self, n_y: int) -> Demand:
        return Demand(cost_calls=False)


class LinearRows:
    """Truths and decisions of the rows of an oracle, in the sense that is minimised."""

    def __init__(self, oracle: Oracle) -> None:
        self.oracle, self.sign = oracle, 1.0 if oracle.problem.linear == "min" else -1.0

    def truth(self, index: Array) -> tuple[Array, Array]:
        """c and z*(y), (B, d) each; the decisions are labels, paid once."""
        return self.sign * self.oracle.Y[index], _matrix(self.oracle.labels(index))

    def decide(self, c_hat: Array, index: Array) -> tuple[Array, Array]:
        """The decisions (B, d) at costs c_hat, paid; and (B,) whether there is one: a solve that failed decides 0."""
        points = self.sign * c_hat
        decisions = self.oracle.solve(index, points, phase="online")
        known = np.array([isinstance(z, np.ndarray) for z in decisions])
        if not known.all():
            decisions = [z if found else np.zeros(points.shape[1]) for z, found in zip(decisions, known, strict=True)]
        return _matrix(decisions), known


def _matrix(decisions: list[Array]) -> Array:
    return np.stack(decisions).astype(float)
