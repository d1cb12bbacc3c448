"""Orders of goods that share a store, before their demands are known.

y   (n,)   demands                    z   (n,)   ordered, >= 0, with v.z <= V
v   (n,)   volume of a unit           short, over (n,)   price of a unit too few, too many

cost   g(y, z) = short.max(0, y - z) + over.max(0, z - y)
solve  the least g at the predicted demands: fill the store in the order of short / v, each good up to its
       prediction; negative predictions are 0
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fewsolves.demo.sources import Dataset, Streams, parameter_rows
from fewsolves.problem import Array
from fewsolves_studies.benchmarks.panel.batched import Batched
from fewsolves_studies.benchmarks.panel.responses import Counts, random_signal


@dataclass(frozen=True, eq=False)
class Inventory(Batched):
    """Solve and cost of one set of goods."""

    volume: Array
    room: float  # V
    short: Array
    over: Array

    def solve_batch(self, Y_hat: Array) -> Array:
        wanted = np.maximum(0.0, parameter_rows(Y_hat, len(self.volume)))
        first = np.argsort(-self.short / self.volume, kind="stable")
        taken = np.cumsum(wanted[:, first] * self.volume[first], axis=1)
        before = np.hstack([np.zeros((len(wanted), 1)), taken[:, :-1]])
        Z = np.empty_like(wanted)
        Z[:, first] = np.minimum(wanted[:, first], np.maximum(0.0, self.room - before) / self.volume[first])
        return Z

    def cost_batch(self, Y: Array, Z: Array) -> Array:
        missing = parameter_rows(Y, len(self.volume)) - np.asarray(Z, dtype=np.float64)
        cost: Array = np.maximum(0.0, missing) @ self.short + np.maximum(0.0, -missing) @ self.over
        return cost


def inventory(
    streams: Streams,
    *,
    n: int = 300,  # rows
    n_goods: int = 6,
    n_features: int = 4,
    curvature: float = 0.4,
    spread: float = 0.4,
    noise: float = 0.3,
    room: float = 1.25,  # of the volume of the average demand
) -> Dataset:
    """Shortages of some goods are expensive, stocks of others."""
    fixed = streams.fixed
    level, volume = fixed.uniform(15.0, 60.0, n_goods), fixed.uniform(0.5, 2.0, n_goods)
    goods = Inventory(
        volume,
        room * float(level @ volume),
        short=fixed.uniform(3.0, 12.0, n_goods),
        over=fixed.uniform(0.5, 3.0, n_goods),
    )
    signal = random_signal(n_goods, n_features, fixed, curvature=curvature, shared=0.4)
    problem = goods.problem(name="inventory")
    source = Counts(signal, level, spread, noise, common=0.3)
    return Dataset(problem, source, *source.draw(n, streams.rows))
