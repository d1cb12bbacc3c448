"""Stand-ins for the solver: regret of row i at u from known decisions, without a solve.

R_i(u)   regret of row i at the prediction u                V  (B, M, d)  points near u (B, d)
z_k      known decisions, at points P_k                      C_ik          regret of z_k for row i

Argmin     R_i(u) = C_ik with k = argmin g(u, z_k)                      where `solve` minimises the cost it is judged by
SPOPlus    the same, and the slope of a convex bound of R_i             where also g(y, z) = a_z + b_z . y
SharedGP   posterior mean over (P_k, C_ik), all rows over the same P_k: one kernel matrix, one factorisation for all
"""

from __future__ import annotations

import math
from typing import Protocol

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from fewsolves._internal.threads import blas_for, product
from fewsolves.methods.staged.pool import Pool
from fewsolves.problem import Array

NOISE, NOISY_COST = 0.01, 0.3  # relative variance that the processes take for noise
NEAR_ZERO = 0.1  # of the smallest parameter that there is: nearer to a change of sign nobody is asked
NEAR, BEST, LEAST_SHARE = 100, 60, 0.25  # candidates of the argmin, and the share of them that it does not go below


class StandIn(Protocol):
    """Predicts regrets of rows near their predictions."""

    kind: str

    def prepare(self, asked: int, points: int) -> None:
        """It will be asked so many times for a row, at so many points: look as far as the price of that allows."""

    def affords(self, asked: int, points: int) -> bool:
        """Whether it is worth being asked so many times, of more rows than there are."""

    def refresh(self) -> None:
        """Take in what the pool has learned."""

    def value(self, index: Array, u: Array, V: Array) -> Array:
        """R (B, M) of rows `index` at V (B, M, d)."""


class Sloped(StandIn, Protocol):
    """One whose slope is known."""

    def slope(self, index: Array, u: Array) -> Array:
        """dR/du (B, d)."""


class Argmin:
    """The known decision that is best under the prediction; `near` are looked at, `best` of them tried around u.

    In many dimensions what is best around u is often not among the best twenty at u.
    """

    kind = "argmin"

    def __init__(self, pool: Pool, *, near: int = NEAR, best: int = BEST) -> None:
        self.pool, self.near, self.best = pool, near, best

    def prepare(self, asked: int, points: int) -> None:
        wanted = asked * (NEAR + points * BEST)
        share = min(1.0, self.pool.calls_left / 2 / max(1, wanted))  # the rest is for later stages
        share = 2.0 ** math.floor(
            math.log2(max(share, LEAST_SHARE))
        )  # a run that is started again should find the same
        self.near, self.best = int(share * NEAR), int(share * BEST)

    def affords(self, asked: int, points: int) -> bool:
        return bool(LEAST_SHARE * asked * (NEAR + points * BEST) <= self.pool.calls_left / 2)

    def refresh(self) -> None:
        pass

    def value(self, index: Array, u: Array, V: Array) -> Array:
        candidates = self._candidates(index, u)
        cost = _failed_last(self.pool.model_cost(index, V, candidates))
        chosen = np.take_along_axis(candidates[:, None, :], cost.argmin(2)[:, :, None], 2)[:, :, 0]
        return self.pool.regret(index[:, None], chosen)

    def _candidates(self, index: Array, u: Array) -> Array:
        pool = self.pool
        if len(pool) <= self.best:
            return pool.nearest(u, len(pool))
        if len(pool) <= 2 * self.near:
            near = pool.nearest(u, len(pool))
        else:
            near = pool.nearest(u, self.near)
            own = pool.own[index]
            there = (near == own[:, None]).any(1) | (own < 0)  # a solve that failed has none
            near[:, 0] = np.where(there, near[:, 0], own)  # leaving one's own out misleads
        cost = _failed_last(pool.model_cost(index, u[:, None], near)[:, 0])
        return np.take_along_axis(near, np.argpartition(cost, self.best - 1, axis=1)[:, : self.best], 1)


def _failed_last(cost: Array) -> Array:
    """Costs, and infinity for those that failed."""
    return cost if math.isfinite(cost.sum()) else np.where(np.isnan(cost), np.inf, cost)


class SPOPlus:
    """The SPO+ loss (as in `methods.spo_plus`) over known decisions; d + 1 cost calls tell a_z and b_z of each.

        L_i(u) = max_k (g(y_i, z_k) - 2 g(u, z_k)) + 2 g(u, z_i) - g(y_i, z_i) >= R_i(u),    z_i the decision at y_i
        dL/du  = 2 (b_i - b_k),    k = argmin g(2 u - y_i, z_k)

    Convex in u, so there is nothing to be exploited but what the pool lacks: the decision at 2 u - y_i.
    """

    kind = "spo+"

    def __init__(self, pool: Pool, *, points: int = 12_000) -> None:
        self.pool, self.points = pool, points
        self._a, self._b = np.empty(0), np.empty((0, pool.scene.d))
        self._truth = pool.scene.units(pool.scene.oracle.Y)
        self._most = self._truth.max(0)
        declared = pool.scene.oracle.problem.linear is not None  # then `solve` takes parameters of either sign
        self._ends = None if declared else pool.scene.units(_ends(pool.scene.oracle.Y))

    def prepare(self, asked: int, points: int) -> None:
        pass

    def affords(self, asked: int, points: int) -> bool:
        return True  # a question costs no call

    def refresh(self) -> None:
        pool, d = self.pool, self.pool.scene.d
        new = np.arange(len(self._a), len(pool))
        if len(new):
            step = np.where(self._most > 0, self._most, 1.0)  # from the mean: what lies beyond a bound is not asked
            at = np.concatenate([np.zeros((1, d)), np.diag(step)])
            anyone = np.zeros(len(new), dtype=int)  # rows share the problem
            cost = pool.model_cost(anyone, np.broadcast_to(at, (len(new), d + 1, d)), new[:, None])[:, :, 0]
            a, b = cost[:, 0], (cost[:, 1:] - cost[:, :1]) / step
            known = np.isfinite(cost.sum(1))  # one whose cost failed is nobody's best
            self._a = np.r_[self._a, np.where(known, a, np.inf)]
            self._b = np.r_[self._b, np.where(known[:, None], b, 0.0)]
        kept = slice(max(0, len(self._a) - self.points), None)
        self.a, self.b = self._a[kept], self._b[kept]

    def value(self, index: Array, u: Array, V: Array) -> Array:
        k = self._best(V.reshape(-1, V.shape[2])).reshape(V.shape[:2])
        cost = self.a[k] + np.einsum("bmd,bd->bm", self.b[k], self._truth[index])  # needs no cost call: g is linear
        return np.asarray(cost - self.pool.optimum[index, None])

    def slope(self, index: Array, u: Array) -> Array:
        own = self.pool.own[index]
        slope = 2 * (self._b[own] - self.b[self._best(2 * u - self._truth[index])])
        known = (own >= 0) & np.isfinite(self._a[own])  # a label that failed says nothing
        return np.asarray(np.where(known[:, None], slope, 0.0))

    def asks(self, index: Array, u: Array) -> Array:
        """Points (B, d) whose decisions the slope at u needs, as far as the solver is known to take them."""
        at = 2 * u - self._truth[index]
        return at if self._ends is None else np.asarray(np.clip(at, *self._ends))

    def _best(self, u: Array) -> Array:
        return np.asarray(np.argmin(self.a + product(u, self.b.T), axis=1))


def _ends(Y: Array) -> Array:
    """(2, d): as far beyond the least and the most of each parameter as these are apart, but of no sign of their own.

    There are solvers that never end with a negative length, and decisions for one that no truth would allow.
    """
    least, most = Y.min(0), Y.max(0)
    low, high = least - (most - least), most + (most - least)
    low = np.where(least >= 0, np.maximum(low, NEAR_ZERO * least), low)
    high = np.where(most <= 0, np.minimum(high, NEAR_ZERO * most), high)
    return np.stack([low, high])


class SharedGP:
    """Gaussian processes of all rows (or of some) over the same points; mean only."""

    kind = "gp"

    def __init__(self, pool: Pool, *, rows: Array | None = None, points: int = 1800) -> None:
        self.pool, self.points = pool, points
        self.noise = NOISY_COST if pool.scene.oracle.problem.noisy_cost else NOISE
        self.length = 2.0 * np.sqrt(pool.scene.d)
        self.rows = np.arange(pool.scene.n) if rows is None else rows
        self._place = np.full(pool.scene.n, -1)
        self._place[self.rows] = np.arange(len(self.rows))
        self._size = 0

    def prepare(self, asked: int, points: int) -> None:
        pass

    def affords(self, asked: int, points: int) -> bool:
        return False  # few rows teach it little

    def refresh(self) -> None:
        pool = self.pool
        if self._size and len(pool) < 1.1 * self._size:
            return
        self._size = len(pool)
        last = np.arange(max(0, len(pool) - self.points), len(pool))
        self.u = pool.points[last].copy()
        pool.refuse_too_many(len(self.rows) * len(last))
        targets = pool.regret(self.rows[:, None], last[None]).T
        self.mean = np.nanmean(targets, axis=0)
        targets = np.where(np.isnan(targets), 0.0, targets - self.mean)
        K = self._correlation(self.u)
        K[np.diag_indices_from(K)] += self.noise
        with blas_for(len(K) ** 3 // 3):
            self.alpha = np.ascontiguousarray(cho_solve(cho_factor(K, lower=True), targets).T)

    def value(self, index: Array, u: Array, V: Array) -> Array:
        at = self._place[index]
        K = self._correlation(V.reshape(-1, V.shape[2])).reshape(*V.shape[:2], -1)
        return np.asarray(self.mean[at][:, None] + np.einsum("bmk,bk->bm", K, self.alpha[at]))

    def slope(self, index: Array, u: Array) -> Array:
        A = self._correlation(u) * self.alpha[self._place[index]]
        return np.asarray((product(A, self.u) - A.sum(1)[:, None] * u) / self.length**2)

    def _correlation(self, u: Array) -> Array:
        square = (u * u).sum(1)[:, None] + (self.u * self.u).sum(1) - product(2 * u, self.u.T)
        return np.asarray(np.exp(-0.5 * np.maximum(0.0, square) / self.length**2))
