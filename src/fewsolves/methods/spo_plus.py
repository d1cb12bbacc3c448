"""SPO+ (Elmachtoub and Grigas): a convex upper bound of the regret of a linear objective over a fixed set.

c, c_hat (B, d)   true and predicted costs, in the sense that is minimised (`methods.linear`)

    loss_i    = max_z (c - 2 c_hat)' z + 2 c_hat' z*(c) - c' z*(c) = (2 c_hat - c)' (z*(c) - z*(2 c_hat - c)) >= regret
    gradient  2 (z*(c) - z*(2 c_hat - c))  with respect to c_hat
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fewsolves.methods.base import Context, State
from fewsolves.methods.linear import LinearRows, LinearTrainer
from fewsolves.methods.loss import PayingLoss
from fewsolves.oracle import Oracle
from fewsolves.problem import Array


class Bound(NamedTuple):
    """The bound of each row (B,) in units of the cost, and the solve that it took."""

    value: Array
    slope: Array  # (B, d) by y_hat
    point: Array  # (B, d) 2 y_hat - y, where it was solved
    regret: Array  # there; the objective is linear, so that nothing more is paid
    known: Array  # whether the solve succeeded


class SPOPlusLoss(PayingLoss):
    """One solve per example and step, at 2 y_hat - y; the mean is over the rows whose solve did not fail."""

    def __init__(self, oracle: Oracle) -> None:
        super().__init__(oracle)
        self._rows = LinearRows(oracle)

    def with_slope(self, y_hat: Array, index: Array) -> tuple[float, Array]:
        bound = self.bound(y_hat, index)
        if not bound.known.any():
            return 0.0, np.zeros_like(y_hat)
        share = np.where(bound.known, 1.0, 0.0) / bound.known.sum() / self.oracle.regret_units(index)
        return float(share @ bound.value), share[:, None] * bound.slope

    def bound(self, y_hat: Array, index: Array) -> Bound:
        """Of each row, paid."""
        sign, (c, z) = self._rows.sign, self._rows.truth(index)
        spread = 2.0 * sign * y_hat - c
        decisions, known = self._rows.decide(spread, index)
        off, regret = z - decisions, (c * (decisions - z)).sum(axis=1)
        return Bound((spread * off).sum(axis=1), 2.0 * sign * off, sign * spread, regret, known)

    def state(self) -> State:
        return State({}, {})

    def restore(self, state: State) -> None:
        """Nothing is changed by training."""


class SPOPlus(LinearTrainer):
    """Starts from random weights, as published."""

    name = "spo+"
    summary = "convex bound of the regret; linear objectives only, one solve per row and epoch"

    def loss(self, context: Context) -> SPOPlusLoss:
        return SPOPlusLoss(context.train_oracle)

    def starts_warm(self) -> bool:
        return False


METHOD = SPOPlus()
