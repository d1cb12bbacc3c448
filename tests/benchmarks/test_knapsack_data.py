"""The knapsack datasets have the shapes, scales and constants of their definition."""

import numpy as np
import pytest

from fewsolves.benchmarks.catalogue import load
from fewsolves.errors import InputError


def fixed(benchmark):
    """The object whose method `solve` is: it holds the dataset's fixed data."""
    return benchmark.problem.solve.__self__


def test_weights():
    benchmark = load("kp-weights", seed=1)
    kp = fixed(benchmark)
    assert benchmark.X.shape == (1000, 5) and benchmark.Y.shape == (1000, 50)
    assert np.all(np.rint(benchmark.Y) == benchmark.Y) and np.all(benchmark.Y >= 0)
    assert kp.capacity == np.rint(0.2 * benchmark.Y.sum(axis=1).mean())
    assert kp.penalty == 10.0 and kp.values.min() >= 0 and kp.values.max() <= 1
    assert 150 < np.median(benchmark.Y) < 320 and 300 < benchmark.Y.mean() < 480


def test_values():
    benchmark = load("kp-values", seed=1)
    kp = fixed(benchmark)
    assert kp.capacity == pytest.approx(0.5 * kp.weights.sum())
    counts = benchmark.Y / kp.weights
    np.testing.assert_allclose(counts, np.rint(counts), atol=1e-6)
    assert benchmark.problem.linear == "max"


def test_capacity():
    benchmark = load("kp-capacity", seed=1)
    kp = fixed(benchmark)
    assert benchmark.Y.shape == (1000, 1) and np.all(benchmark.X >= 0)
    assert np.all(np.rint(benchmark.Y) == benchmark.Y)
    assert benchmark.Y.min() >= np.rint(0.1 * kp.weights.sum()) and benchmark.Y.max() <= np.rint(kp.weights.sum())
    assert np.all(kp.values <= kp.weights)


def test_mean_capacity_is_the_mean_of_draws():
    benchmark = load("kp-capacity", seed=2)
    for x in benchmark.X[:5]:
        draws = benchmark.sample_given(x, 40_000, np.random.default_rng(0))
        error = draws.std() / np.sqrt(len(draws)) + 1e-9
        assert abs(draws.mean() - benchmark.conditional_mean(x)[0, 0]) < 5 * error


def test_poisson_capacity_is_half_of_the_weights_on_average():
    benchmark = load("kp-capacity", seed=3, capacity="poisson")
    assert fixed(benchmark).weights.sum() == pytest.approx(2.0 * benchmark.Y.mean())
    assert np.any(benchmark.X < 0)


@pytest.mark.parametrize("seed", range(30))
def test_some_feature_always_drives_the_capacity(seed):
    assert load("kp-capacity", seed=seed, n=2, n_items=3, n_features=2).source.b.any()


def test_options_reach_the_data():
    small = load("kp-weights", n=20, n_items=7, n_features=3, penalty=2.0, capacity_share=0.5)
    assert small.X.shape == (20, 3) and small.Y.shape == (20, 7) and fixed(small).penalty == 2.0
    assert fixed(small).capacity == np.rint(0.5 * small.Y.sum(axis=1).mean())
    assert load("kp-values", n=20, degree=2).Y.mean() < load("kp-values", n=20).Y.mean()
    assert not np.array_equal(load("kp-values", noise="multiplicative").Y, load("kp-values").Y)


@pytest.mark.parametrize(
    "options", [{"capacity": "gamma"}, {"noise": "additive"}, {"capacity": "poisson", "noise": "?"}]
)
def test_unusable_options(options):
    with pytest.raises(InputError):
        load("kp-capacity", **options)
