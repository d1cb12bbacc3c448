import numpy as np

from fewsolves.reporting import figures
from fewsolves_studies.benchmarks.regret_landscapes import smoothing_by_importance


def total_variation(values):
    return np.abs(np.diff(values)).sum()


def test_regret_landscapes_a_larger_sigma_is_smoother():
    picture = smoothing_by_importance()
    grid, smoothed = picture["grid"], picture["smoothed"]
    assert list(smoothed) == [0.1, 0.3, 0.8]
    assert picture["regret"].shape == grid.shape
    assert picture["points"].shape == (300,)
    assert all(values.shape == grid.shape and np.isfinite(values).all() for values in smoothed.values())
    variation = [total_variation(values) for values in smoothed.values()]
    assert variation == sorted(variation, reverse=True)
    assert variation[-1] < 0.8 * variation[0]


def test_regret_landscapes_smoothing_is_that_of_the_function():
    """A wide sample of a step-shaped function, averaged over N(x, sigma^2) by brute force."""
    picture = smoothing_by_importance((0.3, 0.8), n=3000)
    inside = np.abs(picture["grid"]) < 2  # away from the edges of the sampled range
    noise = np.random.default_rng(0).standard_normal((4000, 1))
    for sigma, values in picture["smoothed"].items():
        x = picture["grid"][inside] + sigma * noise
        expected = (np.floor(2 * np.abs(x)) + 2 * (x > 1.2)).mean(axis=0)
        assert np.abs(values[inside] - expected).max() < 0.35


def test_regret_landscapes_the_report_can_draw_it():
    assert figures.smoothing(**smoothing_by_importance(n=50)).axes
