"""The knapsack datasets: fixed data of one seed, the source of (x, y) pairs, and the problem.

w ~ U(0, 1)^n, v ~ U(0, 1)^n      fixed weights and values, where they are not the unknown
S = sum w                         capacity of kp-capacity: round(S max(0.1, Beta(a, a)))
a = (1 + (b.x)^degree) u          x = |N(0, I)|, u ~ U(1 - h, 1 + h), b one row of B, not all zero
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import betainc

from fewsolves.benchmarks.knapsack import unknown_capacity, unknown_values, unknown_weights
from fewsolves.benchmarks.sources import Dataset, PoissonCounts, Source, Streams, random_incidence
from fewsolves.errors import InputError
from fewsolves.problem import Array


def kp_weights(
    streams: Streams,
    *,
    n: int = 1000,  # instances
    n_items: int = 50,
    n_features: int = 5,
    degree: int = 5,
    noise: str = "additive",
    half_width: float = 0.5,
    capacity_share: float = 0.2,  # of the mean total weight
    penalty: float = 10.0,
    backend: str = "embedded",
) -> Dataset:
    """Weights are counts; values are known."""
    B = random_incidence(n_items, n_features, streams.fixed)
    values = streams.fixed.uniform(size=n_items)
    source = PoissonCounts(B, degree, noise, half_width, np.ones(n_items))
    X, Y = source.draw(n, streams.rows)
    capacity = float(np.rint(capacity_share * Y.sum(axis=1).mean()))
    return Dataset(unknown_weights(values, capacity, penalty, backend=backend), source, X, Y)


def kp_values(
    streams: Streams,
    *,
    n: int = 1000,
    n_items: int = 50,
    n_features: int = 5,
    degree: int = 5,
    noise: str = "additive",
    half_width: float = 0.5,
    capacity_share: float = 0.5,  # of the total weight
    backend: str = "embedded",
) -> Dataset:
    """Values are counts times the known weight of the item."""
    B = random_incidence(n_items, n_features, streams.fixed)
    weights = streams.fixed.uniform(size=n_items)
    source = PoissonCounts(B, degree, noise, half_width, weights)
    X, Y = source.draw(n, streams.rows)
    return Dataset(unknown_values(weights, capacity_share * float(weights.sum()), backend=backend), source, X, Y)


def kp_capacity(
    streams: Streams,
    *,
    n: int = 1000,
    n_items: int = 50,
    n_features: int = 5,
    degree: int = 5,
    capacity: str = "beta",
    noise: str | None = None,  # of the Poisson capacity, additive unless told; the Beta capacity has its own
    half_width: float = 0.5,
    penalty: float = 10.0,
    backend: str = "embedded",
) -> Dataset:
    """One capacity is unknown; with capacity="poisson" the weights are scaled to twice its mean."""
    b = random_incidence(1, n_features, streams.fixed)
    while not b.any():
        b = random_incidence(1, n_features, streams.fixed)
    weights = streams.fixed.uniform(size=n_items)
    values = streams.fixed.uniform(size=n_items) * weights
    source: Source
    if capacity == "beta":
        if noise is not None:
            raise InputError("kp-capacity takes `noise` with capacity='poisson' only")
        source = BetaCapacity(b[0], degree, half_width, float(weights.sum()))
    elif capacity == "poisson":
        source = PoissonCounts(b, degree, noise or "additive", half_width, np.ones(1))
    else:
        raise InputError(f"capacity is 'beta' or 'poisson', got {capacity!r}")
    X, Y = source.draw(n, streams.rows)
    if capacity == "poisson":
        weights = weights * (2.0 * Y.mean() / weights.sum())
    return Dataset(unknown_capacity(values, weights, penalty, backend=backend), source, X, Y)


@dataclass(frozen=True, eq=False)
class BetaCapacity(Source):
    """A share of the total weight, around one half and the surer the larger b.x is."""

    b: Array
    degree: int
    half_width: float
    total: float

    def features(self, n: int, rng: np.random.Generator) -> Array:
        return np.abs(rng.standard_normal((n, len(self.b))))

    def draw_given(self, X: Array, rng: np.random.Generator) -> Array:
        a = self._shape(X) * rng.uniform(1.0 - self.half_width, 1.0 + self.half_width, len(X))
        return np.rint(self.total * np.maximum(0.1, rng.beta(a, a)))[:, None]

    def mean(self, X: Array) -> Array:
        """E[y | x] = sum over k >= 1 of P(y >= k | x), the noise u integrated by Gauss-Legendre."""
        node, node_weight = np.polynomial.legendre.leggauss(16)
        a = self._shape(X)[:, None] * (1.0 + self.half_width * node)
        mean = np.zeros(len(X))
        for k in range(1, int(np.rint(self.total)) + 1):
            share = (k - 0.5) / self.total
            mean += 1.0 if share <= 0.1 else (1.0 - betainc(a, a, share)) @ node_weight / 2.0
        return mean[:, None]

    def _shape(self, X: Array) -> Array:
        shape: Array = 1.0 + (X @ self.b) ** self.degree
        return shape
