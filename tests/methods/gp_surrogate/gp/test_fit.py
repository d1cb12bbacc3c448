"""Fitted hyperparameters against a slow optimiser of the same objective, and data that break optimisers."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from scipy.optimize import minimize
from threadpoolctl import threadpool_limits

from fewsolves.methods.gp_surrogate.gp.covariance import KERNELS
from fewsolves.methods.gp_surrogate.gp.processes import GPConfig, GPs
from gp_reference import Example, Hyperparameters, log_posterior


def best_by_lbfgs(data, n_inputs):
    """Largest MAP objective found from several starts, over log l, log rho and log s2, shared by all of `data`."""
    mu, examples = math.log(n_inputs) / 2, [Example(x, y) for x, y in data]

    def loss(logs):
        return -log_posterior("rbf", examples, Hyperparameters(*np.exp(logs)), mu, 1.0)

    bounds = [(mu - 8, mu + 8), (math.log(1e-4), math.log(1e3)), (-20, 20)]
    starts = [(mu + shift, log_rho, 0.0) for shift in (-1.0, 0.7) for log_rho in (-7.0, -1.0)]
    with threadpool_limits(1):  # matrices this small only make threads wait
        results = [minimize(loss, start, bounds=bounds, method="L-BFGS-B") for start in starts]
    best = min(results, key=lambda result: result.fun)
    return -best.fun, best.x


def smooth_data(n, n_inputs, rng, noise=0.2):
    x = rng.normal(size=(n, n_inputs))
    direction = rng.normal(size=n_inputs) / math.sqrt(n_inputs)
    return x, np.sin(2 * x @ direction) + noise * rng.normal(size=n)


def fitted(data, n_inputs, config=None):
    gps = GPs(len(data), n_inputs, config)
    for i, (x, y) in enumerate(data):
        gps.add(np.full(len(y), i), x, y)
    gps.fit()
    return gps


@pytest.mark.parametrize(("n_inputs", "noise"), [(1, 0.3), (1, 0.0), (2, 0.2), (8, 0.1), (50, 0.1)])
def test_gp_fit_no_slow_optimiser_finds_better_hyperparameters(n_inputs, noise):
    rng = np.random.default_rng(n_inputs)
    data = [smooth_data(n, n_inputs, rng, noise) for n in (5, 14, 30)]
    gps = fitted(data, n_inputs)
    for i, one in enumerate(data):
        best, _ = best_by_lbfgs([one], n_inputs)
        assert gps.log_posterior()[i] >= best - 0.02


def test_gp_fit_an_optimum_inside_the_bounds_is_found_closely():
    data = [smooth_data(50, 2, np.random.default_rng(5), noise=0.3)]
    gps = fitted(data, 2)
    best, (log_l, log_rho, log_s2) = best_by_lbfgs(data, 2)
    assert gps.log_posterior()[0] == pytest.approx(best, abs=2e-3)
    assert math.log(gps.lengthscale[0]) == pytest.approx(log_l, abs=0.05)
    assert math.log(gps.noise[0]) == pytest.approx(log_rho + log_s2, abs=0.05)


def test_gp_fit_a_warm_start_ends_where_a_cold_one_does():
    rng = np.random.default_rng(0)
    data = [smooth_data(30, 3, rng) for _ in range(7)]
    warm = fitted([(x[:25], y[:25]) for x, y in data], 3)
    for i, (x, y) in enumerate(data):
        warm.add(np.full(5, i), x[25:], y[25:])
    warm.fit()
    np.testing.assert_allclose(warm.log_posterior(), fitted(data, 3).log_posterior(), atol=0.02)


def test_gp_fit_a_pooled_fit_maximises_the_sum():
    rng = np.random.default_rng(1)
    data = [smooth_data(n, 3, rng) for n in (1, 6, 9, 14, 20)]
    gps = fitted(data, 3, GPConfig(pooled=True))
    best, _ = best_by_lbfgs(data, 3)
    assert gps.log_posterior().sum() == pytest.approx(best, abs=0.02)
    assert np.ptp(gps.lengthscale) == np.ptp(gps.outputscale) == np.ptp(gps.noise) == 0
    gps.add([0], data[1][0][:1], [0.3])
    gps.fit()
    assert np.ptp(gps.lengthscale) == 0


def test_gp_fit_pooling_one_example_is_no_pooling():
    data = [smooth_data(20, 2, np.random.default_rng(2))]
    alone, pooled = fitted(data, 2), fitted(data, 2, GPConfig(pooled=True))
    assert pooled.log_posterior()[0] == pytest.approx(alone.log_posterior()[0], abs=5e-3)


@pytest.mark.parametrize("scale", [1e-12, 1e-6, 1.0, 1e6, 1e12])
def test_gp_fit_the_scale_of_the_targets_only_scales_the_answer(scale):
    x, y = smooth_data(20, 2, np.random.default_rng(3))
    query = torch.tensor([[0.3, -0.2]])
    mean, std = fitted([(x, y)], 2).posterior(query, [0])
    scaled_mean, scaled_std = fitted([(x, scale * y)], 2).posterior(query, [0])
    torch.testing.assert_close(scaled_mean / scale, mean, rtol=1e-6, atol=0)
    torch.testing.assert_close(scaled_std / scale, std, rtol=1e-6, atol=0)


CASES = {
    "one point": (np.zeros((1, 2)), np.array([3.0])),
    "duplicates": (np.repeat(np.arange(6.0).reshape(3, 2), 8, axis=0), np.tile([1.0, -1.0], 12)),
    "all the same point": (np.ones((9, 2)), np.arange(9.0)),
    "constant": (np.random.default_rng(0).normal(size=(12, 2)), np.full(12, 5.0)),
    "zero": (np.random.default_rng(0).normal(size=(12, 2)), np.zeros(12)),
    "tiny targets": (np.random.default_rng(0).normal(size=(12, 2)), np.linspace(0, 1e-300, 12)),
    "huge targets": (np.random.default_rng(0).normal(size=(12, 2)), np.linspace(0, 1e120, 12)),
    "close inputs": (1e-9 * np.random.default_rng(0).normal(size=(12, 2)), np.arange(12.0)),
    "far inputs": (1e9 * np.random.default_rng(0).normal(size=(12, 2)), np.arange(12.0)),
    "huge inputs": (1e140 * np.random.default_rng(0).normal(size=(12, 2)), np.arange(12.0)),
    "one far away": (np.vstack([np.zeros((11, 2)), [[1e100, 0]]]), np.arange(12.0)),
}


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("pooled", [False, True])
@pytest.mark.parametrize("case", CASES)
def test_gp_fit_degenerate_data_give_finite_answers(case, pooled, kernel):
    x, y = CASES[case]
    gps = fitted([(x, y)], 2, GPConfig(pooled=pooled, kernel=kernel))
    query = torch.tensor([[0.5, 0.5]], dtype=torch.float64, requires_grad=True)
    mean, std = gps.posterior(query, [0])
    (mean + std).sum().backward()
    assert not gps.failed.any()
    assert torch.isfinite(mean).all()
    assert torch.isfinite(std).all()
    assert query.grad is not None
    assert torch.isfinite(query.grad).all()
    assert np.isfinite(gps.log_posterior()).all()


def test_gp_fit_one_point_is_taken_for_signal():
    gps = fitted([CASES["one point"]], 2)
    assert gps.outputscale[0] == pytest.approx(9 / (1 + 1e-4))
    assert gps.noise[0] == pytest.approx(1e-4 * gps.outputscale[0])


def test_gp_fit_targets_that_are_all_zero_leave_the_hyperparameters_alone():
    gps = fitted([CASES["zero"]], 2)
    assert gps.lengthscale[0] == pytest.approx(math.sqrt(2))
    assert gps.outputscale[0] == 1.0


@pytest.mark.parametrize("n_inputs", [1, 512])
def test_gp_fit_few_and_many_inputs(n_inputs):
    rng = np.random.default_rng(0)
    gps = fitted([smooth_data(n, n_inputs, rng) for n in (3, 30, 120)], n_inputs)
    mean, std = gps.posterior(torch.zeros(3, n_inputs), range(3))
    assert torch.isfinite(mean).all()
    assert (std <= torch.from_numpy(np.sqrt(gps.outputscale))).all()


def test_gp_fit_a_covariance_that_cannot_be_factorised_gets_more_noise():
    gps = fitted([CASES["duplicates"]], 2, GPConfig(noise_floor=1e-18, noise_ceiling=1e-18))
    assert not gps.failed[0]
    assert 1e-16 < gps.noise[0] / gps.outputscale[0] <= 0.1


def test_gp_fit_where_nothing_helps_the_answer_is_not_to_be_trusted():
    gps = fitted([smooth_data(5, 2, np.random.default_rng(0))] * 2, 2)
    gps._hyper[0, 1] = math.nan  # no data leads here
    gps.add([0], [[1.0, 1.0]], [1.0])
    query = torch.zeros(2, 2, requires_grad=True)
    mean, std = gps.posterior(query, [0, 1])
    mean.sum().backward()
    assert gps.failed.tolist() == [True, False]
    assert (mean[0].item(), std[0].item()) == (0.0, math.inf)
    assert query.grad is not None
    assert not query.grad[0].any()
    assert GPs.from_state(gps.state()).failed.tolist() == [True, False]
    gps.fit()
    assert not gps.failed.any()


@pytest.mark.parametrize("n_inputs", [2, 50])
def test_gp_fit_threads_change_nothing(n_inputs, monkeypatch):
    rng = np.random.default_rng(0)
    data = [smooth_data(n, n_inputs, rng) for n in rng.integers(1, 12, size=60)]
    query = torch.zeros(60, n_inputs)
    alone = fitted(data, n_inputs)
    monkeypatch.setattr("fewsolves.methods.gp_surrogate.gp.threads.WORTH_THREADS", 10)
    threaded = fitted(data, n_inputs)
    assert np.array_equal(alone._hyper, threaded._hyper)
    assert torch.equal(alone.posterior(query, range(60))[1], threaded.posterior(query, range(60))[1])
