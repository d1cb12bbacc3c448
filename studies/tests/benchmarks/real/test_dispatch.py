import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import linprog

from fewsolves_studies.benchmarks.real.dispatch import LOST, day_ahead_plans
from fewsolves_studies.benchmarks.real.grid import ieee24

GRID = ieee24()
N = len(GRID.capacity)


def referee(loads):
    """The least cost of a day, with every line, built from the definition."""
    per_hour, n_loads = np.hstack([GRID.unit_flows, GRID.load_flows]), len(GRID.share)
    hours = sp.eye(24)
    ramps = sp.kron(np.eye(24)[1:] - np.eye(24)[:-1], np.hstack([np.eye(N), np.zeros((N, n_loads))]))
    flows, taken = sp.kron(hours, per_hour), np.outer(loads, GRID.load_flows @ GRID.share).ravel()
    room, ramp = np.tile(GRID.line_capacity, 24), np.tile(GRID.ramp, 23)
    found = linprog(
        np.tile([*GRID.cost, *[LOST] * n_loads], 24),
        A_ub=sp.vstack([flows, -flows, ramps, -ramps]),
        b_ub=np.concatenate([room + taken, room - taken, ramp, ramp]),
        A_eq=sp.kron(hours, np.ones((1, N + n_loads))),
        b_eq=loads,
        bounds=[(0.0, bound) for bound in (*GRID.capacity, *[None] * n_loads)] * 24,
    )
    return found.fun


@pytest.fixture(scope="module")
def days():
    rng = np.random.default_rng(0)
    smooth = 1500.0 + 600.0 * np.sin(np.arange(24) / 24 * 2 * np.pi)
    return np.array([smooth, smooth + 250.0 * rng.standard_normal(24), np.full(24, 500.0), smooth * 2.2])


def test_real_dispatch_the_plan_is_that_of_the_linear_program(days):
    for plan, loads in zip(day_ahead_plans(GRID, days), days, strict=True):
        unmet = loads.sum() - plan.sum()
        assert (plan @ GRID.cost).sum() + LOST * unmet == pytest.approx(referee(loads), rel=1e-5)


def test_real_dispatch_plans_keep_to_units_ramps_and_lines(days):
    plans = day_ahead_plans(GRID, days)
    assert (plans >= 0.0).all() and (plans <= GRID.capacity).all()
    assert (np.abs(np.diff(plans, axis=1)) <= GRID.ramp + 1e-5).all()
    flows = plans[:3] @ GRID.unit_flows.T - days[:3, :, None] * (GRID.load_flows @ GRID.share)
    assert (np.abs(flows) <= GRID.line_capacity + 1e-4).all()


def test_real_dispatch_a_plan_does_not_depend_on_the_day_solved_before(days):
    there, back = day_ahead_plans(GRID, days), day_ahead_plans(GRID, days[::-1])
    np.testing.assert_allclose(there, back[::-1], atol=2e-6)


def test_real_dispatch_a_load_below_zero_is_none():
    assert (day_ahead_plans(GRID, np.full((1, 24), -5.0)) == 0.0).all()
