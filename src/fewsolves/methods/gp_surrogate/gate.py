"""The gate, or acquisition rule: which examples the surrogate is trusted for, and which a solve is paid for.

    rows     (B,)    examples of a step
    s, s0    (B,)    posterior std of the standardised regret at their predictions, and before anything was known
    doubt    (B,)    how unsure the surrogate is: s / s0, or s itself (the paper's)
    doubted  (B,)    rows whose surrogate is not trusted: doubt is not below beta
    paid     (B,)    rows that a solve was paid for, and that the surrogate has learned from

`doubts` is the rule, `Paying` carries it out: all doubted rows are paid for as long as the budget has room for them;
then those of most doubt that fit; then none, and training goes on with the surrogate alone. In the asynchronous mode
solves are submitted, and none is charged before this returns.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fewsolves.errors import BudgetSpent
from fewsolves.methods.gp_surrogate.background_draws import InFlight
from fewsolves.methods.gp_surrogate.fallback import Answer, Fallback
from fewsolves.methods.gp_surrogate.surrogate.regret import RegretSurrogate
from fewsolves.oracle import Oracle
from fewsolves.problem import Array

if TYPE_CHECKING:
    from fewsolves.methods.gp_surrogate.config import GPSurrogateConfig


def doubts(std: Array, rows: Array, surrogate: RegretSurrogate, config: GPSurrogateConfig) -> tuple[Array, Array]:
    """`doubted` and `doubt` of each row from its s; pays nothing and draws nothing."""
    std, unit = _measured(std, rows, surrogate, config)
    return ~(std < config.beta * unit), std / unit  # a std of NaN is doubted


def _measured(
    std: Array, rows: Array, surrogate: RegretSurrogate, config: GPSurrogateConfig
) -> tuple[Array, Array | float]:
    """The quantity that beta is compared with. Other acquisition rules go here."""
    return surrogate.gate_std(std, rows), surrogate.prior_std(rows) if config.relative_beta else 1.0


class Paying:
    """Pays for doubted rows by the fallback, or in the background where there is one."""

    def __init__(self, oracle: Oracle, fallback: Fallback, background: InFlight | None) -> None:
        self.budget_left, self.fallback, self.background = oracle.budget_left, fallback, background
        self.epoch = 0
        self.short_since: int | None = None  # the first epoch in which a solve did not fit the budget

    def __call__(
        self, u: Array, rows: Array, doubted: Array, doubt: Array, surrogate: RegretSurrogate
    ) -> tuple[Array, Answer | None]:
        """Which rows were paid for, and the fallback's answer for them; None where there is none."""
        payable = self._payable(doubted, doubt, rows)
        nothing = np.zeros_like(payable), None
        if not payable.any():
            return nothing
        if self.background is not None:
            self.background.send(u[payable], rows[payable])
            return nothing
        try:
            answer = self.fallback(u[payable], rows[payable], surrogate)
        except BudgetSpent:  # a budget of seconds cannot be checked in advance
            self.short_since = self.short_since or self.epoch
            return nothing
        surrogate.learn()
        return payable, answer

    def _payable(self, doubted: Array, doubt: Array, rows: Array) -> Array:
        under_way = 0
        if self.background is not None:
            doubted = doubted & ~self.background.under_way[rows]
            under_way = int(self.background.under_way.sum())
        draws = self.fallback.draws
        if self.budget_left.fits("online", int(doubted.sum()) * draws + under_way):
            return doubted
        self.short_since = self.short_since or self.epoch
        room = max(0, self.budget_left.room("online") - under_way) // draws
        most_first = np.argsort(np.where(doubted, -np.nan_to_num(doubt, nan=np.inf), np.inf), kind="stable")
        payable = np.zeros_like(doubted)
        payable[most_first[:room]] = True
        return payable & doubted

    def warnings(self) -> list[str]:
        """Warnings for the user."""
        if self.short_since is None:
            return []
        return [
            f"from epoch {self.short_since} on the budget did not cover every solve: for rows without a solve, "
            f"training continued with the surrogate alone"
        ]
