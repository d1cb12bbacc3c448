"""The SPO+ loss over known decisions, where the cost is linear in y: g(y, z) = a_z + b_z . y.

    L_i(u) = max_k (g(y_i, z_k) - 2 g(u, z_k)) + 2 g(u, z_i) - g(y_i, z_i) >= R_i(u),    z_i the decision at y_i
    dL/du  = 2 (b_i - b_k),    k = argmin g(2 u - y_i, z_k)

Elmachtoub and Grigas (2022). It is convex in u, so a descent can exploit only what the pool lacks: the decision at
2 u - y_i, which is where it pays. d + 1 cost calls give a_z and b_z of each decision.
"""

from __future__ import annotations

import math

import numpy as np

from fewsolves._internal.threads import product
from fewsolves.methods.staged.pool import Pool
from fewsolves.methods.staged.stand_ins.base import DescentPlan, Prior, StandIn
from fewsolves.methods.staged.tuning import Tuning
from fewsolves.problem import Array

TRIPLES, TOLERANCE = 24, 1e-6  # cost calls at points between two truths, by which linearity is tested; relative
DECISIONS = 12_000  # known decisions that are looked at, the last ones: more of them do not help
REFRESHED = 20_000  # decisions whose costs are requested together
NEAR_ZERO = 0.1  # never query the solver closer to zero than this fraction of the smallest observed value


class SPOPlus(StandIn):
    """SPO+ over known decisions."""

    name = "spo+"
    prior = Prior(-0.1, 0.2)
    sloped = True

    def __init__(self, pool: Pool, tuning: Tuning) -> None:
        super().__init__(pool, tuning)
        oracle, rows = pool.rows.oracle, pool.rows
        self._a, self._b = np.empty(0), np.empty((0, rows.d))
        self._truth = rows.units(oracle.Y)
        declared = oracle.problem.linear is not None  # then `solve` takes parameters of either sign
        self._ends = None if declared else rows.units(_ends(oracle.Y))

    @classmethod
    def applicable(cls, pool: Pool) -> bool:
        """Whether rows share the problem and g(y, z) is affine in y, at points between the truths of two rows."""
        rows, problem = pool.rows, pool.rows.oracle.problem
        if problem.instances is not None or problem.noisy_solve or problem.noisy_cost or not len(pool):
            return False
        Y, rng = rows.oracle.Y, rows.rng
        a, b = rng.integers(rows.n, size=(2, TRIPLES))
        decisions = pool.some(rng.integers(len(pool), size=TRIPLES))
        share = rng.uniform(0.2, 0.8, TRIPLES)
        between = share[:, None] * Y[a] + (1 - share)[:, None] * Y[b]
        pool.charge(3 * TRIPLES)
        at_a, at_b, middle = (rows.oracle.cost_at(a, y, decisions) for y in (Y[a], Y[b], between))
        off = np.abs(middle - share * at_a - (1 - share) * at_b)
        known = ~np.isnan(off)
        return bool(known.any() and off[known].max() <= TOLERANCE * (np.r_[at_a[known], at_b[known]].std() + 1e-300))

    def refresh(self) -> None:
        pool, d = self.pool, self.pool.rows.d
        for first in range(len(self._a), len(pool), REFRESHED):
            new = np.arange(first, min(first + REFRESHED, len(pool)))
            most = self._truth.max(axis=0)
            step = np.where(most > 0, most, 1.0)  # from the mean to a truth: no point beyond a bound
            at = np.concatenate([np.zeros((1, d)), np.diag(step)])
            any_row = np.zeros(len(new), dtype=int)  # rows share the problem
            cost = pool.model_cost(any_row, np.broadcast_to(at, (len(new), d + 1, d)), new[:, None])[:, :, 0]
            known: Array = np.isfinite(cost.sum(axis=1))  # a decision whose cost failed is never selected
            finite = np.where(known[:, None], cost, 0.0)
            self._a = np.r_[self._a, np.where(known, finite[:, 0], np.inf)]
            self._b = np.r_[self._b, (finite[:, 1:] - finite[:, :1]) / step]
        self._first = max(pool.first, len(self._a) - DECISIONS)
        self.a, self.b = self._a[self._first :], self._b[self._first :]

    def value(self, index: Array, u: Array, V: Array) -> Array:
        k = self._best(np.repeat(index, V.shape[1]), V.reshape(-1, V.shape[2])).reshape(V.shape[:2])
        cost = self._a[k] + np.einsum("bmd,bd->bm", self._b[k], self._truth[index])  # no cost call: g is linear
        return np.asarray((cost - self.pool.optimum[index, None]) / self.pool.units[index, None])

    def slope(self, index: Array, u: Array) -> Array:
        """dL/du (B, d); zero for a row whose label failed."""
        own = self.pool.own[index]
        best = self._best(index, 2 * u - self._truth[index])
        slope = 2 * (self._b[own] - self._b[best]) / self.pool.units[index, None]
        known = (own >= 0) & np.isfinite(self._a[own])
        return np.asarray(np.where(known[:, None], slope, 0.0))

    def query_points(self, index: Array, u: Array, drawn: Array) -> Array:
        at = 2 * u - self._truth[index]
        return at if self._ends is None else np.asarray(np.clip(at, *self._ends))

    def plan(self, solves: int, paid: int) -> DescentPlan:
        tuning, d = self.tuning, self.pool.rows.d
        return DescentPlan(
            epochs=30.0,
            solves=solves,
            pay="points",
            sigma=tuning.width(d),
            rate=tuning.rate / math.sqrt(d),
            batch=tuning.batch,
        )

    def _best(self, index: Array, u: Array) -> Array:
        """(B,) Numbers of the decisions that are best at u (B, d) for rows `index`."""
        cost = self.a + product(u, self.b.T)
        best = np.argmin(cost, axis=1)
        if self.pool.whole:
            return np.asarray(self._first + best)
        own = self.pool.own[index]  # it may not be among those that all rows look at
        of_own = np.where(own < 0, np.inf, self._a[own]) + np.einsum("bd,bd->b", self._b[own], u)
        return np.where(of_own <= cost[np.arange(len(u)), best], own, self._first + best)


def _ends(Y: Array) -> Array:
    """(2, d): as far beyond the range of each parameter as it is wide, but of no sign that no truth has.

    There are solvers that never end with a negative length, and decisions for one that no truth would allow.
    """
    least, most = Y.min(axis=0), Y.max(axis=0)
    low, high = least - (most - least), most + (most - least)
    low = np.where(least >= 0, np.maximum(low, NEAR_ZERO * least), low)
    high = np.where(most <= 0, np.minimum(high, NEAR_ZERO * most), high)
    return np.stack([low, high])
