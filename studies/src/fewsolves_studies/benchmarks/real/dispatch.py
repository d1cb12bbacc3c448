"""Day-ahead dispatch: the least cost to meet 24 predicted loads within network limits and ramps, by HiGHS.

    d (T,) predicted load of the system       p (T, G) output of each unit       s (T, J) load that is not met

    min  sum_t cost.p_t + 500 sum s_t     0 <= p_t <= capacity,  s_t >= 0,  sum p_t + sum s_t = d_t,
         |unit_flows p_t + load_flows (s_t - share d_t)| <= line_capacity,  |p_t - p_{t-1}| <= ramp

The model stays in memory and only right-hand sides change, so that a solve starts at the basis of the one before. Units
of equal cost differ by a ten-thousandth per MWh here, for else the plan would not be unique. Only lines that have been
seen to bind are in the model; where another is overloaded, one with all of them is asked.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from fewsolves.problem import Array
from fewsolves_studies.benchmarks.real.grid import Grid, ieee24
from fewsolves_studies.benchmarks.real.highs import linear_program, solved
from fewsolves_studies.benchmarks.real.tables import HOURS

LOST = 500.0  # price of a MWh that is not served
BINDING = (21, 22, 24)  # lines 13-23, 14-16 and 15-21, those of reduced capacity
TIE = 1e-4
DIGITS = 6  # of a plan in MW: what is left of the basis that a solve began with goes


class DayAhead:
    """The program of one day, in memory."""

    def __init__(self, grid: Grid, lines: Array) -> None:
        n_units, n_loads = len(grid.capacity), len(grid.share)
        hours, step = np.eye(HOURS), np.eye(HOURS - 1, HOURS, k=1) - np.eye(HOURS - 1, HOURS)
        per_hour = np.hstack([grid.unit_flows, grid.load_flows])[lines]
        units = np.eye(n_units, n_units + n_loads)
        rows = np.vstack([np.kron(hours, np.ones(n_units + n_loads)), np.kron(hours, per_hour), np.kron(step, units)])
        costs = np.concatenate([grid.cost + TIE * np.arange(n_units), np.full(n_loads, LOST)])
        upper = np.concatenate([grid.capacity, np.full(n_loads, np.inf)])
        self.model: Any = linear_program(rows, np.tile(costs, HOURS), np.tile(upper, HOURS))
        self.index = np.arange(len(rows), dtype=np.int32)
        self.load_flow = (grid.load_flows @ grid.share)[lines]
        self.room = np.tile(grid.line_capacity[lines], HOURS)
        self.ramps = np.tile(grid.ramp, HOURS - 1)
        self.shape, self.n_units = (HOURS, n_units + n_loads), n_units

    def solve(self, loads: Array) -> Array:
        """(T, G + J): output of the units, and load that is not met."""
        flows = np.outer(loads, self.load_flow).ravel()
        low = np.concatenate([loads, flows - self.room, -self.ramps])
        high = np.concatenate([loads, flows + self.room, self.ramps])
        self.model.changeRowsBounds(len(self.index), self.index, low, high)
        return solved(self.model).reshape(self.shape)


@cache
def _program(every_line: bool) -> DayAhead:
    grid = ieee24()
    return DayAhead(grid, np.arange(len(grid.line_capacity)) if every_line else np.array(BINDING))


def day_ahead_plans(grid: Grid, loads: Array) -> Array:
    """(B, T, G): the plan of each day; a load below 0 counts as 0."""
    plans = np.empty((*loads.shape, len(grid.capacity)))
    flows_of = np.hstack([grid.unit_flows, grid.load_flows])
    for plan, day in zip(plans, np.maximum(loads, 0.0), strict=True):
        found = _program(False).solve(day)
        flows = found @ flows_of.T - np.outer(day, grid.load_flows @ grid.share)
        if (np.abs(flows) > grid.line_capacity + 1e-6).any():
            found = _program(True).solve(day)
        plan[:] = np.clip(found[:, : plans.shape[2]].round(DIGITS), 0.0, grid.capacity)
    return plans
