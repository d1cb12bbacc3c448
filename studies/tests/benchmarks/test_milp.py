"""The generic programs on instances small enough to see the answer."""

import numpy as np
import pytest

from fewsolves_studies.benchmarks.milp import knapsack_milp, recourse_milp


def test_benchmarks_milp_knapsack():
    assert knapsack_milp(np.array([3.0, 2.0, 2.0]), np.array([2.0, 1.0, 1.0]), 2.0).tolist() == [0.0, 1.0, 1.0]


def test_benchmarks_milp_recourse_drops_the_cheapest_item_that_makes_room():
    values, weights = np.array([3.0, 1.0, 2.0]), np.array([2.0, 2.0, 2.0])
    chosen = np.array([1.0, 1.0, 0.0])
    assert recourse_milp(values, weights, 2.0, chosen, 10.0) == pytest.approx(3.0 + 1.0 - 10.0 * 1.0)
    assert recourse_milp(values, weights, 6.0, chosen, 10.0) == pytest.approx(3.0 + 1.0 + 2.0 / 10.0)


def test_benchmarks_milp_no_decision_is_an_error():
    with pytest.raises(RuntimeError, match="no decision"):
        knapsack_milp(np.ones(2), np.ones(2), -1.0)
