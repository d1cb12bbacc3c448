"""Trays of baked goods for one oven: every item has features of its own, and one law for all items tells its demand.

x   (m, k)   features of each item           y   (m,)   demands
w   (k,)     weights, the same for all       z   (m,)   trays, integers >= 0 of q units each, sum z <= K, the oven

y_i    = max(1, level + w.x_i) u_i, u_i log-normal of mean 1
cost   g(y, z) = sum_i  short max(0, y_i - q z_i) + over max(0, q z_i - y_i)
solve  the least g at the predicted demands, exactly: tray by tray to where it saves most, as long as it saves

A predictor that does not know that items share their law has m k weights for each item instead of k. A unit too few is
dearer than one too many, for every item alike: it pays to predict too high.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit

from fewsolves.demo.sources import Dataset, Source, Streams, parameter_rows
from fewsolves.problem import Array
from fewsolves_studies.benchmarks.panel.batched import Batched


@dataclass(frozen=True)
class Oven(Batched):
    """Solve and cost of one oven."""

    n_items: int
    tray: float  # q
    trays: int  # K
    short: float
    over: float

    def solve_batch(self, Y_hat: Array) -> Array:
        demands = np.maximum(0.0, parameter_rows(Y_hat, self.n_items))
        Z = np.zeros(demands.shape, np.int64)
        _bake(demands, self.tray, self.trays, self.short, self.over, Z)
        return Z

    def cost_batch(self, Y: Array, Z: Array) -> Array:
        missing = parameter_rows(Y, self.n_items) - self.tray * np.asarray(Z, dtype=np.float64)
        cost: Array = (self.short * np.maximum(0.0, missing) + self.over * np.maximum(0.0, -missing)).sum(axis=1)
        return cost


@njit(cache=True, nogil=True, error_model="numpy")
def _bake(demands, tray, trays, short, over, Z):  # type: ignore[no-untyped-def]
    n = demands.shape[1]
    for b in range(len(demands)):
        left = demands[b].copy()
        for _ in range(trays):
            best, most = -1, 0.0
            for i in range(n):
                sold = min(max(left[i], 0.0), tray)
                saved = short * sold - over * (tray - sold)
                if saved > most:
                    best, most = i, saved
            if best < 0:
                break
            Z[b, best] += 1
            left[best] -= tray


@dataclass(frozen=True, eq=False)
class SharedLaw(Source):
    """y_i = max(1, level + w.x_i) u_i; rows of x are (m, k), or laid flat (m k,)."""

    weights: Array  # w
    n_items: int
    level: float
    noise: float
    flat: bool

    def features(self, n: int, rng: np.random.Generator) -> Array:
        X = rng.standard_normal((n, self.n_items, len(self.weights)))
        return X.reshape(n, -1) if self.flat else X

    def draw_given(self, X: Array, rng: np.random.Generator) -> Array:
        mean = self.mean(X)
        return mean * np.exp(self.noise * rng.standard_normal(mean.shape) - self.noise**2 / 2.0)

    def mean(self, X: Array) -> Array:
        by_item = np.reshape(X, (-1, self.n_items, len(self.weights)))
        mean: Array = np.maximum(1.0, self.level + by_item @ self.weights)
        return mean


def items(
    streams: Streams,
    *,
    n: int = 300,  # rows
    n_items: int = 12,
    n_features: int = 4,  # of each item
    level: float = 30.0,
    spread: float = 0.3,  # of the level: what the features tell
    noise: float = 0.3,
    tray: float = 6.0,
    trays: float = 1.3,  # of those that the average demand fills
    short: float = 6.0,
    over: float = 1.0,
    flat: bool = True,  # False: X is (n, n_items, n_features)
) -> Dataset:
    """Items of one kind: the same level, the same prices."""
    weights = streams.fixed.standard_normal(n_features)
    weights *= spread * level / np.linalg.norm(weights)
    oven = Oven(n_items, tray, round(trays * n_items * level / tray), short, over)
    problem = oven.problem(name="items")
    source = SharedLaw(weights, n_items, level, noise, flat)
    return Dataset(problem, source, *source.draw(n, streams.rows))
