"""Real-time re-dispatch at the true load: what a day-ahead plan costs in the end, hour by hour, exactly.

    p (G,) plan      d true load      x = (up, down, spilled, shed) >= 0, of lengths G, G, G, J

    cost = cost.p + min  up_cost.up - down_cost.down + 200 sum spilled + 500 sum shed
    up <= min(up_limit, capacity - p),  down <= min(down_limit, p),  spilled <= p,  shed <= share d,
    sum up - sum down - sum spilled + sum shed = d - sum p,       |flows of what is then fed in| <= line_capacity

Hours do not touch each other, and every variable has two bounds, so any basis is dual feasible once each non-basic
variable stands at the bound that its reduced cost asks for. Hence the dual simplex, with bound flips, from a basis of
one column, in machine code: it begins with the balance alone, adds the row of the line that is overloaded most, with
its flow as the basic variable, and goes on. Three rows are the rule. HiGHS is the referee in the tests.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from fewsolves.problem import Array
from fewsolves_studies.benchmarks.real.grid import Grid

SPILLED, SHED = 200.0, 500.0
MOST_ROWS = 36  # the balance and every line
MOST_PIVOTS = 400
FEASIBLE = 1e-7  # MW


def redispatch_costs(grid: Grid, loads: Array, plans: Array) -> Array:
    """(B,): cost of the days with true loads (B, T) under plans (B, T, G)."""
    n_units, n_loads = len(grid.capacity), len(grid.share)
    prices = np.concatenate([grid.up_cost, -grid.down_cost, np.full(n_units, SPILLED), np.full(n_loads, SHED)])
    n = len(prices)
    # equal costs make dual steps of length 0, on which it might go round in circles; a millionth keeps them apart
    apart = prices + 1e-6 * (1.0 + np.modf(np.arange(n) * 0.6180339887498949)[0])
    columns = np.empty((1 + len(grid.line_capacity), n))  # balance, then lines
    columns[0] = np.concatenate([np.ones(n_units), -np.ones(2 * n_units), np.ones(n_loads)])
    columns[1:] = np.hstack([grid.unit_flows, -grid.unit_flows, -grid.unit_flows, grid.load_flows])
    hourly = np.ascontiguousarray(plans.reshape(-1, n_units))
    demand = np.ascontiguousarray(loads.reshape(-1))
    upper = np.maximum(
        np.hstack(
            [
                np.minimum(grid.up_limit, grid.capacity - hourly),
                np.minimum(grid.down_limit, hourly),
                hourly,
                np.outer(demand, grid.share),
            ]
        ),
        0.0,
    )
    planned = hourly @ grid.unit_flows.T - np.outer(demand, grid.load_flows @ grid.share)
    missing = demand - hourly.sum(axis=1)
    costs = np.empty(len(demand))
    _redispatch(columns, prices, apart, grid.line_capacity, upper, planned, missing, costs)
    if np.isnan(costs).any():
        hour = int(np.flatnonzero(np.isnan(costs))[0])
        raise RuntimeError(f"the re-dispatch of hour {hour} did not end: load {demand[hour]}, plan {hourly[hour]}")
    total: Array = (costs + hourly @ grid.cost).reshape(loads.shape).sum(axis=1)
    return total


@njit(cache=True, nogil=True, error_model="numpy")
def _redispatch(columns, prices, apart, room, upper, planned, missing, costs):  # type: ignore[no-untyped-def]
    """Every hour begins at the basis of the one before: variables 0..n-1 are those of x, n + k the flow of row k."""
    n = len(prices)
    table = np.zeros((MOST_ROWS, n + MOST_ROWS))  # row 0 is the balance, the others are lines as they came
    table[0, :n] = columns[0]
    line = np.zeros(MOST_ROWS, np.int64)
    basis = np.zeros(MOST_ROWS, np.int64)
    basis[0], rows = n - 1, 1  # what is shed at the last load
    inverse = np.zeros((MOST_ROWS, MOST_ROWS))
    inverse[0, 0] = 1.0 / table[0, basis[0]]
    low, high = np.zeros(n + MOST_ROWS), np.zeros(n + MOST_ROWS)
    right, value = np.empty(MOST_ROWS), np.empty(MOST_ROWS)
    reduced, at, row = np.empty(n + MOST_ROWS), np.empty(n + MOST_ROWS), np.empty(n + MOST_ROWS)
    price = np.concatenate((apart, np.zeros(MOST_ROWS)))
    for hour in range(len(costs)):
        high[:n] = upper[hour]
        right[0] = missing[hour]
        for k in range(1, rows):
            right[k] = -planned[hour, line[k]]
        costs[hour] = np.nan
        for _ in range(MOST_PIVOTS):
            _stand(table, inverse, basis, rows, price, low, high, right, n, reduced, at, value)
            leaving, excess, over = _worst(basis, rows, low, high, value)
            if leaving >= 0:
                entering = _entering(table, inverse, basis, rows, leaving, excess, over, reduced, low, high, n, row)
                if entering < 0:
                    break
                basis[leaving] = entering
                inverse[:rows, :rows] = np.linalg.inv(_square(table, basis, rows))
                continue
            for k in range(rows):
                at[basis[k]] = value[k]
            worst = _overloaded(columns, room, planned[hour], at, n)
            if worst < 0:
                costs[hour] = 0.0
                for j in range(n):
                    costs[hour] += prices[j] * at[j]
                break
            if rows == MOST_ROWS:
                break
            table[rows, :n], table[rows, n + rows] = columns[1 + worst], -1.0
            low[n + rows], high[n + rows] = -room[worst], room[worst]
            line[rows], basis[rows], right[rows] = worst, n + rows, -planned[hour, worst]
            rows += 1
            inverse[:rows, :rows] = np.linalg.inv(_square(table, basis, rows))


@njit(cache=True, nogil=True, error_model="numpy")
def _square(table, basis, rows):  # type: ignore[no-untyped-def]
    square = np.empty((rows, rows))
    for k in range(rows):
        for i in range(rows):
            square[i, k] = table[i, basis[k]]
    return square


@njit(cache=True, nogil=True, error_model="numpy")
def _stand(table, inverse, basis, rows, price, low, high, right, n, reduced, at, value):  # type: ignore[no-untyped-def]
    """Reduced costs, each non-basic variable at the bound that its own asks for, and the values of the basic ones."""
    dual, left = np.zeros(rows), right[:rows].copy()
    for i in range(rows):
        for k in range(rows):
            dual[i] += price[basis[k]] * inverse[k, i]
    for j in range(n + rows):
        reduced[j] = price[j]
        for i in range(rows):
            reduced[j] -= dual[i] * table[i, j]
        at[j] = low[j] if reduced[j] >= 0.0 else high[j]
    for k in range(rows):
        at[basis[k]] = 0.0
    for j in range(n + rows):
        if at[j] != 0.0:
            for i in range(rows):
                left[i] -= table[i, j] * at[j]
    for k in range(rows):
        value[k] = 0.0
        for i in range(rows):
            value[k] += inverse[k, i] * left[i]


@njit(cache=True, nogil=True, error_model="numpy")
def _worst(basis, rows, low, high, value):  # type: ignore[no-untyped-def]
    """The basic variable that is furthest out of its bounds, by how much, and whether above; -1: none is."""
    leaving, excess, over = -1, FEASIBLE, False
    for k in range(rows):
        j = basis[k]
        if value[k] - high[j] > excess:
            leaving, excess, over = k, value[k] - high[j], True
        elif low[j] - value[k] > excess:
            leaving, excess, over = k, low[j] - value[k], False
    return leaving, excess, over


@njit(cache=True, nogil=True, error_model="numpy")
def _overloaded(columns, room, planned, at, n):  # type: ignore[no-untyped-def]
    """The line that is overloaded most; -1: none is."""
    flows = planned.copy()
    for j in range(n):
        if at[j] != 0.0:
            for k in range(len(room)):
                flows[k] += columns[1 + k, j] * at[j]
    worst, excess = -1, 10.0 * FEASIBLE
    for k in range(len(room)):
        if abs(flows[k]) - room[k] > excess:
            worst, excess = k, abs(flows[k]) - room[k]
    return worst


@njit(cache=True, nogil=True, error_model="numpy")
def _entering(table, inverse, basis, rows, leaving, slope, over, reduced, low, high, n, row):  # type: ignore[no-untyped-def]
    """The variable at whose breakpoint the dual objective stops to rise along the row of the leaving one."""
    sign = 1.0 if over else -1.0
    for j in range(n + rows):
        row[j] = 0.0
        for i in range(rows):
            row[j] += inverse[leaving, i] * table[i, j]
    for k in range(rows):
        row[basis[k]] = 0.0  # not to be chosen
    while True:
        best, least = -1, np.inf
        for j in range(n + rows):
            if abs(row[j]) > 1e-9:
                step = sign * reduced[j] / row[j]
                if step < least and (step > 0.0 or (reduced[j] == 0.0 and sign * row[j] > 0.0)):
                    best, least = j, step
        if best < 0:
            return -1
        slope -= abs(row[best]) * (high[best] - low[best])
        if slope <= 0.0:
            return best
        row[best] = 0.0
