"""Three 0-1 knapsacks of which one part is predicted, weights, values or the capacity, and their datasets.

    v, w (n,)   values, weights        c  capacity        z (n,) in {0, 1}        p  penalty

Once the truth is known, selected items may be dropped at a loss of p v and others added for v / p:

    g(y, z) = -max { v.z + v.u+ / p - p v.u- : w.(z + u+ - u-) <= c, u- <= z, u+ <= 1 - z }

This is one knapsack: keep a selected item for p v, add another for v / p, and the constant (1 - p) v.z.
Predicted weights and capacities are rounded to integers and clipped at 0 here, in the problem.

The data: v, w ~ U(0, 1)^n where they are not the unknown, which is a count (`sources.py`), or for the capacity

    round(S max(0.1, Beta(a, a)))     S = sum w,  a = (1 + (b.x)^degree) u,  x = |N(0, I)|,  u ~ U(1 - h, 1 + h),
                                      b one row of B, not all zero
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from scipy.special import betainc

from fewsolves.demo.sources import Dataset, PoissonCounts, Source, Streams, parameter_rows, random_incidence
from fewsolves.errors import InputError
from fewsolves.problem import Array, Problem
from fewsolves_studies.benchmarks.knapsack_solver import CapacityTable, solve_knapsacks, tabulate
from fewsolves_studies.benchmarks.milp import knapsack_milp, recourse_milp


def recourse_cost(values: Array, weights: Array, capacity: Array | float, Z: Array, penalty: float) -> Array:
    """g for every row of Z (B, n); weights (B, n) or (n,), capacity (B,) or scalar."""
    kept_or_added = np.where(Z > 0.5, penalty * values, values / penalty)
    return (penalty - 1.0) * (Z @ values) - solve_knapsacks(kept_or_added, weights, capacity).value


def whole(y: Array) -> Array:
    """Rounded to integers, clipped at 0."""
    return np.maximum(0.0, np.rint(y))


@dataclass(frozen=True, eq=False)
class _Knapsack(ABC):
    """Single calls are batches of one row."""

    n_y: int
    backend: str  # "embedded", or "milp": HiGHS

    def solve(self, y_hat: Array) -> Array:
        z: Array = self.solve_batch(np.asarray(y_hat)[None])[0]
        return z

    def cost(self, y: Array, z: Array) -> float:
        return float(self.cost_batch(np.asarray(y)[None], np.asarray(z)[None])[0])

    @abstractmethod
    def solve_batch(self, Y_hat: Array) -> Array: ...

    @abstractmethod
    def cost_batch(self, Y: Array, Z: Array) -> Array: ...


@dataclass(frozen=True, eq=False)
class UnknownValues(_Knapsack):
    """y = values: a linear objective over a known feasible set, so nothing needs repair."""

    weights: Array
    capacity: float

    def solve_batch(self, Y_hat: Array) -> Array:
        Y_hat = parameter_rows(Y_hat, self.n_y)
        if self.backend == "milp":
            return np.stack([knapsack_milp(v, self.weights, self.capacity) for v in Y_hat])
        return solve_knapsacks(Y_hat, self.weights, self.capacity).z

    def cost_batch(self, Y: Array, Z: Array) -> Array:
        cost: Array = -np.einsum("ij,ij->i", parameter_rows(Y, self.n_y), np.asarray(Z, dtype=np.float64))
        return cost

    def objective(self, y_hat: Array, z: Array) -> float:
        return -float(np.dot(y_hat, z))


@dataclass(frozen=True, eq=False)
class UnknownWeights(_Knapsack):
    """y = weights, with recourse."""

    values: Array
    capacity: float
    penalty: float

    def solve_batch(self, Y_hat: Array) -> Array:
        W = whole(parameter_rows(Y_hat, self.n_y))
        if self.backend == "milp":
            return np.stack([knapsack_milp(self.values, w, self.capacity) for w in W])
        return solve_knapsacks(self.values, W, self.capacity).z

    def cost_batch(self, Y: Array, Z: Array) -> Array:
        W, Z = whole(parameter_rows(Y, self.n_y)), np.asarray(Z, dtype=np.float64)
        if self.backend == "milp":
            rows = zip(W, Z, strict=True)
            return np.array([-recourse_milp(self.values, w, self.capacity, z, self.penalty) for w, z in rows])
        return recourse_cost(self.values, W, self.capacity, Z, self.penalty)


@dataclass(frozen=True, eq=False)
class UnknownCapacity(_Knapsack):
    """y = capacity, with recourse; one table answers every capacity."""

    values: Array
    weights: Array
    penalty: float
    table: CapacityTable

    def solve_batch(self, Y_hat: Array) -> Array:
        capacity = whole(parameter_rows(Y_hat, self.n_y))[:, 0]
        if self.backend == "milp":
            return np.stack([knapsack_milp(self.values, self.weights, c) for c in capacity])
        return self.table.solve(capacity)

    def cost_batch(self, Y: Array, Z: Array) -> Array:
        capacity, Z = whole(parameter_rows(Y, self.n_y))[:, 0], np.asarray(Z, dtype=np.float64)
        if self.backend == "milp":
            rows = zip(capacity, Z, strict=True)
            return np.array([-recourse_milp(self.values, self.weights, c, z, self.penalty) for c, z in rows])
        return recourse_cost(self.values, self.weights, capacity, Z, self.penalty)


def unknown_values(weights: Array, capacity: float, *, backend: str = "embedded") -> Problem:
    """max y.z subject to w.z <= c."""
    kp = UnknownValues(len(weights), backend, weights, capacity)
    return Problem(
        solve=kp.solve,
        cost=kp.cost,
        solve_batch=kp.solve_batch,
        cost_batch=kp.cost_batch,
        linear="max",
        name="kp-values",
    )


def unknown_weights(values: Array, capacity: float, penalty: float, *, backend: str = "embedded") -> Problem:
    """max v.z subject to y.z <= c, with recourse."""
    kp = UnknownWeights(len(values), backend, values, capacity, _checked(penalty))
    return Problem(
        solve=kp.solve, cost=kp.cost, solve_batch=kp.solve_batch, cost_batch=kp.cost_batch, name="kp-weights"
    )


def unknown_capacity(values: Array, weights: Array, penalty: float, *, backend: str = "embedded") -> Problem:
    """max v.z subject to w.z <= y, with recourse."""
    kp = UnknownCapacity(1, backend, values, weights, _checked(penalty), tabulate(values, weights))
    return Problem(
        solve=kp.solve, cost=kp.cost, solve_batch=kp.solve_batch, cost_batch=kp.cost_batch, name="kp-capacity"
    )


def _checked(penalty: float) -> float:
    if not penalty > 0.0:
        raise InputError(f"penalty must be positive, got {penalty}")
    return penalty


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
    noise: str | None = None,  # of the Poisson capacity, additive by default; the Beta capacity has its own
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
