"""A blend of materials whose content is unknown, at prices known per row.

y   (n,)   content of each material         z   (n,)   shares of the materials, >= 0, sum z = 1
p   (n,)   prices, and t the content that is asked for: known data of the row, (p_1, ..., p_n, t)

cost   g(y, z) = p.z + fine max(0, t - y.z)
solve  the least g at the predicted contents, exactly: g is piecewise linear and convex, so that one material alone or
       two that meet t exactly are best, and all of these are looked at

Content that is missing is dear, content in excess costs only what it was bought for: it pays to predict too low.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from fewsolves.demo.sources import Dataset, Streams, parameter_rows
from fewsolves.problem import Array
from fewsolves_studies.benchmarks.panel.batched import Batched
from fewsolves_studies.benchmarks.panel.responses import Factors, random_signal


@dataclass(frozen=True)
class Blending(Batched):
    """Solve and cost of `n_materials`; `orders` are the known data of the rows."""

    n_materials: int
    fine: float

    def solve_batch(self, Y_hat: Array, orders: Sequence[tuple[float, ...]]) -> Array:
        Y_hat = parameter_rows(Y_hat, self.n_materials)
        prices, target = _parts(orders)
        rows = np.arange(len(Y_hat))
        alone = prices + self.fine * np.maximum(0.0, target[:, None] - Y_hat)
        best = np.argmin(alone, axis=1)
        Z = np.zeros(Y_hat.shape)
        Z[rows, best] = 1.0
        poor, rich = (index.ravel() for index in np.indices((self.n_materials, self.n_materials)))
        below, above = Y_hat[:, poor] < target[:, None], Y_hat[:, rich] > target[:, None]
        gap = np.where(below & above, Y_hat[:, rich] - Y_hat[:, poor], 1.0)
        share = np.where(below & above, (target[:, None] - Y_hat[:, poor]) / gap, 0.0)  # of the richer one
        mixed = np.where(below & above, (1.0 - share) * prices[:, poor] + share * prices[:, rich], np.inf)
        pair = np.argmin(mixed, axis=1)
        better = np.flatnonzero(mixed[rows, pair] < alone[rows, best])
        pair = pair[better]
        Z[better] = 0.0
        Z[better, poor[pair]] = 1.0 - share[better, pair]
        Z[better, rich[pair]] = share[better, pair]
        return Z

    def cost_batch(self, Y: Array, Z: Array, orders: Sequence[tuple[float, ...]]) -> Array:
        Z = np.asarray(Z, dtype=np.float64)
        prices, target = _parts(orders)
        content = np.einsum("bi,bi->b", parameter_rows(Y, self.n_materials), Z)
        cost: Array = np.einsum("bi,bi->b", prices, Z) + self.fine * np.maximum(0.0, target - content)
        return cost


def _parts(orders: Sequence[tuple[float, ...]]) -> tuple[Array, Array]:
    known = np.asarray(orders, dtype=np.float64)
    return known[:, :-1], known[:, -1]


def blending(
    streams: Streams,
    *,
    n: int = 300,  # rows
    n_materials: int = 8,
    n_features: int = 5,
    curvature: float = 0.4,
    spread: float = 0.15,
    noise: float = 0.12,
    fine: float = 12.0,  # per unit of content, of which a material's price has about 2
) -> Dataset:
    """Rich materials cost more, and every row has prices of its own."""
    fixed = streams.fixed
    level = np.linspace(6.0, 20.0, n_materials) * fixed.uniform(0.9, 1.1, n_materials)
    price = 10.0 + 2.0 * level
    signal = random_signal(n_materials, n_features, fixed, curvature=curvature, shared=0.4)
    materials = Blending(n_materials, fine)
    problem = materials.problem(name="blending")
    source = Factors(signal, level, spread, noise, common=0.3, known=partial(_random_orders, price))
    return Dataset(problem, source, *source.draw(n, streams.rows))


def _random_orders(price: Array, n: int, rng: np.random.Generator) -> list[tuple[float, ...]]:
    prices = price * np.exp(0.15 * rng.standard_normal((n, len(price))))
    return [tuple(row) for row in np.column_stack([prices, rng.uniform(10.0, 15.0, n)]).tolist()]
