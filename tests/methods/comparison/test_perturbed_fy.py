import numpy as np
import pytest
import torch

from fewsolves.errors import InputError
from fewsolves.methods.comparison.perturbed_fy import PerturbedFYConfig, PerturbedFYLoss
from fewsolves.testing import check_solves
from small_linear import made

SENSES = ("min", "max")


def loss(oracle, seed=0, **settings):
    return PerturbedFYLoss(oracle, PerturbedFYConfig(**settings), np.random.default_rng(seed))


@pytest.mark.parametrize("samples", [1, 3])
def test_perturbed_fy_one_solve_per_draw_and_epoch(samples):
    check_solves("perturbed-fy", pre_training=0, per_epoch=samples, settings={"samples": samples})


@pytest.mark.parametrize("sense", SENSES)
def test_perturbed_fy_the_gradient_is_the_best_decision_minus_the_mean_noisy_one(sense):
    oracle, sign = made(sense, n=6)
    rows = np.arange(6)
    y_hat = torch.tensor(oracle.Y + 0.5).requires_grad_()
    own = loss(oracle, sigma=0.4, samples=7)
    (6 * own(y_hat, torch.as_tensor(rows))).backward()
    noise = np.random.default_rng(0).standard_normal((7, *oracle.Y.shape)) * 0.4 * oracle.Y.std(axis=0)
    noisy = [np.stack(oracle.solve(rows, oracle.Y + 0.5 + sign * draw, phase="test")) for draw in noise]
    best = np.stack(oracle.labels(rows))
    np.testing.assert_allclose(y_hat.grad.numpy(), sign * (best - np.mean(noisy, axis=0)), atol=1e-12)


@pytest.mark.parametrize("sense", SENSES)
def test_perturbed_fy_is_convex_along_a_line_and_prefers_the_truth(sense):
    oracle, _ = made(sense)
    away = np.random.default_rng(3).normal(size=oracle.Y.shape)
    values = [
        float(loss(oracle, samples=20)(torch.as_tensor(oracle.Y + t * away), torch.arange(len(oracle))))
        for t in (-2.0, -1.0, 0.0, 1.0, 2.0)
    ]
    assert (np.diff(values, n=2) > -1e-12).all()
    assert values[2] < min(values[0], values[4])


def test_perturbed_fy_bad_settings_are_refused():
    with pytest.raises(InputError, match="samples must be a whole number of at least 1"):
        loss(made("min")[0], samples=0)
