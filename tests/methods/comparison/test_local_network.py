import numpy as np
import pytest
import torch

from fewsolves.methods.comparison.local_forms import FORMS, make_form
from fewsolves.methods.comparison.local_network import ParameterNetwork, RegretNetwork, fit_parameters, mlp


def test_local_network_weights_follow_from_the_generator_and_global_state_is_left_alone():
    torch.manual_seed(3)
    before = torch.get_rng_state()
    nets = [mlp([2, 5, 1], torch.nn.Tanh, np.random.default_rng(seed)) for seed in (0, 0, 1)]
    assert torch.equal(torch.get_rng_state(), before)
    x = torch.ones(1, 2)
    assert torch.equal(nets[0](x), nets[1](x))
    assert not torch.equal(nets[0](x), nets[2](x))


@pytest.mark.parametrize("preset", ["paper", "robust"])
@pytest.mark.parametrize("name", FORMS)
def test_local_network_parameters_have_the_shape_of_the_form(name, preset):
    form = make_form(name, 3, preset)
    theta = ParameterNetwork(4, form, preset, np.random.default_rng(0))(torch.randn(7, 4))
    assert theta.shape == (7, *form.shape)
    if preset == "paper":
        assert theta.min() > 0 and theta.max() < 1


def test_local_network_the_fit_finds_weights_that_depend_on_x():
    rng = np.random.default_rng(0)
    x = torch.as_tensor(rng.normal(size=(200, 2)), dtype=torch.float32)
    e = torch.as_tensor(rng.normal(size=(200, 30, 3)), dtype=torch.float32)
    w = torch.exp(0.5 * x[:, :1]) * torch.tensor([0.5, 1.0, 2.0])
    regret = (w[:, None] * e.square()).mean(-1)
    network = ParameterNetwork(2, make_form("mse", 3, "robust"), "robust", rng)
    fit_parameters(network, x, e, regret, rng)
    with torch.no_grad():
        fitted = network.form.weights(network(x))
    assert float(((fitted - w) / w).abs().median()) < 0.1


def test_local_network_only_signed_inputs_distinguish_too_high_from_too_low():
    e = torch.tensor([[1.0, -2.0]])
    for signed in (True, False):
        net = RegretNetwork(2, signed=signed, positive=torch.nn.Softplus, rng=np.random.default_rng(0))
        assert bool(torch.equal(net(e), net(-e))) is not signed
