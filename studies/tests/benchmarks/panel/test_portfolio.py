import numpy as np
import pytest
from scipy.optimize import minimize

from fewsolves_studies.benchmarks.catalogue import load


@pytest.fixture(scope="module")
def dataset():
    return load("portfolio", 0, n=12)


@pytest.fixture(scope="module")
def returns(dataset):
    return np.vstack([dataset.conditional_mean(dataset.X), dataset.Y])


def test_portfolio_no_move_of_weight_gains(dataset, returns):
    assets = dataset.problem.solve.__self__
    held, kink = assets.held, assets.trading
    for y in returns:
        z = assets.solve(y)
        assert z.sum() == pytest.approx(1.0, abs=1e-9) and z.min() >= 0.0 and z.max() <= assets.cap
        slope = assets.risk * assets.covariance @ z - y
        more = np.where(z < assets.cap, slope + np.where(z >= held, kink, -kink), np.inf)
        less = np.where(z > 0.0, slope + np.where(z > held, kink, -kink), -np.inf)
        assert less.max() <= more.min() + 1e-6


def test_portfolio_slsqp_finds_nothing_better(dataset, returns):
    """Its variables: what is bought and what is sold of each asset."""
    assets = dataset.problem.solve.__self__
    n, held, Q = len(assets.held), assets.held, assets.risk * assets.covariance
    for y in returns:

        def value(u, y=y):
            z = held + u[:n] - u[n:]
            return -y @ z + 0.5 * z @ Q @ z + assets.trading * u.sum()

        def gradient(u, y=y):
            slope = Q @ (held + u[:n] - u[n:]) - y
            return np.concatenate([slope, -slope]) + assets.trading

        referee = minimize(
            value,
            np.zeros(2 * n),
            jac=gradient,
            method="SLSQP",
            bounds=[(0.0, most) for most in (*(assets.cap - held), *held)],
            constraints={"type": "eq", "fun": lambda u: u[:n].sum() - u[n:].sum()},
            options={"ftol": 1e-12, "maxiter": 1000},
        )
        assert assets.cost(y, assets.solve(y)) <= referee.fun + 1e-6
