import itertools

import numpy as np
import pytest

from fewsolves_studies.benchmarks.panel.charging import Charging

BATTERY = Charging(n_periods=5, size=3, rate=2, efficiency=0.9, limit=6.0, fine=4.0, wear=0.05)


def test_charging_plans_are_the_best_of_all():
    plans = np.array(list(itertools.product(range(-2, 3), repeat=5)))
    charge = np.cumsum(plans, axis=1)
    plans = plans[((charge >= 0) & (charge <= 3)).all(axis=1)]
    rng = np.random.default_rng(0)
    for _ in range(40):
        y, prices = rng.normal(4.0, 3.0, 5), tuple(rng.uniform(0.2, 3.0, 5))
        z = BATTERY.solve(y, prices)
        assert (plans == z).all(axis=1).any()
        costs = BATTERY.cost_batch(np.tile(y, (len(plans), 1)), plans, [prices] * len(plans))
        assert BATTERY.cost(y, z, prices) == pytest.approx(costs.min(), rel=1e-12)


def test_charging_the_cost_in_words():
    """4 + 2 are bought at 1 and the battery gives 0.9 * 2 of 8, of which 0.2 lie above the limit."""
    cost = BATTERY.cost(np.array([4.0, 8.0, 0.0, 0.0, 0.0]), np.array([2, -2, 0, 0, 0]), (1.0, 2.0, 1.0, 1.0, 1.0))
    assert cost == pytest.approx(6.0 + 2.0 * 6.2 + 4.0 * 0.2 + 0.05 * 4)
