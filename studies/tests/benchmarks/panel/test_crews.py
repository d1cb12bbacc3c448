import itertools

import numpy as np
import pytest

from fewsolves_studies.benchmarks.panel.crews import Crews

RNG = np.random.default_rng(0)
GANGS = Crews(RNG.uniform(4.0, 9.0, (4, 2)), RNG.uniform(3.0, 6.0, (4, 2)), overtime=3.0)


def test_crews_the_least_cost_of_all_ways_to_send_them():
    rng = np.random.default_rng(1)
    ways = np.zeros((3**4, 4, 3))
    for way, sites in zip(ways, itertools.product(range(3), repeat=4), strict=True):
        way[range(4), sites] = 1.0  # the last site is home
    every = ways[:, :, :2].reshape(-1, 8)
    for _ in range(25):
        y, present = rng.normal(9.0, 6.0, 2), tuple(rng.integers(0, 2, 4).tolist())
        planned = np.maximum(y, 0.0)
        costs = GANGS.cost_batch(np.tile(planned, (81, 1)), every, [present] * 81)
        assert np.isnan(costs).sum() == 81 - 3 ** sum(present)
        assert GANGS.cost(planned, GANGS.solve(y, present), present) == pytest.approx(np.nanmin(costs), abs=1e-6)


def test_crews_a_crew_that_is_absent_or_sent_two_ways_has_no_price():
    one, both = np.array([1, 0, 0, 0, 0, 0, 0, 0]), np.array([1, 1, 0, 0, 0, 0, 0, 0])
    y = np.array([5.0, 5.0])
    assert np.isfinite(GANGS.cost(y, one, (1, 0, 0, 0)))
    assert np.isnan(GANGS.cost(y, one, (0, 1, 1, 1))) and np.isnan(GANGS.cost(y, both, (1, 1, 1, 1)))
