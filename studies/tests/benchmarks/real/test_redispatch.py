"""The re-dispatch in machine code against HiGHS as the referee."""

import numpy as np
import pytest
from scipy.optimize import linprog

from fewsolves_studies.benchmarks.real.grid import ieee24
from fewsolves_studies.benchmarks.real.redispatch import SHED, SPILLED, redispatch_costs

GRID = ieee24()


def referee(load, plan):
    """One hour, with every line."""
    n_units, n_loads = len(plan), len(GRID.share)
    prices = [*GRID.up_cost, *-GRID.down_cost, *[SPILLED] * n_units, *[SHED] * n_loads]
    sign = np.array([1.0] * n_units + [-1.0] * 2 * n_units + [1.0] * n_loads)
    flows = np.hstack([GRID.unit_flows, -GRID.unit_flows, -GRID.unit_flows, GRID.load_flows])
    planned = GRID.unit_flows @ plan - GRID.load_flows @ GRID.share * load
    most = [*np.minimum(GRID.up_limit, GRID.capacity - plan), *np.minimum(GRID.down_limit, plan), *plan]
    found = linprog(
        prices,
        A_ub=np.vstack([flows, -flows]),
        b_ub=np.concatenate([GRID.line_capacity - planned, GRID.line_capacity + planned]),
        A_eq=sign[None],
        b_eq=[load - plan.sum()],
        bounds=[(0.0, bound) for bound in (*most, *GRID.share * load)],
    )
    return found.fun + GRID.cost @ plan


def days(n):
    """Loads and plans that fit them in part, badly, or not at all."""
    rng = np.random.default_rng(0)
    loads = rng.uniform(300.0, 2800.0, (n, 24))
    plans = rng.uniform(0.0, 1.0, (n, 24, len(GRID.capacity))) * GRID.capacity
    close = rng.random(n) < 0.6
    plans[close] *= (loads[close] / plans[close].sum(axis=2))[..., None]
    return loads, np.minimum(plans, GRID.capacity)


def test_redispatch_the_cost_is_that_of_the_linear_program():
    loads, plans = days(8)
    expected = [sum(map(referee, load, plan)) for load, plan in zip(loads, plans, strict=True)]
    assert redispatch_costs(GRID, loads, plans) == pytest.approx(expected, rel=1e-7)


def test_redispatch_a_day_costs_the_same_whatever_comes_before_it():
    loads, plans = days(40)
    order = np.random.default_rng(1).permutation(40)
    together = redispatch_costs(GRID, loads, plans)
    assert redispatch_costs(GRID, loads[order], plans[order]) == pytest.approx(together[order], rel=1e-9)


def test_redispatch_a_plan_that_meets_the_load_costs_what_was_planned():
    load = np.full((1, 24), GRID.capacity[9] * 0.9)
    plan = np.zeros((1, 24, len(GRID.capacity)))
    plan[0, :, 9] = load
    assert redispatch_costs(GRID, load, plan) == pytest.approx([GRID.cost[9] * load.sum()], abs=1e-6)
