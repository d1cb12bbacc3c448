import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from fewsolves_studies.benchmarks.panel.recourse import Recourse

RNG = np.random.default_rng(0)
DEPOTS = Recourse(
    store=np.array([2.0, 2.5]),
    room=np.array([8.0, 9.0]),
    ship=RNG.uniform(0.5, 4.0, (2, 3)),
    express=np.array([9.0, 5.0, 12.0]),
    back=np.array([0.8, 1.0]),
)


def unit_by_unit(y, z):
    """Each unit that is asked for to one that is stored, or to express; the rest of the stock is sent back."""
    customer, depot = np.repeat(np.arange(3), y), np.repeat(np.arange(2), z)
    stored = DEPOTS.ship[depot][:, customer].T + DEPOTS.back[depot]
    table = np.hstack([stored, np.where(np.eye(len(customer)) > 0, DEPOTS.express[customer][:, None], 1e6)])
    chosen = linear_sum_assignment(table)
    return (DEPOTS.store - DEPOTS.back) @ z + table[chosen].sum()


def test_recourse_the_cost_is_that_of_the_best_assignment_of_units():
    rng = np.random.default_rng(1)
    for _ in range(30):
        y, z = rng.integers(0, 7, 3), rng.integers(0, 9, 2)
        assert DEPOTS.cost(y.astype(float), z.astype(float)) == pytest.approx(unit_by_unit(y, z), abs=1e-6)


def test_recourse_no_stock_of_whole_units_costs_less_than_the_solution():
    rng = np.random.default_rng(2)
    every = [(a, b) for a in range(9) for b in range(10)]
    for _ in range(6):
        y = rng.integers(0, 7, 3)
        z = DEPOTS.solve(y.astype(float))
        assert (z >= 0.0).all() and (z <= DEPOTS.room).all()
        least = min(unit_by_unit(y, np.array(other)) for other in every)  # vertices are whole where the data are
        assert DEPOTS.cost(y.astype(float), z) == pytest.approx(least, abs=1e-6)
