import numpy as np
import pytest
import torch

from fewsolves.errors import InputError
from fewsolves.methods.comparison.perturbation_gradient import PerturbationGradientConfig, PerturbationGradientLoss
from fewsolves.testing import check_solves
from small_linear import FEASIBLE, made

SENSES = ("min", "max")


def loss(oracle, **settings):
    return PerturbationGradientLoss(oracle, PerturbationGradientConfig(**settings))


def value_function(c):
    return np.min(FEASIBLE @ c)


@pytest.mark.parametrize("difference", ["backward", "central"])
def test_perturbation_gradient_two_solves_per_epoch(difference):
    check_solves("pg", pre_training=0, per_epoch=2, settings={"difference": difference})


@pytest.mark.parametrize("sense", SENSES)
@pytest.mark.parametrize("width", [0.01, 0.3])
def test_perturbation_gradient_values_are_differences_of_the_optimal_value(sense, width):
    oracle, sign = made(sense)
    y_hat = oracle.Y + np.random.default_rng(1).normal(size=oracle.Y.shape)
    optimum = oracle.optimum(np.arange(len(oracle)))
    for i, (c, c_hat) in enumerate(zip(sign * oracle.Y, sign * y_hat, strict=True)):
        point, index = torch.as_tensor(y_hat[i : i + 1]), torch.tensor([i])
        slope = (value_function(c_hat) - value_function(c_hat - width * c)) / width
        assert float(loss(oracle, width=width)(point, index)) == pytest.approx(slope - optimum[i], abs=1e-9)
        both = (value_function(c_hat + width * c) - value_function(c_hat - width * c)) / (2 * width)
        central = loss(oracle, width=width, difference="central")
        assert float(central(point, index)) == pytest.approx(both - optimum[i], abs=1e-9)


@pytest.mark.parametrize("sense", SENSES)
def test_perturbation_gradient_the_backward_difference_bounds_the_regret_and_reaches_it(sense):
    oracle, _ = made(sense)
    y_hat = oracle.Y + np.random.default_rng(1).normal(size=oracle.Y.shape)
    rows = np.arange(len(oracle))
    regret = oracle.regret(rows, y_hat, phase="test")
    for i in rows:
        point, index = torch.as_tensor(y_hat[i : i + 1]), torch.tensor([i])
        assert float(loss(oracle, width=0.5)(point, index)) >= regret[i] - 1e-9
        assert float(loss(oracle, width=1e-7)(point, index)) == pytest.approx(regret[i], abs=1e-6)


def test_perturbation_gradient_is_the_difference_of_the_decisions():
    oracle, sign = made("max")
    y_hat = torch.tensor(oracle.Y + 0.7).requires_grad_()
    rows = np.arange(len(oracle))
    (len(rows) * loss(oracle, width=0.2)(y_hat, torch.as_tensor(rows))).backward()
    high = np.stack(oracle.solve(rows, y_hat.detach().numpy(), phase="test"))
    low = np.stack(oracle.solve(rows, y_hat.detach().numpy() - 0.2 * oracle.Y, phase="test"))
    np.testing.assert_allclose(y_hat.grad.numpy(), sign * (high - low) / 0.2, atol=1e-9)


def test_perturbation_gradient_bad_settings_are_refused():
    with pytest.raises(InputError, match="width must be a number above 0"):
        loss(made("min")[0], width=0.0)
