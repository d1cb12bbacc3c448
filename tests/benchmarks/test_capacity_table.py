"""The table of all capacities against the solver that knows one."""

import numpy as np
import pytest

from fewsolves.benchmarks.knapsack_solver import solve_knapsacks, tabulate
from fewsolves.errors import InputError


@pytest.mark.parametrize("whole", [False, True])
def test_agrees_with_the_solver_at_every_capacity(whole):
    rng = np.random.default_rng(0)
    w = rng.uniform(size=40)
    v = rng.uniform(size=40) * w
    if whole:
        v, w = np.rint(9.0 * v), np.rint(9.0 * w)  # ties and zeros
    table = tabulate(v, w)
    capacity = np.r_[0.0, np.arange(np.ceil(w.sum()) + 2.0), rng.uniform(0.0, w.sum(), 200), 1e300, table.weight[:50]]
    z = table.solve(capacity)
    assert np.all(z @ w <= capacity * (1 + 2e-9) + 2e-9)
    np.testing.assert_allclose(z @ v, solve_knapsacks(v, w, capacity).value, rtol=1e-12, atol=1e-12)


def test_is_a_rising_frontier_that_its_subsets_attain():
    rng = np.random.default_rng(1)
    w, v = rng.uniform(size=30), rng.uniform(size=30)
    table = tabulate(v, w)
    assert np.all(np.diff(table.weight) > 0) and np.all(np.diff(table.value) > 0)
    np.testing.assert_allclose(table.z @ w, table.weight, atol=1e-12)
    np.testing.assert_allclose(table.z @ v, table.value, atol=1e-12)


def test_refuses_negative_data():
    with pytest.raises(InputError, match=">= 0"):
        tabulate(np.array([1.0, -1.0]), np.ones(2))
