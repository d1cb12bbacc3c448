"""Exact 0-1 knapsacks: branch and bound for a batch of them, and a table of one knapsack for every capacity.

    max v.z subject to w.z <= c, z in {0, 1}^n

    v, w   (B, n) or (n,)   values, weights: float data of any sign, zeros allowed
    c      (B,) or scalar   capacity; w.z may exceed it by 1e-9 max(1, |c|), the feasibility tolerance
    z      (B, n)           decisions, 0.0 or 1.0
    gap    (B,)             v.z is proven to be within this of the optimum, relative to the part that is searched:
                            1e-12, or 1e-6 where max_nodes was hit, or the root bound's gap where it was hit twice

`solve_knapsacks`: the depth-first branch and bound of Horowitz and Sahni (JACM 21, 1974) with the bound of Martello and
Toth (Knapsack Problems, 1990, eq. 2.16). An item with v <= 0 <= w stays out and one with w <= 0 <= v goes in; one with
v < 0 and w < 0 goes in and may be taken out again, which is an item of positive value and weight.

`tabulate`: the Pareto frontier of the subsets of fixed items, v >= 0 and w >= 0, built once and then looked up. A
subset is undominated when none that weighs no more is worth more (Nemhauser and Ullmann, Management Science 15, 1969),
so the best decision at capacity c is the last one whose weight is at most c.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numba import njit

from fewsolves.errors import InputError
from fewsolves.problem import Array

FEASIBILITY_TOLERANCE = 1e-9  # of max(1, |capacity|)
EXACT = 1e-12  # relative prune tolerance: rounding noise of sums of a few hundred terms
CERTIFIED = 1e-6  # the tolerance of the second search, for inputs like subset sums that the first cannot close


class Knapsacks(NamedTuple):
    """Solutions of a batch of knapsacks."""

    z: Array  # (B, n)
    value: Array  # (B,)
    gap: Array  # (B,)


def solve_knapsacks(values: Array, weights: Array, capacity: Array | float, *, max_nodes: int = 5_000_000) -> Knapsacks:
    """Solve B knapsacks; arguments with one row (or a scalar capacity) are shared by all of them.

    >>> solve_knapsacks(np.array([3.0, 2.0, 2.0]), np.array([2.0, 1.0, 1.0]), 2.0).z
    array([[0., 1., 1.]])
    """
    v = np.ascontiguousarray(np.atleast_2d(values), dtype=np.float64)
    w = np.ascontiguousarray(np.atleast_2d(weights), dtype=np.float64)
    c = np.ascontiguousarray(np.atleast_1d(capacity), dtype=np.float64)
    lengths = {len(v), len(w), len(c)} - {1} or {1}
    if v.shape[1] != w.shape[1] or len(lengths) > 1:
        raise InputError(f"values {v.shape}, weights {w.shape} and capacity {c.shape} do not belong together")
    n_batch = lengths.pop()
    z, value, gap = np.empty((n_batch, v.shape[1])), np.empty(n_batch), np.empty(n_batch)
    failed = _solve_rows(v, w, c, max_nodes, z, value, gap)
    if failed >= 0:
        raise InputError(f"knapsack {failed} has NaN or infinite data, or no feasible decision at all")
    return Knapsacks(z, value, gap)


@njit(cache=True, nogil=True, error_model="numpy")
def _solve_rows(v_rows, w_rows, c_rows, max_nodes, z, value, gap):  # type: ignore[no-untyped-def]
    """Fill z, value and gap; -1, or the first row that cannot be solved."""
    n_batch, n = z.shape
    shared_v, shared_w, shared_c = len(v_rows) == 1, len(w_rows) == 1, len(c_rows) == 1
    index = np.empty(n, np.int64)
    taken = np.empty(n + 2, np.bool_)
    best_taken = np.empty(n + 2, np.bool_)
    repeats = np.empty(n + 2, np.bool_)  # equal to the item before
    work = np.empty((8, n + 2))
    for row in range(n_batch):
        v = v_rows[0 if shared_v else row]
        w = w_rows[0 if shared_w else row]
        c = c_rows[0 if shared_c else row]
        # every item at its better end; `room` is what is left for the others
        room, largest, finite = c, 0.0, np.isfinite(c)
        for i in range(n):
            finite &= np.isfinite(v[i]) and np.isfinite(w[i])
            largest = max(largest, abs(v[i]))
            z[row, i] = 0.0
            if w[i] < 0.0 or (w[i] == 0.0 and v[i] > 0.0):
                z[row, i] = 1.0
                room -= w[i]
        room += FEASIBILITY_TOLERANCE * max(1.0, abs(c))
        if not finite or room < 0.0:
            return row
        scale = 2.0**-512 if largest > 2.0**512 else 1.0  # sums of huge values must not overflow
        m = 0
        for i in range(n):
            if abs(w[i]) <= room and ((v[i] > 0.0 and w[i] > 0.0) or (v[i] < 0.0 and w[i] < 0.0)):
                index[m] = i
                work[0, m] = abs(v[i]) * scale
                work[1, m] = abs(w[i])
                work[2, m] = work[0, m] / work[1, m]
                m += 1
        _sort_by_ratio(index, work, m)
        gap[row] = _search(work, m, _usable(work[1], m, room), max_nodes, taken, best_taken, repeats)
        for i in range(m):
            if best_taken[i]:
                z[row, index[i]] = 1.0 - z[row, index[i]]
        total = 0.0
        for i in range(n):
            total += v[i] * z[row, i]
        value[row] = total
    return -1


@njit(cache=True, nogil=True, error_model="numpy")
def _sort_by_ratio(index, work, m):  # type: ignore[no-untyped-def]
    """Shell sort by (ratio falling, weight falling, index rising): a total order, so ties are always broken alike."""
    for step in (1750, 701, 301, 132, 57, 23, 10, 4, 1):
        for i in range(step, m):
            k, v, w, ratio = index[i], work[0, i], work[1, i], work[2, i]
            j = i
            while j >= step:
                before = j - step
                if work[2, before] > ratio:
                    break
                if work[2, before] == ratio and (work[1, before] > w or (work[1, before] == w and index[before] < k)):
                    break
                index[j] = index[before]
                work[0, j], work[1, j], work[2, j] = work[0, before], work[1, before], work[2, before]
                j = before
            index[j] = k
            work[0, j], work[1, j], work[2, j] = v, w, ratio


@njit(cache=True, nogil=True, error_model="numpy")
def _usable(w, m, room):  # type: ignore[no-untyped-def]
    """The part of `room` that can be filled: a multiple of the weights' common divisor if all are equal or integers.

    Room that no subset fills keeps every bound above the optimum, so that nothing would be pruned.
    """
    equal, whole = True, True
    for i in range(m):
        equal &= w[i] == w[0]
        whole &= w[i] == np.floor(w[i])
    if m == 0 or not (equal or whole):
        return room
    divisor = w[0]
    if not equal:
        for i in range(1, m):
            if divisor == 1.0:
                break
            rest = w[i]
            while rest != 0.0:
                divisor, rest = rest, divisor % rest
    multiple = np.floor(room / divisor) * divisor
    return min(room, multiple * (1.0 + 1e-13))  # sums of equal floats are not exact


@njit(cache=True, nogil=True, error_model="numpy")
def _search(work, m, room, max_nodes, taken, best_taken, repeats):  # type: ignore[no-untyped-def]
    """Best subset of the m sorted items into `best_taken`; the gap that is proven."""
    v, w, sum_v, sum_w, lightest = work[0], work[1], work[3], work[4], work[7]
    v[m], w[m], work[2, m], lightest[m] = 0.0, np.inf, 0.0, np.inf  # sentinel: an item that never fits
    sum_v[0] = sum_w[0] = 0.0
    for i in range(m):
        sum_v[i + 1] = sum_v[i] + v[i]
        sum_w[i + 1] = sum_w[i] + w[i]
        best_taken[i] = False
        repeats[i] = i > 0 and v[i] == v[i - 1] and w[i] == w[i - 1]
    sum_w[m + 1] = np.inf
    for i in range(m - 1, -1, -1):
        lightest[i] = min(w[i], lightest[i + 1])
    best, closed = _depth_first(work, m, room, EXACT, max_nodes, 0.0, taken, best_taken, repeats)
    if closed:
        return EXACT
    best, closed = _depth_first(work, m, room, CERTIFIED, max_nodes, best, taken, best_taken, repeats)
    return CERTIFIED if closed else _bound(work, m, 0, room, 0.0) / best - 1.0


@njit(cache=True, nogil=True, error_model="numpy")
def _depth_first(work, m, room, rtol, max_nodes, best, taken, best_taken, repeats):  # type: ignore[no-untyped-def]
    """(value of the best subset found, whether the search was completed), starting from the incumbent `best`."""
    v, w, lightest = work[0], work[1], work[7]
    left, profit = work[5], work[6]  # per level, so that rounding errors do not add up over millions of steps
    left[0], profit[0] = room, 0.0
    ceiling = best * (1.0 + rtol)
    nodes, j = 0, 0
    while True:
        pruned = False
        while left[j] >= lightest[j]:
            if w[j] <= left[j] and (taken[j - 1] or not repeats[j]):  # of equal items the first ones go in
                taken[j] = True
                left[j + 1] = left[j] - w[j]
                profit[j + 1] = profit[j] + v[j]
                j += 1
            else:
                taken[j] = False
                left[j + 1] = left[j]
                profit[j + 1] = profit[j]
                j += 1
                nodes += 1
                if _bound(work, m, j, left[j], profit[j]) <= ceiling:
                    pruned = True
                    break
        if not pruned and profit[j] > best:
            best = profit[j]
            ceiling = best * (1.0 + rtol)
            best_taken[:j] = taken[:j]
            best_taken[j:m] = False
        # back to the last item taken, without which the rest may still be better
        while True:
            j -= 1
            while j >= 0 and not taken[j]:
                j -= 1
            if j < 0:
                return best, True
            taken[j] = False
            left[j + 1] = left[j]
            profit[j + 1] = profit[j]
            j += 1
            nodes += 1
            if _bound(work, m, j, left[j], profit[j]) > ceiling:
                break
        if nodes > max_nodes:
            return best, False


@njit(cache=True, nogil=True, error_model="numpy")
def _bound(work, m, j, left, profit):  # type: ignore[no-untyped-def]
    """Martello-Toth bound of the items from j on: the break item s is either left out or forced in."""
    v, w, ratio, sum_v, sum_w = work[0], work[1], work[2], work[3], work[4]
    s = j
    while sum_w[s + 1] - sum_w[j] <= left:
        s += 1
    filled = profit + (sum_v[s] - sum_v[j])
    if s == m:
        return filled
    rest = left - (sum_w[s] - sum_w[j])
    without = filled + rest * ratio[s + 1]
    if s == j:
        return without
    forced = filled + (v[s] - (w[s] - rest) * ratio[s - 1])
    return max(without, forced)


@dataclass(frozen=True, eq=False)
class CapacityTable:
    """Optimal decisions for every capacity."""

    weight: Array  # (K,), rising
    value: Array  # (K,), rising too
    z: Array  # (K, n), the undominated subsets

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
