"""The known decision that is best under the prediction: R_i(u) = C_ik with k = argmin g(u, z_k).

It needs no assumption but that `solve` roughly minimises the cost it is judged by; paid residuals show how roughly.
Where rows have known data, g is that of the row itself: decisions of other rows are candidates as far as it can price
them. `near` decisions are looked at, those whose points are nearest; the `best` of them at u are its candidates.

R_i is a step function, so its slope is that of its mean over draws around u. The costs of the candidates are taken as
linear along m random directions e_j, which takes m cost calls for each; the draws themselves then take none:

    g(u + sigma sum_j a_j e_j, z_k) = g(u, z_k) + sum_j a_j (g(u + sigma e_j, z_k) - g(u, z_k))        a_j ~ N(0, 1)
    dR/du = mean_j mean_a(a_j C_ik(a)) e_j / sigma,     k(a) = argmin of the above
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
        candidates, _ = self._candidates(index, u)
        chosen = self.pool.model_cost(index, V, candidates).argmin(axis=2)
        return self.pool.regret(index[:, None], np.take_along_axis(candidates, chosen, axis=1))

    def slope(self, index: Array, u: Array) -> Array:
        candidates, here = self._candidates(index, u)
        e = self.draw_directions(len(index))
        along = self.pool.model_cost(index, u[:, None] + self.sigma * e, candidates)  # (B, m, K)
        regret = self.pool.regret(index[:, None], candidates)
        known = np.isfinite(here) & np.isfinite(along).all(axis=1) & np.isfinite(regret)
        rise = np.where(known[:, None], along, 0.0) - np.where(known, here, 0.0)[:, None]
        a = self.pool.rows.rng.standard_normal((len(index), self.tuning.draws // 2, e.shape[1]))
        a = np.concatenate([a, -a], axis=1)
        cost = np.where(known, here, np.inf)[:, None] + np.matmul(a, rise)  # (B, L, K)
        chosen = np.take_along_axis(np.where(known, regret, 0.0), cost.argmin(axis=2), axis=1)
        return self.combine(np.matmul(chosen[:, None], a)[:, 0] / a.shape[1], e)

    def plan(self, solves: int, paid: int) -> DescentPlan:
        """Few epochs for each paid solve: a pool that does not keep up is exploited."""
        tuning, per_row, d = self.tuning, solves / self.pool.rows.n, self.pool.rows.d
        return DescentPlan(
            epochs=max(2.0, tuning.epochs * math.sqrt(per_row)),
            solves=solves,
            sigma=self.sigma,
            rate=tuning.probed_rate / math.sqrt(d),
            batch=tuning.probed_batch,
            residual=tuning.residual,
        )

    def _candidates(self, index: Array, u: Array) -> tuple[Array, Array]:
        """(B, K) numbers of decisions, and their costs at u."""
        pool, near, best = self.pool, self.tuning.near, self.tuning.best
        if len(pool) <= best:
            numbers = pool.nearest(u, len(pool))
            return numbers, pool.model_cost(index, u[:, None], numbers)[:, 0]
        numbers = pool.nearest(u, near)
        if near < len(pool):
            own = pool.own[index]
            there = (numbers == own[:, None]).any(axis=1) | (own < 0)  # a label that failed has none
            numbers[:, 0] = np.where(there, numbers[:, 0], own)  # leaving out a row's own decision misleads
        cost = pool.model_cost(index, u[:, None], numbers)[:, 0]
        kept = np.argpartition(cost, best - 1, axis=1)[:, :best]
        return np.take_along_axis(numbers, kept, axis=1), np.take_along_axis(cost, kept, axis=1)
