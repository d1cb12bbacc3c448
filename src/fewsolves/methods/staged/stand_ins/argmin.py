"""The known decision that is best under the prediction: R_i(u) = C_ik with k = argmin g(u, z_k).

It needs no assumption but that `solve` roughly minimises the cost it is judged by; paid residuals show how roughly.
Where rows have known data, g is that of the row itself: decisions of other rows are candidates as far as it can price
them. `near` decisions are looked at, those whose points are nearest; the `best` of them at u are tried around u.
"""

from __future__ import annotations

import math

import numpy as np

from fewsolves.methods.staged.stand_ins.base import DescentPlan, Prior, StandIn
from fewsolves.problem import Array


class Argmin(StandIn):
    """The argmin over known decisions."""

    name = "argmin"
    prior = Prior(-0.15, 0.12)

    def value(self, index: Array, u: Array, V: Array) -> Array:
        candidates = self._candidates(index, u)
        chosen = self.pool.model_cost(index, V, candidates).argmin(axis=2)
        return self.pool.regret(index[:, None], np.take_along_axis(candidates, chosen, axis=1))

    def plan(self, solves: int, paid: int) -> DescentPlan:
        """Few epochs for each paid solve: a pool that does not keep up is exploited."""
        tuning, per_row, d = self.tuning, solves / self.pool.rows.n, self.pool.rows.d
        return DescentPlan(
            epochs=max(1.0, min(6 * per_row, 4.0), 3 * math.sqrt(per_row)),
            solves=solves,
            sigma=tuning.width(d, 0.7),
            rate=tuning.probed_rate / math.sqrt(d),
            batch=tuning.batch,
            residual=tuning.residual,
        )

    def _candidates(self, index: Array, u: Array) -> Array:
        pool, near, best = self.pool, self.tuning.near, self.tuning.best
        if len(pool) <= best:
            return pool.nearest(u, len(pool))
        numbers = pool.nearest(u, near)
        if near < len(pool):
            own = pool.own[index]
            there = (numbers == own[:, None]).any(axis=1) | (own < 0)  # a label that failed has none
            numbers[:, 0] = np.where(there, numbers[:, 0], own)  # leaving out a row's own decision misleads
        cost = pool.model_cost(index, u[:, None], numbers)[:, 0]
        return np.take_along_axis(numbers, np.argpartition(cost, best - 1, axis=1)[:, :best], axis=1)
