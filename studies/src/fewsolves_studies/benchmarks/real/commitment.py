"""Unit commitment: which units run in which hours, for a predicted load, by HiGHS as a mixed-integer program.

    d (T,) load    u, v (N, T) running, started in {0, 1}    p (N, T) output above the least    s, o (T,) short, spilled

    min  sum  (idle_i + price_i least_i) u_it + start_i v_it + price_i p_it + 50 s_t + 0.5 o_t
    sum_i least_i u_it + p_it + s_t - o_t = d_t,         p_it <= (most_i - least_i) u_it,
    v_it >= u_it - u_i,t-1,     u_it >= sum of v_ik over the last up_i hours,    the first hour starts nothing

What is decided ahead is u. When the load is known, the units that run share it, the cheapest first, between their least
and their most; what is missing costs 50 and what is too much 0.5, the prices of the published schedule.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from scipy.linalg import block_diag

from fewsolves.problem import Array
from fewsolves_studies.benchmarks.real.highs import linear_program, solved
from fewsolves_studies.benchmarks.real.tables import HOURS

UNDER, OVER = 50.0, 0.5
CAPACITY = 3.3  # of all units, in the units of the load, whose highest hour is 3.05


@dataclass(frozen=True, eq=False)
class Fleet:
    """Costs in units of the cheapest one's price; (N,) each."""

    most: Array
    least: Array
    idle: Array
    price: Array
    start: Array
    up: Array  # hours that a unit stays on once started


@cache
def ten_units() -> Fleet:
    """The ten units of Kazarlis, Bakirtzis and Petridis (1996), linear in their output, scaled to the load."""
    most = np.array([455.0, 455.0, 130.0, 130.0, 162.0, 80.0, 85.0, 55.0, 55.0, 55.0])
    least = np.array([150.0, 150.0, 20.0, 20.0, 25.0, 20.0, 25.0, 10.0, 10.0, 10.0])
    idle = np.array([1000.0, 970.0, 700.0, 680.0, 450.0, 370.0, 480.0, 660.0, 665.0, 670.0])
    price = np.array([16.19, 17.26, 16.60, 16.50, 19.70, 22.26, 27.74, 25.92, 27.27, 27.79])
    start = np.array([4500.0, 5000.0, 550.0, 560.0, 900.0, 170.0, 260.0, 30.0, 30.0, 30.0])
    up = np.array([8, 8, 5, 5, 6, 3, 3, 1, 1, 1])
    scale, unit = CAPACITY / most.sum(), price[0]
    return Fleet(scale * most, scale * least, scale * idle / unit, price / unit, scale * start / unit, up)


@cache
def _program() -> Any:
    """The model of a day; its first 24 rows are the balances."""
    fleet = ten_units()
    n = len(fleet.most)
    hours, one, zero = np.eye(HOURS), np.eye(n * HOURS), np.zeros((n * HOURS, n * HOURS))
    none, never = np.zeros((n * HOURS, 2 * HOURS)), np.zeros((HOURS, n * HOURS))
    before = np.eye(HOURS, k=-1)
    before[0, 0] = 1.0  # the first hour follows itself
    since = np.subtract.outer(np.arange(HOURS), np.arange(HOURS))
    recent = [((since >= 0) & (since < up)).astype(float) for up in fleet.up]  # of each hour: the starts that bind it
    rows = np.block(
        [
            [np.kron(fleet.least, hours), never, np.kron(np.ones(n), hours), hours, -hours],
            [np.kron(np.diag(fleet.least - fleet.most), hours), zero, one, none],
            [np.kron(np.eye(n), before) - one, one, zero, none],
            [-one, block_diag(*recent), zero, none],
        ]
    )
    spread = np.ones(HOURS)
    costs = np.concatenate(
        [
            np.kron(fleet.idle + fleet.price * fleet.least, spread),
            np.kron(fleet.start, spread),
            np.kron(fleet.price, spread),
            UNDER * spread,
            OVER * spread,
        ]
    )
    can_start = np.tile(np.arange(HOURS) > 0, n).astype(float)
    room = np.kron(fleet.most - fleet.least, spread)
    upper = np.concatenate([np.ones(n * HOURS), can_start, room, np.full(2 * HOURS, np.inf)])
    below, always = np.full(n * HOURS, -np.inf), np.zeros(n * HOURS)
    low = np.concatenate([np.zeros(HOURS), below, always, below])
    high = np.concatenate([np.zeros(HOURS), always, -below, always])
    model = linear_program(rows, costs, upper, presolve="choose", mip_rel_gap=1e-3)
    every = np.arange(rows.shape[0], dtype=np.int32)
    model.changeRowsBounds(len(every), every, low, high)
    whole = np.arange(n * HOURS, dtype=np.int32)
    model.changeColsIntegrality(len(whole), whole, np.ones(len(whole), dtype=np.uint8))
    return model


def commitments(loads: Array) -> Array:
    """(B, N, T) in {0, 1} for the loads (B, T); a load below 0 counts as 0."""
    n, index = len(ten_units().most), np.arange(HOURS, dtype=np.int32)
    found = np.empty((len(loads), n, HOURS), dtype=np.int8)
    model = _program()
    for plan, day in zip(found, np.maximum(loads, 0.0), strict=True):
        model.changeRowsBounds(HOURS, index, day, day)
        model.clearSolver()  # else it would begin at the day before, and the plan depend on it
        plan[:] = np.rint(solved(model)[: n * HOURS]).reshape(n, HOURS)
    return found


def commitment_costs(fleet: Fleet, loads: Array, plans: Array) -> Array:
    """(B,): of the days with true loads (B, T) under plans (B, N, T)."""
    on = np.asarray(plans, dtype=np.float64)
    started = np.maximum(on[:, :, 1:] - on[:, :, :-1], 0.0).sum(axis=2) @ fleet.start
    cost = (on.sum(axis=2) @ (fleet.idle + fleet.price * fleet.least)) + started
    left = loads - np.einsum("bnt,n->bt", on, fleet.least)
    cost += OVER * np.maximum(-left, 0.0).sum(axis=1)
    left = np.maximum(left, 0.0)
    for i in np.argsort(fleet.price):  # the cheapest first
        output = np.minimum(left, (fleet.most[i] - fleet.least[i]) * on[:, i])
        cost += fleet.price[i] * output.sum(axis=1)
        left -= output
    total: Array = cost + UNDER * left.sum(axis=1)
    return total
