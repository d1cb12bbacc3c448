import numpy as np
import pytest
from scipy.optimize import Bounds, LinearConstraint, milp

from fewsolves_studies.benchmarks.panel.lot_sizing import LotSizing

T = 5


@pytest.mark.parametrize("stock", [0, 17])
def test_lot_sizing_plans_against_a_mixed_integer_program(stock):
    """Its variables: batches, setups, stock and what is expedited, each of five periods."""
    plant = LotSizing(
        T, batch=10, most_batches=3, setup=50.0, unit=1.0, holding=0.7, expedite=8.0, largest_inventory=160
    )
    eye, zero = np.eye(T), np.zeros((T, T))
    flow = np.hstack([plant.batch * eye, zero, np.eye(T, k=-1) - eye, eye])
    setup = np.hstack([eye, -plant.most_batches * eye, zero, zero])
    prices = np.repeat([plant.unit * plant.batch, plant.setup, plant.holding, plant.expedite], T)
    upper = np.repeat([plant.most_batches, 1.0, np.inf, np.inf], T)
    for y in np.random.default_rng(0).poisson(18.0, (25, T)).astype(float):
        need = y.copy()
        need[0] -= stock
        referee = milp(
            prices,
            constraints=[LinearConstraint(flow, need, need), LinearConstraint(setup, -np.inf, 0.0)],
            integrality=np.repeat([1, 1, 0, 0], T),
            bounds=Bounds(0.0, upper),
        )
        assert plant.cost(y, plant.solve(y, stock), stock) == pytest.approx(referee.fun)
        if stock == 0:
            assert plant.cost(y, plant.solve(y)) == pytest.approx(referee.fun), "no known data: nothing in stock"
