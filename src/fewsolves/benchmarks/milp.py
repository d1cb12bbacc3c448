"""The same problems as generic mixed-integer programs for scipy's HiGHS at gap 0: referee, and a solver of usual speed.

w, v (n,) weights and values, c capacity      z (n,) decision in {0, 1}, p penalty     -> knapsacks
A (m, S) coverage in {0, 1}, c (S,) set costs, d (m,) demands      z (S,) integer      -> multi-cover
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp

from fewsolves.problem import Array


def knapsack_milp(values: Array, weights: Array, capacity: float) -> Array:
    """max v.z subject to w.z <= c."""
    return _minimise(-values, LinearConstraint(weights[None], -np.inf, capacity), upper=np.ones(len(values)))


def recourse_milp(values: Array, weights: Array, capacity: float, z: Array, penalty: float) -> float:
    """max v.z + v.u+ / p - p v.u- subject to w.(z + u+ - u-) <= c, u- <= z, u+ <= 1 - z."""
    objective = np.concatenate([-values / penalty, penalty * values])
    room = LinearConstraint(np.concatenate([weights, -weights])[None], -np.inf, capacity - weights @ z)
    u = _minimise(objective, room, upper=np.concatenate([1.0 - z, z]))
    return float(values @ z - objective @ u)


def cover_milp(coverage: Array, costs: Array, demands: Array) -> Array:
    """min c.z subject to A z >= d."""
    return _minimise(costs, LinearConstraint(coverage, demands, np.inf), upper=np.full(len(costs), np.inf))


def _minimise(objective: Array, constraint: LinearConstraint, *, upper: Array) -> Array:
    result = milp(
        objective,
        constraints=constraint,
        bounds=Bounds(np.zeros(len(objective)), upper),
        integrality=np.ones(len(objective), dtype=np.int64),
        options={"mip_rel_gap": 0.0},
    )
    if result.x is None:
        raise RuntimeError(f"HiGHS found no decision: {result.message}")
    return np.rint(result.x)
