"""Dense nets as one step of autograd: the numbers of torch's own modules, and one node of autograd."""

import pytest
import torch
from torch import nn

from fewsolves._internal import dense
from fewsolves._internal.dense import Linear
from fewsolves.predictors.predictor import linear, network

pytestmark = pytest.mark.portable

SIZES = [(1, 1, 1), (32, 5, 50), (7, 3, 2), (100, 64, 33)]


def of_torch(net):
    """The same layers as plain modules."""
    if isinstance(net, Linear):
        plain = nn.Linear(net.in_features, net.out_features)
    else:
        plain = nn.Sequential(*[nn.Linear(m.in_features, m.out_features) if k % 2 == 0 else nn.SiLU()
                                for k, m in enumerate(net)])  # fmt: skip
    plain.double().load_state_dict(net.state_dict())
    return plain


@pytest.mark.parametrize("build", [linear, network])
@pytest.mark.parametrize("rows, n_x, n_y", SIZES)
def test_dense_values_and_slopes_are_those_of_torch_to_the_last_bit(build, rows, n_x, n_y):
    net = build(n_x, n_y, seed=3)
    plain, x, slope = of_torch(net), torch.randn(rows, n_x).double(), torch.randn(rows, n_y).double()
    for one in (net, plain):
        (one(x) * slope).sum().backward()
    assert torch.equal(net(x), plain(x)) and net(x).grad_fn.name() == "_LayersBackward"
    with torch.no_grad():
        assert torch.equal(net(x), plain(x))
    for own, other in zip(net.parameters(), plain.parameters(), strict=True):
        assert torch.equal(own.grad, other.grad)


def test_dense_weights_are_drawn_as_before():
    torch.manual_seed(5)
    plain = nn.Sequential(nn.Linear(3, 64), nn.SiLU(), nn.Linear(64, 64), nn.SiLU(), nn.Linear(64, 2)).double()
    assert all(torch.equal(a, b) for a, b in zip(network(3, 2, seed=5).parameters(), plain.parameters(), strict=True))
    assert list(network(3, 2, seed=5).state_dict()) == list(plain.state_dict())


def test_dense_what_has_a_slope_besides_the_layers_goes_through_the_modules():
    net, x = dense.network(3, 4, 2).double(), torch.randn(5, 3).double().requires_grad_()
    net(x).sum().backward()
    assert x.grad is not None and x.grad.abs().sum() > 0
    net[0].weight.requires_grad_(False)
    net[0].weight.grad = None
    net(x.detach()).sum().backward()
    assert net[0].weight.grad is None and net[2].weight.grad is not None


def test_dense_parts_of_a_network_are_modules():
    net, x = dense.network(3, 4, 2).double(), torch.randn(5, 3).double()
    assert torch.equal(net[2:](net[:2](x)), net(x)) and torch.equal(net[:1](x), net[0](x))
