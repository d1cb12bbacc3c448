"""The knapsacks as generic mixed-integer programs for scipy's HiGHS at gap 0: referee, and a solver of usual speed.

w, v (n,) weights and values, c capacity      z (n,) decision in {0, 1}, p penalty     -> knapsacks
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import LinearConstraint

from fewsolves.demo.milp import minimise
from fewsolves.problem import Array


def knapsack_milp(values: Array, weights: Array, capacity: float) -> Array:
    """max v.z subject to w.z <= c."""
    return minimise(-values, LinearConstraint(weights[None], -np.inf, capacity), upper=np.ones(len(values)))


def recourse_milp(values: Array, weights: Array, capacity: float, z: Array, penalty: float) -> float:
    """max v.z + v.u+ / p - p v.u- subject to w.(z + u+ - u-) <= c, u- <= z, u+ <= 1 - z."""
    objective = np.concatenate([-values / penalty, penalty * values])
    room = LinearConstraint(np.concatenate([weights, -weights])[None], -np.inf, capacity - weights @ z)
    u = minimise(objective, room, upper=np.concatenate([1.0 - z, z]))
    return float(values @ z - objective @ u)
