"""A line search for an offset common to all outputs, by paid solves: the best one may lie far from the start.

    u (n, d)   predictions of the rows by models that never saw them; m rows that are no evidence are solved
    t          the offset in units: a step to either side, then doubled for as long as the mean regret falls
    z          the change of the mean regret at t in standard errors, by the estimator of all evidence: what a stand-in
               predicts is its control variate

A slope says nothing of what lies beyond the reach of a descent, and the known decisions are those for the truth: one
that pays only far from the truth is found by solves alone. The best of several offsets looks better than it is, and so
it is solved on other rows as well, and taken only if it is clearly better there.
"""

from __future__ import annotations

import numpy as np

from fewsolves.errors import BudgetSpent
from fewsolves.methods.staged.evidence import Candidate, Change, Judge, estimate_change
from fewsolves.methods.staged.pool import CostCallsTooExpensive, Pool
from fewsolves.methods.staged.rows import TrainingRows
from fewsolves.methods.staged.schedule import LEAST_OFFSET
from fewsolves.methods.staged.stand_ins import StandIn
from fewsolves.methods.staged.tuning import Tuning
from fewsolves.oracle import Evaluation
from fewsolves.problem import Array

DOUBLED = 2  # how often an offset is doubled at most


class OffsetSearch:
    """Compares offsets of the start on rows that are no evidence."""

    def __init__(
        self, rows: TrainingRows, pool: Pool | None, judge: Judge, start: Candidate, stand_in: StandIn | None
    ) -> None:
        self.rows, self.pool, self.judge, self.start, self.stand_in = rows, pool, judge, start, stand_in
        self._paid: dict[float, Evaluation] = {}
        self._predicted: dict[float, Array | None] = {}

    def run(self, solves: int, tuning: Tuning) -> tuple[Candidate, float]:
        """The start, or the start with an offset that is better; and the offset.

        Three offsets are compared with these solves. Doubling takes two thirds as many at most, confirming as many.
        """
        spare = self.judge.spare(solves // 3 + solves // 2)
        searched = self.rows.rng.permutation(spare)[: solves // 3]
        if 3 * len(searched) < LEAST_OFFSET:  # nearly all rows are evidence
            return self.start, 0.0
        self._turn_to(searched)
        t = self._best(tuning.offset_step)
        if t and not self._confirmed(t, np.setdiff1d(spare, searched), tuning):
            t = 0.0
        self._learn()
        if t == 0:
            return self.start, t
        self.judge.models.shift(np.full((len(self.judge.models.bags), self.rows.d), t))
        return self.judge.unread("offset"), t

    def _confirmed(self, t: float, others: Array, tuning: Tuning) -> bool:
        """Whether an offset that looks better is clearly better on other rows."""
        if self._change(t, 0.0).z >= -tuning.clear or len(others) < LEAST_OFFSET // 3:
            return False
        self._learn()
        self._turn_to(others)
        return self._change(t, 0.0).z < -tuning.refuted

    def _turn_to(self, some: Array) -> None:
        """Solve these rows from now on."""
        self.some = np.sort(some)
        self._paid.clear()
        self._predicted.clear()

    def _learn(self) -> None:
        """Let the pool know what was paid."""
        if self.pool is not None:  # only now: a prediction must not know what it predicts
            for tried, paid in self._paid.items():
                self.pool.learn(self.some, self.start.unseen[self.some] + tried, paid)

    def _best(self, step: float) -> float:
        """The offset with the lowest estimated mean; 0 where both sides are worse than the start."""
        t = min((-step, step), key=lambda side: self._change(side, 0.0).mean)
        if not self._change(t, 0.0).mean < 0:
            return 0.0
        for _ in range(DOUBLED):
            if not self._change(2 * t, t).mean < 0:
                break
            t *= 2
        return t

    def _change(self, t: float, before: float) -> Change:
        """Of the mean regret from one offset to another."""
        paid, predicted = [self._pay(one) for one in (t, before)], [self._predict(one) for one in (t, before)]
        difference = None if predicted[0] is None or predicted[1] is None else predicted[0] - predicted[1]
        return estimate_change(paid[0] - paid[1], difference, np.searchsorted(self.judge.judged, self.some))

    def _pay(self, t: float) -> Array:
        if t not in self._paid:
            self._paid[t] = self.rows.pay(self.some, self.start.unseen[self.some] + t)
        return self.rows.weighted(self._paid[t].regret, self.some)

    def _predict(self, t: float) -> Array | None:
        """Regrets of all judged rows by the stand-in; None where there is none, or its cost calls are not allowed."""
        if t not in self._predicted:
            try:
                known = None if self.stand_in is None else self.judge.predict(self.stand_in, self.start.unseen + t)
            except (CostCallsTooExpensive, BudgetSpent):
                known = self.stand_in = None
            self._predicted[t] = known
        return self._predicted[t]
