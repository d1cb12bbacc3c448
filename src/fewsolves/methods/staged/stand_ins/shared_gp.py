"""Gaussian processes of the regret, one per row, all over the same points: one kernel matrix, one factorisation.

    R_i(u) = m_i + k(u, P) alpha_i,    alpha_i = (K(P, P) + noise I)^-1 (C_i. - m_i),    k squared exponential

Each known decision is an observation for every row, at the point where a solve returned it.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from fewsolves._internal.threads import blas_for, product
from fewsolves.methods.staged.pool import ENTRIES_AT_ONCE, TABLE_ENTRIES, Pool
from fewsolves.methods.staged.stand_ins.base import DescentPlan, Prior, StandIn
from fewsolves.methods.staged.tuning import Tuning
from fewsolves.problem import Array

POINTS = 1800  # the last known decisions: the cube of their number is what a refresh takes
GROWN, GROWN_OF_LARGE = 1.1, 1.5  # times as many known decisions before a refresh; of a large table, which prices again
NOISE, NOISY_COST = 0.01, 0.3  # relative variance that the processes take for noise
TAUGHT = 4.5  # solves per row after which new points teach little, and pairs correct the slope instead


class SharedGP(StandIn):
    """Posterior means of all rows."""

    name = "gp"
    prior = Prior(-0.1, 0.4)
    sloped = True

    def __init__(self, pool: Pool, tuning: Tuning) -> None:
        super().__init__(pool, tuning)
        self.noise = NOISY_COST if pool.rows.oracle.problem.noisy_cost else NOISE
        self.length = 2.0 * math.sqrt(pool.rows.d)
        self._size = 0

    @classmethod
    def applicable(cls, pool: Pool) -> bool:
        """It does not apply to rows with known data: there a point does not determine the decision of another row."""
        return super().applicable(pool) and pool.rows.oracle.problem.instances is None

    def refresh(self) -> None:
        pool = self.pool
        if self._size and len(pool) < (GROWN if pool.whole else GROWN_OF_LARGE) * self._size:
            return
        n, most = pool.rows.n, POINTS if pool.whole else max(1, min(POINTS, int(TABLE_ENTRIES // pool.rows.n)))
        last = np.arange(max(0, len(pool) - most), len(pool))
        mean, alpha, factor = np.empty(n), np.empty((n, len(last))), None
        step = max(1, ENTRIES_AT_ONCE // len(last))
        for rows in (slice(first, first + step) for first in range(0, n, step)):
            targets = pool.regret(np.arange(n)[rows, None], last[None]).T
            mean[rows] = np.nanmean(targets, axis=0)
            targets = np.where(np.isnan(targets), 0.0, targets - mean[rows])
            factor = self._factor(pool.points[last]) if factor is None else factor
            with blas_for(len(last) ** 3 // 3):
                alpha[rows] = cho_solve(factor, targets).T
        self._size, self.u, self.mean, self.alpha = len(pool), pool.points[last].copy(), mean, alpha

    def value(self, index: Array, u: Array, V: Array) -> Array:
        K = self._correlation(V.reshape(-1, V.shape[2]), self.u).reshape(*V.shape[:2], -1)
        return np.asarray(self.mean[index][:, None] + np.einsum("bmk,bk->bm", K, self.alpha[index]))

    def slope(self, index: Array, u: Array) -> Array:
        """dR/du (B, d)."""
        A = self._correlation(u, self.u) * self.alpha[index]
        return np.asarray((product(A, self.u) - A.sum(1)[:, None] * u) / self.length**2)

    def plan(self, solves: int, paid: int) -> DescentPlan:
        """Single points teach the processes; once they are taught, pairs correct their slope."""
        tuning, n, d = self.tuning, self.pool.rows.n, self.pool.rows.d
        if paid < TAUGHT * n:
            return DescentPlan(
                epochs=15.0,
                solves=solves,
                pay="points",
                jitter=tuning.far,
                sigma=tuning.width(d),
                rate=tuning.rate / math.sqrt(d),
                batch=tuning.batch * max(n, tuning.steps_rows) // tuning.steps_rows,  # no longer path with more rows
            )
        return DescentPlan(
            epochs=solves / n / 2,
            solves=solves,
            sigma=tuning.width(d),
            rate=tuning.rate / math.sqrt(d),
            batch=int(np.clip(8 * math.sqrt(solves / n), 16, 64)),
            grow=False,
        )

    def _factor(self, points: Array) -> tuple[Array, bool]:
        """Of their covariance, for `cho_solve`."""
        K = self._correlation(points, points)
        K[np.diag_indices_from(K)] += self.noise
        with blas_for(len(K) ** 3 // 3):
            factor: tuple[Array, bool] = cho_factor(K, lower=True)
        return factor

    def _correlation(self, u: Array, points: Array) -> Array:
        square = (u * u).sum(1)[:, None] + (points * points).sum(1) - product(2 * u, points.T)
        return np.asarray(np.exp(-0.5 * np.maximum(0.0, square) / self.length**2))
