"""One knapsack for every capacity: its Pareto frontier, built once, then looked up.

    w, v     (n,)      fixed weights and values, both >= 0
    weight   (K,)      rising weights of the K undominated subsets     value (K,)  their values, rising too
    z        (K, n)    the subsets

A subset is undominated when none that weighs no more is worth more (Nemhauser and Ullmann, Management Science 15,
1969), so the best decision at capacity c is the last one whose weight is at most c.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fewsolves.errors import InputError
from fewsolves.problem import Array
from fewsolves.problems.knapsack_solver import FEASIBILITY_TOLERANCE


@dataclass(frozen=True, eq=False)
class CapacityTable:
    """Optimal decisions for every capacity."""

    weight: Array
    value: Array
    z: Array

    def solve(self, capacity: Array) -> Array:
        """Capacities (B,), all >= 0, to decisions (B, n), with the feasibility tolerance of `solve_knapsacks`."""
        reach = capacity + FEASIBILITY_TOLERANCE * np.maximum(1.0, capacity)
        z: Array = self.z[np.searchsorted(self.weight, reach, side="right") - 1].astype(np.float64)
        return z


def tabulate(values: Array, weights: Array) -> CapacityTable:
    """Build the frontier item by item; tens of thousands of subsets at 200 items, a few thousand at 50."""
    if np.min(values) < 0 or np.min(weights) < 0:
        raise InputError("a capacity table needs values and weights >= 0")
    weight, value = np.zeros(1), np.zeros(1)
    parents = []
    for v, w in zip(values, weights, strict=True):
        both_weight = np.concatenate([weight, weight + w])
        both_value = np.concatenate([value, value + v])
        order = np.lexsort((-both_value, both_weight))
        sorted_value = both_value[order]
        worth_more = np.ones(len(order), dtype=bool)
        worth_more[1:] = sorted_value[1:] > np.maximum.accumulate(sorted_value)[:-1]
        kept = order[worth_more]
        parents.append((kept % len(weight), kept >= len(weight)))
        weight, value = both_weight[kept], both_value[kept]
    z = np.zeros((len(weight), len(values)), dtype=np.int8)  # it travels to worker processes
    state = np.arange(len(weight))
    for item in range(len(values) - 1, -1, -1):
        parent, taken = parents[item]
        z[:, item] = taken[state]
        state = parent[state]
    return CapacityTable(weight, value, z)
