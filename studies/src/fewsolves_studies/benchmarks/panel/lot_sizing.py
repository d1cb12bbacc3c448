"""When to produce, and how much, for demands that are unknown; what is missing is expedited.

y   (T,)   demands of the periods           z   (T,)   batches produced in each period, integers 0..K of q units
I_0        stock at the start: 0, or known data of the row           I_t = max(0, I_{t-1} + q z_t - y_t)

cost   g(y, z) = sum_t  setup [z_t > 0] + unit q z_t + holding I_t + expedite max(0, y_t - I_{t-1} - q z_t)
solve  the least g at the predicted demands, rounded to whole units, exactly, by dynamic programming over the
       stock; a stock above `largest_inventory` is not looked at
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
from fewsolves_studies.benchmarks.panel.responses import Counts, random_signal


@dataclass(frozen=True, eq=False)
class LotSizing(Batched):
    """Solve and cost of one plant; `stocks` are the known data of the rows."""

    n_periods: int
    batch: int
    most_batches: int
    setup: float
    unit: float
    holding: float
    expedite: float
    largest_inventory: int

    def solve_batch(self, Y_hat: Array, stocks: Sequence[int] | None = None) -> Array:
        Y_hat = parameter_rows(Y_hat, self.n_periods)
        beyond = self.largest_inventory + self.batch * self.most_batches  # no plan looked at meets more in one period
        demands = np.rint(np.clip(Y_hat, 0.0, beyond)).astype(np.int64)
        Z = np.empty(demands.shape, np.int64)
        start = np.rint(_or_nothing(stocks, len(demands))).astype(np.int64)
        prices = np.array([self.setup, self.unit * self.batch, self.holding, self.expedite])
        _best_plans(demands, start, self.batch, self.most_batches, self.largest_inventory, prices, Z)
        return Z

    def cost_batch(self, Y: Array, Z: Array, stocks: Sequence[int] | None = None) -> Array:
        Y, Z = parameter_rows(Y, self.n_periods), np.asarray(Z, dtype=np.float64)
        cost: Array = self.setup * (Z > 0).sum(axis=1) + self.unit * self.batch * Z.sum(axis=1)
        stock = _or_nothing(stocks, len(Y))
        for t in range(self.n_periods):
            left = stock + self.batch * Z[:, t] - Y[:, t]
            stock = np.maximum(0.0, left)
            cost += self.holding * stock + self.expedite * np.maximum(0.0, -left)
        return cost


def _or_nothing(stocks: Sequence[int] | None, n: int) -> Array:
    return np.zeros(n) if stocks is None else np.asarray(stocks, dtype=np.float64)


@njit(cache=True, nogil=True, error_model="numpy")
def _best_plans(demands, start, batch, most, largest, prices, Z):  # type: ignore[no-untyped-def]
    n, periods = demands.shape
    setup, per_batch, holding, expedite = prices
    rest = np.empty((periods + 1, largest + 1))  # least cost from period t on, by the stock before it
    choice = np.empty((periods, largest + 1), np.int64)
    for b in range(n):
        rest[periods] = 0.0
        for t in range(periods - 1, -1, -1):
            for stock in range(largest + 1):
                best = np.inf
                for k in range(most + 1):
                    left = stock + batch * k - demands[b, t]
                    if left > largest:
                        break
                    cost = per_batch * k + (setup if k else 0.0)
                    if left >= 0:
                        cost += holding * left + rest[t + 1, left]
                    else:
                        cost += rest[t + 1, 0] - expedite * left
                    if cost < best:
                        best, choice[t, stock] = cost, k
                rest[t, stock] = best
        stock = min(start[b], largest)
        for t in range(periods):
            Z[b, t] = choice[t, stock]
            stock = max(0, stock + batch * Z[b, t] - demands[b, t])


def lot_sizing(
    streams: Streams,
    *,
    n: int = 300,  # rows
    n_periods: int = 12,
    n_features: int = 5,
    curvature: float = 0.4,
    spread: float = 0.4,
    noise: float = 0.3,
    batch: int = 10,  # q
    most_batches: int = 6,  # K
    setup: float = 50.0,
    unit: float = 1.0,
    holding: float = 0.7,
    expedite: float = 8.0,
    largest_inventory: int = 160,
    largest_stock: int | None = None,  # given: every row has a known stock of 0 to this many units
) -> Dataset:
    """Demands with a season, as counts that scatter more than Poisson's."""
    fixed = streams.fixed
    plant = LotSizing(n_periods, batch, most_batches, setup, unit, holding, expedite, largest_inventory)
    season = np.sin(2.0 * np.pi * (np.arange(n_periods) / n_periods + fixed.uniform()))
    level = 22.0 * (1.0 + 0.4 * season) * fixed.uniform(0.8, 1.2, n_periods)
    signal = random_signal(n_periods, n_features, fixed, curvature=curvature, shared=0.4)
    problem = plant.problem(name="lot-sizing")
    known = None if largest_stock is None else partial(_random_stocks, largest_stock)
    source = Counts(signal, level, spread, noise, common=0.3, known=known)
    return Dataset(problem, source, *source.draw(n, streams.rows))


def _random_stocks(largest: int, n: int, rng: np.random.Generator) -> list[int]:
    return [int(stock) for stock in rng.integers(0, largest, n, endpoint=True)]
