"""A line search for an offset common to all outputs, by paid solves: the best one may lie far from the start.

    u (m, d)   predictions of m rows that are no evidence, by models that never saw them
    t          the offset in units: a step to either side, then doubled for as long as the mean regret falls
    z          the change of the mean regret at t in standard errors; the result is t max(0, 1 - 1 / z^2)

A slope says nothing of what lies beyond the reach of a descent, and known decisions are those of the truth: an order of
solves that pays only far from it is found by solves alone. The shrinkage is that of James and Stein: an offset whose
gain may be chance is hardly followed.
"""

from __future__ import annotations

import numpy as np

from fewsolves.methods.staged.evidence import Candidate, Judge, paired
from fewsolves.methods.staged.pool import Pool
from fewsolves.methods.staged.rows import TrainingRows
from fewsolves.methods.staged.schedule import LEAST_OFFSET
from fewsolves.methods.staged.tuning import Tuning
from fewsolves.problem import Array

DOUBLED = 2  # how often an offset is doubled at most


def search_offset(
    rows: TrainingRows, pool: Pool | None, judge: Judge, start: Candidate, solves: int, tuning: Tuning
) -> tuple[Candidate, float]:
    """The start, or the start with an offset that is better; and the offset.

    Three offsets are compared with these solves, and doubling takes as many again at most.
    """
    some = judge.spare(solves // 3)
    if 3 * len(some) < LEAST_OFFSET:  # nearly all rows are evidence
        return start, 0.0
    t = _best_offset(rows, pool, some, start.unseen[some], tuning.offset_step)
    if t == 0:
        return start, t
    judge.models.shift(np.full((len(judge.models.bags), rows.d), t))
    return judge.unread("offset"), t


def _best_offset(rows: TrainingRows, pool: Pool | None, some: Array, u: Array, step: float) -> float:
    def regret_at(t: float) -> Array:
        paid = rows.pay(some, u + t)
        if pool is not None:
            pool.learn(some, u + t, paid)
        return rows.weighted(paid.regret, some)

    start = regret_at(0.0)
    sides = {t: regret_at(t) for t in (-step, step)}
    t = min(sides, key=lambda side: paired(sides[side] - start).mean)
    best = sides[t]
    for _ in range(DOUBLED if paired(best - start).mean < 0 else 0):
        further = regret_at(2 * t)
        if not paired(further - best).mean < 0:
            break
        t, best = 2 * t, further
    z = min(0.0, paired(best - start).z)
    return t * max(0.0, 1 - 1 / z**2) if z else 0.0
