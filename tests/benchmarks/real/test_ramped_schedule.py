import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import norm

from fewsolves.benchmarks.real.ramped_schedule import schedules, slope_in_mu

SIGMA = np.linspace(0.02, 0.1, 24)
MU = 1.7 + 0.9 * np.sin(np.arange(24) / 1.8)  # steeper than the ramps allow
SETTING = (SIGMA, 50.0, 0.5, 0.4)


def expected_cost(z):
    v = (z - MU) / SIGMA
    short, spilled = SIGMA * (norm.pdf(v) - v * norm.sf(v)), SIGMA * (norm.pdf(v) + v * norm.cdf(v))
    return np.sum(50.0 * short + 0.5 * spilled + 0.5 * (z - MU) ** 2)


def test_the_schedule_is_the_best_within_the_ramps():
    (z,), _, _ = schedules(MU[None], *SETTING)
    change = np.eye(24)[1:] - np.eye(24)[:-1]
    limits = [{"type": "ineq", "fun": lambda z, s=s: 0.4 - s * (change @ z)} for s in (1.0, -1.0)]
    found = minimize(
        expected_cost, np.full(24, MU.mean()), constraints=limits, options={"ftol": 1e-11, "maxiter": 1000}
    )
    assert np.abs(np.diff(z)).max() == pytest.approx(0.4, abs=1e-6), "ramps bind here"
    assert expected_cost(z) == pytest.approx(found.fun, rel=1e-6)
    assert expected_cost(z) < found.fun + 1e-6


def test_without_ramps_that_bind_it_is_the_newsvendor_with_a_quadratic_term():
    (z,), _, _ = schedules(np.full((1, 24), 1.5), *SETTING)
    slope = 50.5 * norm.cdf((z - 1.5) / SIGMA) - 50.0 + z - 1.5
    np.testing.assert_allclose(slope, 0.0, atol=1e-6)


def test_the_slope_in_the_prediction_is_that_of_differences():
    towards, h = np.random.default_rng(0).normal(size=24), 1e-5
    _, curvature, weight = schedules(MU[None], *SETTING)
    (slope,) = slope_in_mu(towards[None], curvature, weight)
    moved = [schedules(MU + s * h * np.eye(24), *SETTING)[0] for s in (1.0, -1.0)]
    np.testing.assert_allclose(slope, (moved[0] - moved[1]) @ towards / (2 * h), atol=1e-4)
