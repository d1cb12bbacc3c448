"""When to charge a battery and when to use it, at prices known per row, for loads that are unknown.

y   (T,)   load of each period                   z   (T,)   units into the battery (out of it: < 0), integers -R..R
p   (T,)   prices of energy: known data of the row
s_t        charge, s_0 = 0, s_t = s_{t-1} + z_t, 0 <= s_t <= S
d_t        what the grid gives: y_t + z_t, or y_t + e z_t where z_t < 0; e is the battery's efficiency

cost   g(y, z) = sum_t  p_t max(0, d_t) + fine max(0, d_t - L) + wear |z_t|          L is the line's limit
solve  the least g at the predicted loads, exactly, by dynamic programming over the charge

Above the limit energy is dear, and what is fed back below 0 is given away: it pays to predict more than the mean where
a peak is likely.
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


@dataclass(frozen=True)
class Charging(Batched):
    """Solve and cost of one battery; `prices` are the known data of the rows."""

    n_periods: int
    size: int  # S
    rate: int  # R
    efficiency: float
    limit: float  # L
    fine: float
    wear: float

    def solve_batch(self, Y_hat: Array, prices: Sequence[tuple[float, ...]]) -> Array:
        Y_hat = np.ascontiguousarray(parameter_rows(Y_hat, self.n_periods))
        Z = np.empty(Y_hat.shape, np.int64)
        facts = np.array([self.efficiency, self.limit, self.fine, self.wear])
        _best_plans(Y_hat, np.asarray(prices, dtype=np.float64), self.size, self.rate, facts, Z)
        return Z

    def cost_batch(self, Y: Array, Z: Array, prices: Sequence[tuple[float, ...]]) -> Array:
        Z = np.asarray(Z, dtype=np.float64)
        drawn = parameter_rows(Y, self.n_periods) + np.where(Z < 0.0, self.efficiency, 1.0) * Z
        paid = np.asarray(prices, dtype=np.float64) * np.maximum(0.0, drawn)
        cost: Array = (paid + self.fine * np.maximum(0.0, drawn - self.limit) + self.wear * np.abs(Z)).sum(axis=1)
        return cost


@njit(cache=True, nogil=True, error_model="numpy")
def _best_plans(loads, prices, size, rate, facts, Z):  # type: ignore[no-untyped-def]
    n, periods = loads.shape
    efficiency, limit, fine, wear = facts
    rest = np.empty((periods + 1, size + 1))  # least cost from period t on, by the charge before it
    choice = np.empty((periods, size + 1), np.int64)
    at = np.empty(2 * rate + 1)
    for b in range(n):
        rest[periods] = 0.0
        for t in range(periods - 1, -1, -1):
            for k in range(-rate, rate + 1):
                drawn = loads[b, t] + (efficiency * k if k < 0 else k)
                at[k + rate] = prices[b, t] * max(0.0, drawn) + fine * max(0.0, drawn - limit) + wear * abs(k)
            for charge in range(size + 1):
                best = np.inf
                for k in range(max(-rate, -charge), min(rate, size - charge) + 1):
                    cost = at[k + rate] + rest[t + 1, charge + k]
                    if cost < best:
                        best, choice[t, charge] = cost, k
                rest[t, charge] = best
        charge = 0
        for t in range(periods):
            Z[b, t] = choice[t, charge]
            charge += Z[b, t]


def charging(
    streams: Streams,
    *,
    n: int = 300,  # rows
    n_periods: int = 12,
    n_features: int = 5,
    curvature: float = 0.4,
    spread: float = 0.3,
    noise: float = 0.25,
    size: int = 12,
    rate: int = 4,
    efficiency: float = 0.9,
    limit: float = 1.1,  # of the largest load on average
    fine: float = 10.0,  # of the mean price
    wear: float = 0.05,
) -> Dataset:
    """Loads and prices have a peak each, not at the same time."""
    fixed = streams.fixed
    hour = 2.0 * np.pi * np.arange(n_periods) / n_periods
    level = 10.0 * (1.0 + 0.5 * np.sin(hour + fixed.uniform(0.0, 2.0 * np.pi))) * fixed.uniform(0.85, 1.15, n_periods)
    battery = Charging(n_periods, size, rate, efficiency, limit * float(level.max()), fine, wear)
    signal = random_signal(n_periods, n_features, fixed, curvature=curvature, shared=0.4)
    price = 1.0 + 0.4 * np.sin(hour + fixed.uniform(0.0, 2.0 * np.pi))
    problem = battery.problem(name="charging")
    source = Factors(signal, level, spread, noise, common=0.2, known=partial(_random_prices, price))
    return Dataset(problem, source, *source.draw(n, streams.rows))


def _random_prices(price: Array, n: int, rng: np.random.Generator) -> list[tuple[float, ...]]:
    return [tuple(row) for row in (price * np.exp(0.3 * rng.standard_normal((n, len(price))))).tolist()]
