"""A line search for an offset common to all outputs, by paid solves: the best one may lie far from the start.

    u (n, d)   predictions of the rows by models that never saw them; m rows that are no evidence are solved
    t          the offset in units: a step to either side, then doubled for as long as the mean regret falls
    z          the change of the mean regret at t in standard errors, by the estimator of all evidence: what a stand-in
               predicts is its control variate. The result is t max(0, 1 - 1 / z^2)

A slope says nothing of what lies beyond the reach of a descent, and the known decisions are those for the truth: one
that pays only far from the truth is found by solves alone. The shrinkage is that of James and Stein: an offset whose
gain may be chance is hardly followed.
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

        Three offsets are compared with these solves, and doubling takes as many again at most.
        """
        self.some = self.judge.spare(solves // 3)
        if 3 * len(self.some) < LEAST_OFFSET:  # nearly all rows are evidence
            return self.start, 0.0
        t = self._best(tuning.offset_step)
        if self.pool is not None:  # only now: a prediction must not know what it predicts
            for tried, paid in self._paid.items():
                self.pool.learn(self.some, self.start.unseen[self.some] + tried, paid)
        if t == 0:
            return self.start, t
        self.judge.models.shift(np.full((len(self.judge.models.bags), self.rows.d), t))
        return self.judge.unread("offset"), t

    def _best(self, step: float) -> float:
        t = min((-step, step), key=lambda side: self._change(side, 0.0).mean)
        for _ in range(DOUBLED if self._change(t, 0.0).mean < 0 else 0):
            if not self._change(2 * t, t).mean < 0:
                break
            t *= 2
        z = min(0.0, self._change(t, 0.0).z)
        return t * max(0.0, 1 - 1 / z**2) if z else 0.0

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
