import numpy as np
import pytest
import torch

from fewsolves.data import Scale
from fewsolves.predictor import Predictor, linear, network


@pytest.mark.parametrize("build", [linear, network])
def test_weights_follow_from_the_seed_and_global_state_is_left_alone(build):
    torch.manual_seed(7)
    before = torch.get_rng_state()
    one, two, other = build(3, 2, seed=1), build(3, 2, seed=1), build(3, 2, seed=2)
    assert torch.equal(torch.get_rng_state(), before)
    x = torch.ones(1, 3, dtype=torch.float64)
    assert torch.equal(one(x), two(x))
    assert not torch.equal(one(x), other(x))


def test_units_are_the_users():
    x_scale, y_scale = Scale(np.array([10.0]), np.array([2.0])), Scale(np.array([100.0]), np.array([5.0]))
    net = linear(1, 1, seed=0)
    net.weight.data.fill_(1.0)
    net.bias.data.fill_(0.0)
    y_hat = Predictor(net, x_scale, y_scale)(torch.tensor([[12.0]])).detach()
    assert float(y_hat) == pytest.approx(105.0)


def test_a_float32_module_is_fine():
    predictor = Predictor(torch.nn.Linear(2, 1))
    y_hat = predictor(torch.ones(4, 2, dtype=torch.float64))
    assert y_hat.dtype == torch.float64
    y_hat.sum().backward()
    assert predictor.net.weight.grad is not None
