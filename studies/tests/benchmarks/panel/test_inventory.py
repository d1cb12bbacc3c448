import numpy as np
import pytest
from scipy.optimize import linprog

from fewsolves_studies.benchmarks.panel.inventory import Inventory


def test_inventory_orders_against_a_linear_program():
    """Its variables: ordered, short and over, of each of five goods."""
    rng = np.random.default_rng(0)
    eye, zero = np.eye(5), np.zeros((5, 5))
    for _ in range(40):
        volume, short, over, y = (rng.uniform(0.5, 3.0, 5) for _ in range(4))
        goods = Inventory(volume, float(rng.uniform(0.4, 1.2)) * float(volume @ y), short, over)
        A = np.vstack([np.hstack([-eye, -eye, zero]), np.hstack([eye, zero, -eye]), np.append(volume, np.zeros(10))])
        referee = linprog(np.concatenate([np.zeros(5), short, over]), A, np.concatenate([-y, y, [goods.room]]))
        z = goods.solve(y)
        assert volume @ z <= goods.room + 1e-9 and z.min() >= 0.0
        assert goods.cost(y, z) == pytest.approx(referee.fun, abs=1e-9)
