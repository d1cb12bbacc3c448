"""Exact weighted set multi-cover: min c.z subject to A z >= d, z integer >= 0, many demands on one set system.

    A   (m, S) in {0, 1}   item i is in set j        c (S,) > 0   cost of one copy of a set
    d   (B, m)             demands, integers         z (B, S)     copies bought of each set

Once per set system, columns whose items can be bought at no higher cost from others are dropped (10 of 1000 remain).
Each demand is then a small linear program, solved by the dual simplex method on a dictionary

    x_basic = D[1:, k] + D[1:, :k] x_nonbasic,    cost = D[0, k] + D[0, :k] x_nonbasic

that starts from the slacks, where c > 0 makes it dual feasible, and depth-first branch and bound where its optimum
is fractional: a branch is one row more on the parent's final dictionary (Chvatal, Linear Programming, 1983, ch. 10).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from fewsolves.demo.milp import cover_milp
from fewsolves.errors import InputError
from fewsolves.problem import Array

try:
    from numba import njit
except ImportError:

    def njit(**options: Any) -> Callable[[Any], Any]:  # type: ignore[no-redef]
        """Without numba: plain Python, which is exact too, and slower than HiGHS."""
        return lambda function: function

    COMPILED = False
else:
    COMPILED = True

INTEGRAL = 1e-6  # an LP value this close to an integer is one; a slack above -1e-6 is feasible
EXACT_DEMAND = 1e8  # above it floats cannot carry that test; larger demands are solved in units of largest / 1e8
MAX_DEPTH = 40
MAX_PIVOTS = 500


@dataclass(frozen=True, eq=False)
class Cover:
    """A set system, reduced, ready for any demands."""

    n_sets: int
    kept: Array  # (k,) columns that some optimal decision uses
    coverage: Array  # (m, k)
    costs: Array  # (k,)

    def solve(self, demands: Array, *, max_nodes: int = 20_000) -> Array:
        """Demands (B, m), integers >= 0, to decisions (B, S); beyond `max_nodes` a row goes to HiGHS."""
        unit = np.maximum(1.0, demands.max(axis=1, keepdims=True, initial=0.0) / EXACT_DEMAND)
        demands = np.ascontiguousarray(np.ceil(demands / unit))  # another layout would be compiled again
        z_kept = np.empty((len(demands), len(self.kept)))
        unfinished = np.zeros(len(demands), np.bool_)
        whole_costs = bool(np.all(self.costs == np.rint(self.costs)))
        _solve_rows(self.coverage, self.costs, whole_costs, demands, max_nodes, z_kept, unfinished)
        for row in np.flatnonzero(unfinished):
            z_kept[row] = cover_milp(self.coverage, self.costs, demands[row])
        z = np.zeros((len(demands), self.n_sets))
        z[:, self.kept] = np.ceil(z_kept * unit)
        return z


def reduce_columns(coverage: Array, costs: Array) -> Cover:
    """Drop every set whose items the other sets cover at no higher cost, the dearest first."""
    if np.any(costs <= 0) or not np.all((coverage == 0) | (coverage == 1)) or not np.all(coverage.any(axis=1)):
        raise InputError("a set cover needs costs > 0, a 0/1 coverage matrix, and every item in some set")
    masks = [sum(1 << int(i) for i in np.flatnonzero(column)) for column in coverage.T]
    cheapest: dict[int, int] = {}
    for j in np.lexsort((np.arange(len(costs)), costs)):
        cheapest.setdefault(masks[j], int(j))
    cheapest.pop(0, None)
    kept = list(cheapest.values())
    for j in reversed(list(kept)):
        others = [(masks[i], float(costs[i])) for i in kept if i != j and masks[i] & masks[j]]
        if _cheapest_cover(masks[j], others, {0: 0.0}) <= costs[j]:
            kept.remove(j)
    columns = np.sort(np.array(kept))
    return Cover(len(costs), columns, np.ascontiguousarray(coverage[:, columns], np.float64), costs[columns] * 1.0)


def _cheapest_cover(mask: int, sets: list[tuple[int, float]], known: dict[int, float]) -> float:
    """Least cost of covering the items of `mask` once each; `known` remembers the answers for its subsets."""
    if mask not in known:
        rest = ((mask & ~items, cost) for items, cost in sets if mask & items)
        known[mask] = min((cost + _cheapest_cover(left, sets, known) for left, cost in rest), default=np.inf)
    return known[mask]


@njit(cache=True, nogil=True, error_model="numpy")
def _solve_rows(coverage, costs, whole_costs, demands, max_nodes, z, unfinished):  # type: ignore[no-untyped-def]
    m, k = coverage.shape
    n_rows = 1 + m + MAX_DEPTH
    stack = np.empty((MAX_DEPTH + 1, n_rows, k + 1))
    basic = np.empty((MAX_DEPTH + 1, n_rows), np.int64)
    nonbasic = np.empty((MAX_DEPTH + 1, k), np.int64)
    branch_row = np.empty(MAX_DEPTH + 1, np.int64)
    children = np.empty(MAX_DEPTH + 1, np.int64)
    for b in range(len(demands)):
        unfinished[b] = not _branch_and_bound(
            coverage, costs, whole_costs, demands[b], max_nodes, z[b], stack, basic, nonbasic, branch_row, children
        )


@njit(cache=True, nogil=True, error_model="numpy")
def _branch_and_bound(  # type: ignore[no-untyped-def]
    coverage, costs, whole_costs, demand, max_nodes, best_z, stack, basic, nonbasic, branch_row, children
):
    """Write the optimum into best_z; False when a limit was hit first."""
    m, k = coverage.shape
    _slack_dictionary(coverage, costs, demand, stack[0], basic[0], nonbasic[0], best_z)
    best = np.inf
    depth, nodes = 0, 1
    feasible = _dual_simplex(stack[0], 1 + m, k, basic[0], nonbasic[0])
    while True:
        D = stack[depth]
        n_rows = 1 + m + depth
        if feasible < 0 or (depth == 0 and feasible == 0):  # some plan always covers: rounding errors
            return False
        if feasible and not (best < np.inf and D[0, k] > best + _margin(best, whole_costs)):
            row, cost = _round_up(D, n_rows, k, basic[depth], costs)
            if cost < best:
                best = cost
                _take_rounded_up(D, n_rows, k, basic[depth], best_z)
            branch_row[depth] = row
            children[depth] = 0 if row > 0 else 2
        else:
            children[depth] = 2
        depth = _deepest_open(depth, children, stack, k, best + _margin(best, whole_costs))
        if depth < 0:
            return True
        nodes += 1
        if nodes > max_nodes or depth == MAX_DEPTH:
            return False
        feasible = _branch(stack, basic, nonbasic, depth, m, k, branch_row[depth], children[depth] == 0)
        children[depth] += 1
        depth += 1


@njit(cache=True, nogil=True, error_model="numpy")
def _margin(best, whole_costs):  # type: ignore[no-untyped-def]
    """By how much a bound may exceed the incumbent's cost; one that rounds to that cost cannot beat it."""
    return 1e-6 + 1e-12 * best - 1.0 if whole_costs else -1e-9 * best


@njit(cache=True, nogil=True, error_model="numpy")
def _deepest_open(depth, children, stack, k, most):  # type: ignore[no-untyped-def]
    """The deepest node that has a child left and a bound of at most `most`; -1: none."""
    while depth >= 0 and (children[depth] == 2 or stack[depth, 0, k] > most):
        depth -= 1
    return depth


@njit(cache=True, nogil=True, error_model="numpy")
def _take_rounded_up(D, n_rows, k, basic, z):  # type: ignore[no-untyped-def]
    """Write the solution of a dictionary, rounded up, into z."""
    for j in range(k):
        z[j] = 0.0
    for i in range(1, n_rows):
        if basic[i] < k:
            z[basic[i]] = _ceil(D[i, k])


@njit(cache=True, nogil=True, error_model="numpy")
def _slack_dictionary(coverage, costs, demand, D, basic, nonbasic, z):  # type: ignore[no-untyped-def]
    """The dictionary to start from: nothing bought, so that every slack is minus its demand."""
    m, k = coverage.shape
    D[0, k] = 0.0
    for j in range(k):
        D[0, j] = costs[j]
        nonbasic[j] = j
        z[j] = 0.0
    for i in range(m):
        for j in range(k):
            D[1 + i, j] = coverage[i, j]
        D[1 + i, k] = -demand[i]
        basic[1 + i] = k + i


@njit(cache=True, nogil=True, error_model="numpy")
def _branch(stack, basic, nonbasic, depth, m, k, row, up):  # type: ignore[no-untyped-def]
    """The child dictionary one level deeper, with x_row >= ceil (up) or x_row <= floor as its last row, solved."""
    n_rows = 1 + m + depth
    D, child = stack[depth], stack[depth + 1]
    child[:n_rows] = D[:n_rows]
    basic[depth + 1, :n_rows] = basic[depth, :n_rows]
    nonbasic[depth + 1] = nonbasic[depth]
    sign = 1.0 if up else -1.0
    for j in range(k):
        child[n_rows, j] = sign * D[row, j]
    below = np.floor(D[row, k])
    child[n_rows, k] = D[row, k] - below - 1.0 if up else below - D[row, k]
    basic[depth + 1, n_rows] = k + m + depth
    return _dual_simplex(child, n_rows + 1, k, basic[depth + 1], nonbasic[depth + 1])


@njit(cache=True, nogil=True, error_model="numpy")
def _ceil(x):  # type: ignore[no-untyped-def]
    return max(0.0, np.ceil(x - INTEGRAL))


@njit(cache=True, nogil=True, error_model="numpy")
def _round_up(D, n_rows, k, basic, costs):  # type: ignore[no-untyped-def]
    """(most fractional row or 0, cost of the LP solution rounded up, which always covers)."""
    row, worst, cost = 0, INTEGRAL, 0.0
    for i in range(1, n_rows):
        if basic[i] < k:
            x = D[i, k]
            cost += costs[basic[i]] * _ceil(x)
            fraction = abs(x - np.rint(x))
            if fraction > worst:
                row, worst = i, fraction
    return row, cost


@njit(cache=True, nogil=True, error_model="numpy")
def _dual_simplex(D, n_rows, k, basic, nonbasic):  # type: ignore[no-untyped-def]
    """Pivot until no slack is negative: 1 optimal, 0 infeasible, -1 too many pivots."""
    for pivots in range(MAX_PIVOTS):
        by_index = pivots > 50  # Bland's rule ends any cycle of degenerate pivots
        r, lowest = 0, -INTEGRAL
        for i in range(1, n_rows):
            if D[i, k] < lowest and (not by_index or r == 0 or basic[i] < basic[r]):
                r = i
                if not by_index:
                    lowest = D[i, k]
        if r == 0:
            return 1
        s, least = -1, np.inf
        for j in range(k):
            if D[r, j] > 1e-9:
                ratio = D[0, j] / D[r, j]
                if ratio < least or (ratio == least and nonbasic[j] < nonbasic[s]):
                    s, least = j, ratio
        if s < 0:
            return 0
        _pivot(D, n_rows, k, r, s)
        basic[r], nonbasic[s] = nonbasic[s], basic[r]
    return -1


@njit(cache=True, nogil=True, error_model="numpy")
def _pivot(D, n_rows, k, r, s):  # type: ignore[no-untyped-def]
    """Solve row r for the variable of column s, and put it into the other rows."""
    inverse = 1.0 / D[r, s]
    for j in range(k + 1):
        D[r, j] *= -inverse
    D[r, s] = inverse
    for i in range(n_rows):
        factor = D[i, s]
        if i != r and factor != 0.0:
            D[i, s] = 0.0
            for j in range(k + 1):
                D[i, j] += factor * D[r, j]
