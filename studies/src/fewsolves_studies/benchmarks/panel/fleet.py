"""Vehicles of two sizes for one unknown demand: capacity in steps.

y   (1,)   units to carry          z   (2,)   vehicles of each size, integers 0..most

cost   g(y, z) = rent.z + carrier max(0, y - size.z)          what does not fit goes by a carrier, unit by unit
solve  the least g at the predicted demand, by looking at every fleet
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fewsolves.demo.sources import Dataset, Streams, parameter_rows
from fewsolves.problem import Array
from fewsolves_studies.benchmarks.panel.batched import Batched
from fewsolves_studies.benchmarks.panel.responses import Factors, random_signal


@dataclass(frozen=True, eq=False)
class Fleet(Batched):
    """Solve and cost; `fleets` (F, 2) are all that can be rented, the cheapest first."""

    fleets: Array
    room: Array  # (F,)
    rent: Array  # (F,)
    carrier: float

    def solve_batch(self, Y_hat: Array) -> Array:
        z: Array = self.fleets[np.argmin(self._costs(parameter_rows(Y_hat, 1), self.rent, self.room), axis=1)]
        return z

    def cost_batch(self, Y: Array, Z: Array) -> Array:
        Z = np.asarray(Z, dtype=np.int64)
        index = np.argmax((Z[:, None] == self.fleets).all(axis=2), axis=1)
        return self._costs(parameter_rows(Y, 1)[:, 0], self.rent[index], self.room[index])

    def _costs(self, y: Array, rent: Array, room: Array) -> Array:
        costs: Array = rent + self.carrier * np.maximum(0.0, y - room)
        return costs


def fleet(
    streams: Streams,
    *,
    n: int = 300,  # rows
    n_features: int = 4,
    curvature: float = 0.4,
    spread: float = 0.35,
    noise: float = 0.3,
    size: tuple[float, float] = (14.0, 36.0),
    rent: tuple[float, float] = (42.0, 90.0),
    most: tuple[int, int] = (4, 6),
    carrier: float = 15.0,
) -> Dataset:
    """Demands of some 90 units."""
    fixed = streams.fixed
    small, large = np.meshgrid(*(np.arange(limit + 1) for limit in most), indexing="ij")
    fleets = np.column_stack([small.ravel(), large.ravel()])
    fleets = fleets[np.argsort(fleets @ np.array(rent), kind="stable")]
    vehicles = Fleet(fleets, fleets @ np.array(size), fleets @ np.array(rent), carrier)
    signal = random_signal(1, n_features, fixed, curvature=curvature, shared=0.0)
    problem = vehicles.problem(name="fleet")
    source = Factors(signal, np.array([fixed.uniform(80.0, 100.0)]), spread, noise, common=0.0)
    return Dataset(problem, source, *source.draw(n, streams.rows))
