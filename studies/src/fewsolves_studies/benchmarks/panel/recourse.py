"""Stock at depots before the demands of customers are known; what a plan costs is a linear program itself.

y   (J,)     demands of the customers        z   (D,)   units stored at the depots, 0 <= z <= U
x   (D, J)   units shipped once y is known   u   (J,)   units that come by express

cost   g(y, z) = store.z + min  ship.x + express.u - back.(z - x 1)
                 subject to     x 1 <= z,  1'x + u = y,  x, u >= 0
solve  the least g at the predicted demands over z too: one larger program; negative predictions are 0

Both are solved by scipy's HiGHS, so a cost takes about as long as a solve. A unit that comes by express is dearer than
one that is sent back: it pays to predict too high.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import linprog

from fewsolves.demo.sources import Dataset, Streams, parameter_rows
from fewsolves.problem import Array
from fewsolves_studies.benchmarks.panel.batched import Batched
from fewsolves_studies.benchmarks.panel.responses import Factors, random_signal

Bounds = Sequence[tuple[float, float | None]]  # of each variable, least and most


@dataclass(frozen=True, eq=False)
class Recourse(Batched):
    """Solve and cost of one set of depots and customers. A batch is a loop."""

    store: Array  # (D,)
    room: Array  # (D,) U
    ship: Array  # (D, J)
    express: Array  # (J,)
    back: Array  # (D,) refund of a unit that is sent back

    def solve_batch(self, Y_hat: Array) -> Array:
        n_depots, n_customers = self.ship.shape
        from_depot, to_customer = self._flows()
        prices = np.concatenate([self._second(), self.store - self.back])
        leaves = np.hstack([from_depot, -np.eye(n_depots)])
        meets = np.hstack([to_customer, np.zeros((n_customers, n_depots))])
        bounds = [*[(0.0, None)] * (len(prices) - n_depots), *((0.0, float(most)) for most in self.room)]
        return np.array(
            [
                _least(prices, leaves, np.zeros(n_depots), meets, y, bounds)[0][-n_depots:]
                for y in np.maximum(0.0, parameter_rows(Y_hat, n_customers))
            ]
        )

    def cost_batch(self, Y: Array, Z: Array) -> Array:
        Z = np.asarray(Z, dtype=np.float64)
        from_depot, to_customer = self._flows()
        rows = zip(parameter_rows(Y, len(self.express)), Z, strict=True)
        prices = self._second()
        bounds = [(0.0, None)] * len(prices)
        later = [_least(prices, from_depot, z, to_customer, y, bounds)[1] for y, z in rows]
        cost: Array = Z @ (self.store - self.back) + np.array(later)
        return cost

    def _second(self) -> Array:
        """Prices of x, depot by depot, and of u."""
        return np.concatenate([(self.ship + self.back[:, None]).ravel(), self.express])

    def _flows(self) -> tuple[Array, Array]:
        """What leaves each depot and what comes to each customer, as matrices over (x, u)."""
        n_depots, n_customers = self.ship.shape
        leaves = np.hstack([np.kron(np.eye(n_depots), np.ones(n_customers)), np.zeros((n_depots, n_customers))])
        return leaves, np.tile(np.eye(n_customers), n_depots + 1)


def _least(prices: Array, A: Array, b: Array, E: Array, e: Array, bounds: Bounds) -> tuple[Array, float]:
    found = linprog(prices, A_ub=A, b_ub=b, A_eq=E, b_eq=e, bounds=bounds, method="highs")
    if found.x is None or found.fun is None:
        raise RuntimeError(f"HiGHS found no plan: {found.message}")
    return found.x, float(found.fun)


def recourse(
    streams: Streams,
    *,
    n: int = 300,  # rows
    n_depots: int = 3,
    n_customers: int = 6,
    n_features: int = 5,
    curvature: float = 0.4,
    spread: float = 0.4,
    noise: float = 0.3,
    room: float = 2.0,  # of all depots, in units of the average demand
) -> Dataset:
    """Depots and customers in a square; shipping costs the distance."""
    fixed = streams.fixed
    depot, customer = fixed.uniform(0.0, 10.0, (n_depots, 2)), fixed.uniform(0.0, 10.0, (n_customers, 2))
    ship = 0.3 * np.linalg.norm(depot[:, None] - customer, axis=2)
    level = fixed.uniform(10.0, 30.0, n_customers)
    store = fixed.uniform(2.0, 3.0, n_depots)
    most = np.full(n_depots, room * float(level.sum()) / n_depots)
    network = Recourse(store, most, ship, fixed.uniform(12.0, 20.0, n_customers), 0.4 * store)
    signal = random_signal(n_customers, n_features, fixed, curvature=curvature, shared=0.4)
    problem = network.problem(name="recourse")
    source = Factors(signal, level, spread, noise, common=0.3)
    return Dataset(problem, source, *source.draw(n, streams.rows))
