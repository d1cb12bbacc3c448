import numpy as np
import pytest
import torch

from fewsolves.data import Scale
from fewsolves.predictors.predictor import Predictor, linear, network


@pytest.mark.parametrize("build", [linear, network])
def test_predictor_weights_follow_from_the_seed_and_global_state_is_left_alone(build):
    torch.manual_seed(7)
    before = torch.get_rng_state()
    one, two, other = build(3, 2, seed=1), build(3, 2, seed=1), build(3, 2, seed=2)
    assert torch.equal(torch.get_rng_state(), before)
    x = torch.ones(1, 3, dtype=torch.float64)
    assert torch.equal(one(x), two(x))
    assert not torch.equal(one(x), other(x))


def test_predictor_units_are_the_users():
    x_scale, y_scale = Scale(np.array([10.0]), np.array([2.0])), Scale(np.array([100.0]), np.array([5.0]))
    net = linear(1, 1, seed=0)
    net.weight.data.fill_(1.0)
    net.bias.data.fill_(0.0)
    y_hat = Predictor(net, x_scale, y_scale)(torch.tensor([[12.0]])).detach()
    assert float(y_hat) == pytest.approx(105.0)


def test_predictor_a_float32_module_is_fine():
    predictor = Predictor(torch.nn.Linear(2, 1))
    y_hat = predictor(torch.ones(4, 2, dtype=torch.float64))
    assert y_hat.dtype == torch.float64
    y_hat.sum().backward()
    assert predictor.net.weight.grad is not None


def bounded(low, high, std=2.0):
    net = linear(1, 2, seed=0)
    net.weight.data.fill_(1.0)
    net.bias.data.fill_(0.0)
    y_scale = Scale(np.zeros(2), np.full(2, std))
    return Predictor(net, None, y_scale, (np.atleast_1d(low), np.atleast_1d(high)))


@pytest.mark.parametrize(("low", "high"), [(0.0, np.inf), (-np.inf, 3.0), ([0.0, -1.0], 3.0), (0.0, 0.01)])
def test_predictor_predictions_keep_to_bounds_and_still_have_a_slope_there(low, high):
    predictor, x = bounded(low, high), torch.linspace(-2, 2, 401, dtype=torch.float64)[:, None].requires_grad_()
    y_hat = predictor(x)
    assert bool((y_hat.detach().numpy() >= low).all() and (y_hat.detach().numpy() <= high).all())
    y_hat.sum().backward()
    assert bool(torch.isfinite(x.grad).all())
    assert float(x.grad[200, 0]) > 0.5, "at the bound, where it holds half"


def test_predictor_bounds_change_nothing_far_from_them():
    x = torch.tensor([[1.5]], dtype=torch.float64)
    assert float(bounded(0.0, 100.0)(x)[0, 0].detach()) == pytest.approx(3.0, abs=1e-6)
