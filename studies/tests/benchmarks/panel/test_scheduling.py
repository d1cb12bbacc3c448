import itertools

import numpy as np
import pytest

from fewsolves_studies.benchmarks.panel.scheduling import OneMachine


def cost_in_words(p, order, weight, due, holding):
    time = total = 0.0
    for j in order:
        time += p[j]
        total += weight[j] * (max(0.0, time - due[j]) + holding * time)
    return total


def test_scheduling_the_order_is_the_best_of_all():
    rng = np.random.default_rng(0)
    for _ in range(30):
        weight, due, p = rng.integers(1, 10, 6) * 1.0, rng.uniform(0.0, 30.0, 6), rng.uniform(0.0, 10.0, 6)
        jobs = OneMachine(weight, due, 0.05)
        best = min(cost_in_words(p, order, weight, due, 0.05) for order in itertools.permutations(range(6)))
        z = jobs.solve(p)
        assert jobs.cost(p, z) == pytest.approx(cost_in_words(p, z, weight, due, 0.05))
        assert jobs.cost(p, z) == pytest.approx(best)
