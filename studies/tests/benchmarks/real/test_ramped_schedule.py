import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.stats import norm

from fewsolves_studies.benchmarks.real.pjm import pjm_rows
from fewsolves_studies.benchmarks.real.ramped_schedule import schedules, slopes_of

SIGMA = np.linspace(0.02, 0.1, 24)
MU = 1.7 + 0.9 * np.sin(np.arange(24) / 1.8)  # steeper than the ramps allow
SETTING = (SIGMA, 50.0, 0.5, 0.4)


def expected_cost(z):
    v = (z - MU) / SIGMA
    short, spilled = SIGMA * (norm.pdf(v) - v * norm.sf(v)), SIGMA * (norm.pdf(v) + v * norm.cdf(v))
    return np.sum(50.0 * short + 0.5 * spilled + 0.5 * (z - MU) ** 2)


def test_ramped_schedule_is_the_best_within_the_ramps():
    (z,), _, _ = schedules(MU[None], *SETTING)
    change = np.eye(24)[1:] - np.eye(24)[:-1]
    limits = [{"type": "ineq", "fun": lambda z, s=s: 0.4 - s * (change @ z)} for s in (1.0, -1.0)]
    found = minimize(
        expected_cost, np.full(24, MU.mean()), constraints=limits, options={"ftol": 1e-11, "maxiter": 1000}
    )
    assert np.abs(np.diff(z)).max() == pytest.approx(0.4, abs=1e-6), "ramps bind here"
    assert expected_cost(z) == pytest.approx(found.fun, rel=1e-6)
    assert expected_cost(z) < found.fun + 1e-6


def loss_against_the_best(mu, sigma, z):
    """At the most, of each day: what the multipliers of the limits, which the slopes tell, leave of the duality gap."""
    slope = 50.5 * norm.cdf((z - mu) / sigma) - 50.0 + z - mu
    pushed = -np.cumsum(slope[:, ::-1], axis=1)[:, ::-1]  # up less down, of the limit before each hour
    np.testing.assert_allclose(pushed[:, 0], 0.0, atol=1e-6)
    change, pushed = np.diff(z, axis=1), pushed[:, 1:]
    return np.where(pushed > 0, pushed * (0.4 - change), -pushed * (0.4 + change)).sum(axis=1)


@pytest.mark.parametrize("sigma", [SIGMA, np.full(24, 0.01), np.ones(24)], ids=["usual", "narrow", "wide"])
@pytest.mark.parametrize("noise", [0.0, 0.1, 0.5])
def test_ramped_schedule_every_day_of_the_data_is_scheduled_at_the_least_cost(sigma, noise):
    _, _, loads = pjm_rows()
    mu = loads + noise * np.random.default_rng(0).normal(size=loads.shape)
    Z, _, _ = schedules(mu, sigma, 50.0, 0.5, 0.4)
    assert np.abs(np.diff(Z, axis=1)).max() < 0.4
    assert loss_against_the_best(mu, sigma, Z).max() < 2e-5


@given(st.lists(st.floats(-3, 3), min_size=24, max_size=24), st.floats(0.005, 2.0))
def test_ramped_schedule_so_is_any_prediction(mu, spread):
    mu, sigma = np.array([mu]), np.full(24, spread)
    Z, _, _ = schedules(mu, sigma, 50.0, 0.5, 0.4)
    assert loss_against_the_best(mu, sigma, Z).max() < 2e-5


def test_ramped_schedule_without_ramps_that_bind_it_is_the_newsvendor_with_a_quadratic_term():
    (z,), _, _ = schedules(np.full((1, 24), 1.5), *SETTING)
    slope = 50.5 * norm.cdf((z - 1.5) / SIGMA) - 50.0 + z - 1.5
    np.testing.assert_allclose(slope, 0.0, atol=1e-6)


def test_ramped_schedule_slopes_are_those_of_differences():
    towards, h = np.random.default_rng(0).normal(size=24), 1e-5
    Z, curvature, weight = schedules(MU[None], *SETTING)
    in_mu, in_sigma = slopes_of(towards[None], Z, MU, SIGMA, curvature, weight)
    moved = [schedules(MU + s * h * np.eye(24), *SETTING)[0] for s in (1.0, -1.0)]
    np.testing.assert_allclose(in_mu[0], (moved[0] - moved[1]) @ towards / (2 * h), atol=1e-4)
    moved = [
        np.concatenate([schedules(MU[None], SIGMA + s * h * hour, *SETTING[1:])[0] for hour in np.eye(24)])
        for s in (1.0, -1.0)
    ]
    np.testing.assert_allclose(in_sigma[0], (moved[0] - moved[1]) @ towards / (2 * h), atol=1e-3)
