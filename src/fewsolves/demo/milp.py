"""Generic mixed-integer programs for scipy's HiGHS at gap 0: referee, and a solver of usual speed.

A (m, S) coverage in {0, 1}, c (S,) set costs, d (m,) demands      z (S,) integer      -> multi-cover
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp

from fewsolves.problem import Array


def cover_milp(coverage: Array, costs: Array, demands: Array) -> Array:
    """min c.z subject to A z >= d."""
    return minimise(costs, LinearConstraint(coverage, demands, np.inf), upper=np.full(len(costs), np.inf))


def minimise(objective: Array, constraint: LinearConstraint, *, upper: Array) -> Array:
    """The integer decision of least objective between 0 and `upper`."""
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
