import itertools

import numpy as np

from fewsolves_studies.benchmarks.panel.loading import Loading


def test_loading_the_load_is_the_best_of_all_subsets():
    rng = np.random.default_rng(0)
    subsets = np.array(list(itertools.product([0, 1], repeat=9)))
    for _ in range(60):
        value, predicted = rng.integers(1, 30, 9) * 1.0, rng.normal(8.0, 6.0, 9)
        weight = np.maximum(predicted, 0.0)
        limit = float(rng.uniform(-0.1, 0.8)) * weight.sum()
        z = Loading(value, 3.0).solve(predicted, limit)
        assert weight @ z <= max(limit, 0.0) + 1e-9
        assert value @ z == (subsets[subsets @ weight <= limit + 1e-9] @ value).max(initial=0.0)


def test_loading_overweight_is_fined():
    assert Loading(np.array([5.0, 7.0]), 3.0).cost(np.array([4.0, 4.0]), np.array([1, 1]), 6.0) == -12.0 + 3.0 * 2.0
