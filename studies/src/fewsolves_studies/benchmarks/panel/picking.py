"""How many cases of each good one walk brings to the shelves, whose stock is known, before the demands are.

y   (n,)   demands of the goods              z   (n,)   cases brought, integers >= 0, sum z <= K, the cart
s   (n,)   units on the shelf, and x (n,) how far away the cases lie: known data of the row, (s_1..s_n, x_1..x_n)
q          units in a case                   short, over (n,)   price of a unit too few, too many

cost   g(y, z) = walk max {x_i : z_i > 0} + grip |{i : z_i > 0}|
                 + short.max(0, y - s - q z) + over.max(0, s + q z - y)
solve  the least g at the predicted demands, exactly: for every distance that the walk may go to, dynamic programming
       over the cart; negative predictions are 0

A unit too few is dearer than one too many: it pays to predict too high.
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
class Picking(Batched):
    """Solve and cost of one set of goods; `shelves` are the known data of the rows."""

    short: Array
    over: Array
    case: int  # q
    cart: int  # K
    walk: float
    grip: float

    def solve_batch(self, Y_hat: Array, shelves: Sequence[tuple[float, ...]]) -> Array:
        Y_hat = np.maximum(0.0, parameter_rows(Y_hat, len(self.short)))
        stock, place = self._parts(shelves)
        Z = np.zeros(Y_hat.shape, np.int64)
        missing = Y_hat - stock
        _fill_carts(missing, place, self.short, self.over, self.case, self.cart, self.walk, self.grip, Z)
        return Z

    def cost_batch(self, Y: Array, Z: Array, shelves: Sequence[tuple[float, ...]]) -> Array:
        Z = np.asarray(Z, dtype=np.float64)
        stock, place = self._parts(shelves)
        missing = parameter_rows(Y, len(self.short)) - stock - self.case * Z
        trip = self.walk * np.where(Z > 0.0, place, 0.0).max(axis=1) + self.grip * (Z > 0.0).sum(axis=1)
        cost: Array = trip + np.maximum(0.0, missing) @ self.short + np.maximum(0.0, -missing) @ self.over
        return cost

    def _parts(self, shelves: Sequence[tuple[float, ...]]) -> tuple[Array, Array]:
        known = np.asarray(shelves, dtype=np.float64)
        return known[:, : len(self.short)], known[:, len(self.short) :]


@njit(cache=True, nogil=True, error_model="numpy")
def _fill_carts(missing, place, short, over, case, cart, walk, grip, Z):  # type: ignore[no-untyped-def]
    n = len(short)
    price = np.empty((n, cart + 1))  # of k cases of a good
    best = np.empty((n + 1, cart + 1))  # of the goods from the first to the i-th, by the cases they may have
    chosen = np.empty((n, cart + 1), np.int64)
    for b in range(len(missing)):
        for i in range(n):
            for k in range(cart + 1):
                left = missing[b, i] - case * k
                price[i, k] = (grip if k else 0.0) + (short[i] * left if left > 0.0 else -over[i] * left)
        least = np.inf
        for far in range(-1, n):  # the good that is farthest; -1: no walk
            reach = place[b, far] if far >= 0 else -np.inf
            best[0] = 0.0
            for i in range(n):
                for room in range(cart + 1):
                    best[i + 1, room], chosen[i, room] = best[i, room] + price[i, 0], 0
                    if place[b, i] <= reach:
                        for k in range(1, room + 1):
                            cost = best[i, room - k] + price[i, k]
                            if cost < best[i + 1, room]:
                                best[i + 1, room], chosen[i, room] = cost, k
            total = best[n, cart] + (walk * reach if far >= 0 else 0.0)
            if total < least:
                least, room = total, cart
                for i in range(n - 1, -1, -1):
                    Z[b, i] = chosen[i, room]
                    room -= chosen[i, room]


def picking(
    streams: Streams,
    *,
    n: int = 300,  # rows
    n_goods: int = 6,
    n_features: int = 4,
    curvature: float = 0.4,
    spread: float = 0.4,
    noise: float = 0.3,
    case: int = 5,
    cart: int = 30,
    walk: float = 0.5,
    grip: float = 3.0,
) -> Dataset:
    """A shelf has up to the average demand left, and new cases are placed each day."""
    fixed = streams.fixed
    level = fixed.uniform(12.0, 40.0, n_goods)
    short, over = fixed.uniform(5.0, 12.0, n_goods), fixed.uniform(0.3, 1.2, n_goods)
    goods = Picking(short, over, case, cart, walk, grip)
    signal = random_signal(n_goods, n_features, fixed, curvature=curvature, shared=0.4)
    problem = goods.problem(name="picking")
    source = Counts(signal, level, spread, noise, common=0.3, known=partial(_random_shelves, level))
    return Dataset(problem, source, *source.draw(n, streams.rows))


def _random_shelves(level: Array, n: int, rng: np.random.Generator) -> list[tuple[float, ...]]:
    stock = np.floor(rng.uniform(0.0, level + 1.0, (n, len(level))))
    place = rng.integers(5, 60, (n, len(level)), endpoint=True)
    return [tuple(row) for row in np.column_stack([stock, place]).tolist()]
