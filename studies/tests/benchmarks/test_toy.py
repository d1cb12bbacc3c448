"""The toy problem: identity and steps."""

import numpy as np
import pytest

from fewsolves.errors import InputError
from fewsolves_studies.benchmarks.catalogue import load


@pytest.mark.parametrize("n_y", [64, 128, 256, 512])
def test_toy_data_is_a_linear_map(n_y):
    toy = load(f"toy-{n_y}", seed=1)
    assert toy.Y.shape == (1000, n_y)
    np.testing.assert_allclose(toy.Y, toy.X @ toy.source.W.T)
    assert toy.source.W.min() >= 0 and toy.source.W.max() <= 1
    assert np.array_equal(toy.sample_given(toy.X[0], 3, np.random.default_rng(0)), np.tile(toy.Y[0], (3, 1)))


def test_toy_cost_climbs_by_five_per_unit_of_distance():
    problem = load("toy-64").problem
    y = np.zeros(64)
    for distance, cost in [(0.0, 0.0), (0.99, 0.0), (1.0, 5.0), (2.5, 10.0)]:
        assert problem.cost(y, problem.solve(distance * np.eye(64)[3])) == cost


def test_toy_steps_are_options():
    problem = load("toy-64", n_y=2, s=3.0, l=0.5).problem
    assert problem.cost(np.zeros(2), np.array([0.0, 1.2])) == 6.0
    with pytest.raises(InputError, match="l > 0"):
        load("toy-64", l=0.0)


def test_toy_the_decision_is_a_copy_of_the_prediction():
    problem, y_hat = load("toy-64", n=2).problem, np.ones((1, 64))
    z = problem.solve_batch(y_hat)
    z[:] = 0.0
    assert np.all(y_hat == 1.0)
