"""Which parcels to load before they are weighed: a knapsack whose limit is known and differs from row to row.

y   (n,)   weights                    z   (n,)   0 or 1, loaded
v   (n,)   values                     c          weight limit: known data of the row

solve  max v.z subject to y_hat.z <= c, exactly, by depth-first search with the bound of the relaxation; the
       parcels of negative predicted weight weigh 0
cost   g(y, z) = -v.z + fine max(0, y.z - c)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numba import njit

from fewsolves.demo.sources import Dataset, Streams, parameter_rows
from fewsolves.problem import Array
from fewsolves_studies.benchmarks.panel.batched import Batched
from fewsolves_studies.benchmarks.panel.responses import Factors, random_signal


@dataclass(frozen=True, eq=False)
class Loading(Batched):
    """Solve and cost of one set of parcels; `limits` are the known data of the rows."""

    value: Array
    fine: float

    def solve_batch(self, Y_hat: Array, limits: Sequence[float]) -> Array:
        weights = np.maximum(0.0, parameter_rows(Y_hat, len(self.value)))
        first = np.argsort(weights / self.value, axis=1, kind="stable")
        Z = np.zeros(weights.shape, np.int64)
        _load(np.ascontiguousarray(weights), self.value, np.asarray(limits, dtype=np.float64), first, Z)
        return Z

    def cost_batch(self, Y: Array, Z: Array, limits: Sequence[float]) -> Array:
        Z = np.asarray(Z, dtype=np.float64)
        weight = np.einsum("bi,bi->b", parameter_rows(Y, len(self.value)), Z)
        cost: Array = -Z @ self.value + self.fine * np.maximum(0.0, weight - np.asarray(limits, dtype=np.float64))
        return cost


@njit(cache=True, nogil=True, error_model="numpy")
def _load(weights, value, limits, first, Z):  # type: ignore[no-untyped-def]
    n = len(value)
    taken = np.zeros(n, np.bool_)  # by position in the order of value per weight, the best first
    for b in range(len(weights)):
        order, w = first[b], weights[b]
        taken[:] = False
        best, worth, left, position = 0.0, 0.0, limits[b], 0
        while True:
            while position < n:
                bound, room, k = worth, left, position
                while k < n and w[order[k]] <= room:
                    room -= w[order[k]]
                    bound += value[order[k]]
                    k += 1
                if k < n:
                    bound += value[order[k]] * room / w[order[k]]
                if bound <= best:
                    break
                if w[order[position]] <= left:
                    taken[position] = True
                    worth += value[order[position]]
                    left -= w[order[position]]
                position += 1
            if position == n and worth > best:
                best = worth
                for k in range(n):
                    Z[b, order[k]] = taken[k]
            position -= 1
            while position >= 0 and not taken[position]:
                position -= 1
            if position < 0:
                break
            taken[position] = False  # the branch without it
            worth -= value[order[position]]
            left += w[order[position]]
            position += 1


def loading(
    streams: Streams,
    *,
    n: int = 300,  # rows
    n_parcels: int = 16,
    n_features: int = 5,
    curvature: float = 0.4,
    spread: float = 0.4,
    noise: float = 0.3,
    fine: float = 3.0,  # of the mean value per unit of weight
    least_limit: float = 0.25,  # of the weight of all parcels on average
    largest_limit: float = 0.75,
) -> Dataset:
    """Values go with the weights in part."""
    fixed = streams.fixed
    level = fixed.uniform(5.0, 25.0, n_parcels)
    value = np.rint(level * fixed.uniform(0.7, 1.5, n_parcels) + 3.0)
    parcels = Loading(value, fine * float(value.sum() / level.sum()))
    signal = random_signal(n_parcels, n_features, fixed, curvature=curvature, shared=0.3)
    problem = parcels.problem(name="loading")
    low, high = least_limit * level.sum(), largest_limit * level.sum()
    source = Factors(signal, level, spread, noise, common=0.3, known=partial(_random_limits, low, high))
    return Dataset(problem, source, *source.draw(n, streams.rows))


def _random_limits(low: float, high: float, n: int, rng: np.random.Generator) -> list[float]:
    return [float(limit) for limit in rng.uniform(low, high, n)]
