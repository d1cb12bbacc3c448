"""Shares of a fortune in assets whose returns are unknown: mean against variance, with the price of trading.

    y   (n,)    returns                              z   (n,)   shares, 0 <= z <= cap, sum z = 1
    S   (n, n)  covariance, known                    z0  (n,)   shares held now

    cost   g(y, z) = -y.z + risk / 2 z'S z + trading sum |z - z0|
    solve  the least g at the predicted returns, by moves of weight between two assets, always those that gain the
           most at the margin, each as long as it gains (a maximal violating pair: Keerthi et al., 2001), until none
           gains more than 1e-9 per unit

g is linear in y: nothing but E[y | x] matters, and only a misspecified predictor leaves anything to gain.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit

from fewsolves.demo.sources import Dataset, Streams, parameter_rows
from fewsolves.problem import Array
from fewsolves_studies.benchmarks.panel.batched import Batched
from fewsolves_studies.benchmarks.panel.responses import Sums, random_signal

TOLERANCE = 1e-9
MAX_MOVES = 100_000


@dataclass(frozen=True, eq=False)
class Portfolio(Batched):
    """Solve and cost of one set of assets."""

    covariance: Array
    held: Array
    cap: float
    risk: float
    trading: float

    def solve_batch(self, Y_hat: Array) -> Array:
        Y_hat = np.ascontiguousarray(parameter_rows(Y_hat, len(self.held)))
        Z = np.tile(self.held, (len(Y_hat), 1))
        _trade(Y_hat, self.risk * self.covariance, self.held, self.cap, self.trading, Z)
        return Z

    def cost_batch(self, Y: Array, Z: Array) -> Array:
        Y, Z = parameter_rows(Y, len(self.held)), np.asarray(Z, dtype=np.float64)
        variance = np.einsum("bi,ij,bj->b", Z, self.covariance, Z)
        traded = np.abs(Z - self.held).sum(axis=1)
        cost: Array = -np.einsum("bi,bi->b", Y, Z) + 0.5 * self.risk * variance + self.trading * traded
        return cost


@njit(cache=True, nogil=True, error_model="numpy")
def _trade(Y, Q, held, cap, trading, Z):  # type: ignore[no-untyped-def]
    n = len(held)
    slope = np.empty(n)  # of g without the price of trading
    for b in range(len(Y)):
        z = Z[b]
        slope[:] = Q @ z - Y[b]
        for _ in range(MAX_MOVES):
            up, down, gain = _best_pair(slope, z, held, cap, trading)
            if gain <= TOLERANCE:
                break
            room = min(cap - z[up], z[down])
            if z[up] < held[up]:  # the price of trading changes where an asset is back at what is held
                room = min(room, held[up] - z[up])
            if z[down] > held[down]:
                room = min(room, z[down] - held[down])
            step = min(room, gain / (Q[up, up] + Q[down, down] - 2.0 * Q[up, down]))
            # at the end of its room an asset lies exactly where its slope changes
            up_end, down_end = z[up] + step, z[down] - step
            for point in (cap, held[up]):
                if abs(up_end - point) < 1e-14:
                    up_end = point
            for point in (0.0, held[down]):
                if abs(down_end - point) < 1e-14:
                    down_end = point
            for i in range(n):
                slope[i] += Q[i, up] * (up_end - z[up]) + Q[i, down] * (down_end - z[down])
            z[up], z[down] = up_end, down_end


@njit(cache=True, nogil=True, error_model="numpy")
def _best_pair(slope, z, held, cap, trading):  # type: ignore[no-untyped-def]
    """Which asset to have more of and which less, and what the first unit moved gains; -inf where none can move."""
    up, down, dearest, cheapest = -1, -1, -np.inf, np.inf
    for i in range(len(z)):
        more = slope[i] + (trading if z[i] >= held[i] else -trading)
        less = slope[i] + (trading if z[i] > held[i] else -trading)
        if z[i] < cap and more < cheapest:
            up, cheapest = i, more
        if z[i] > 0.0 and less > dearest:
            down, dearest = i, less
    return up, down, dearest - cheapest


def portfolio(
    streams: Streams,
    *,
    n: int = 300,  # rows
    n_assets: int = 20,
    n_features: int = 8,
    curvature: float = 0.2,
    spread: float = 1.0,  # percent a month
    noise: float = 2.5,
    cap: float = 0.25,
    risk: float = 0.15,
    trading: float = 0.1,
) -> Dataset:
    """Three factors of risk; held is a portfolio of ten of the assets."""
    fixed = streams.fixed
    loads = fixed.normal(0.0, 1.0, (n_assets, 3)) * np.array([3.0, 1.5, 1.5]) + np.array([3.0, 0.0, 0.0])
    covariance = loads @ loads.T + np.diag(fixed.uniform(4.0, 16.0, n_assets))
    held = np.zeros(n_assets)
    held[fixed.choice(n_assets, n_assets // 2, replace=False)] = 1.0 / (n_assets // 2)
    assets = Portfolio(covariance, held, cap, risk, trading)
    signal = random_signal(n_assets, n_features, fixed, curvature=curvature, shared=0.2)
    problem = assets.problem(name="portfolio")
    level = fixed.uniform(0.2, 1.0, n_assets)
    source = Sums(signal, level, spread, noise, common=0.3)
    return Dataset(problem, source, *source.draw(n, streams.rows))
