"""Three 0-1 knapsacks of which one part is predicted: weights, values or the capacity.

    v, w (n,)   values, weights        c  capacity        z (n,) in {0, 1}        p  penalty

Once the truth is known, selected items may be dropped at a loss of p v and others added for v / p:

    g(y, z) = -max { v.z + v.u+ / p - p v.u- : w.(z + u+ - u-) <= c, u- <= z, u+ <= 1 - z }

This is one knapsack: keep a selected item for p v, add another for v / p, and the constant (1 - p) v.z.
Predicted weights and capacities are rounded to integers and clipped at 0 here, in the problem.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from fewsolves.benchmarks.knapsack_solver import CapacityTable, solve_knapsacks, tabulate
from fewsolves.benchmarks.milp import knapsack_milp, recourse_milp
from fewsolves.benchmarks.sources import parameter_rows
from fewsolves.errors import InputError
from fewsolves.problem import Array, Problem


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
        objective=kp.objective,
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
