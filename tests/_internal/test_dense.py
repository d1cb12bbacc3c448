"""Dense nets in NumPy: the values, slopes and random weights of torch's own modules."""

import copy

import numpy as np
import pytest

from fewsolves._internal.dense import Dense

pytestmark = pytest.mark.portable
SIZES = [(1, 1, 1), (32, 5, 50), (7, 3, 2), (100, 64, 33)]


def of_torch(net):
    """The same layers as modules of torch."""
    torch = pytest.importorskip("torch")
    layers = []
    for weight, bias in net.layers():
        layer = torch.nn.Linear(weight.shape[1], weight.shape[0]).double()
        layer.load_state_dict({"weight": torch.tensor(weight), "bias": torch.tensor(bias)})
        layers += [layer, torch.nn.SiLU()]
    return torch.nn.Sequential(*layers[:-1])


@pytest.mark.parametrize("hidden", [(), (64, 64)], ids=["linear", "network"])
@pytest.mark.parametrize("rows, n_x, n_y", SIZES)
def test_dense_values_and_slopes_are_those_of_torch(hidden, rows, n_x, n_y):
    net, rng = Dense(n_x, *hidden, n_y).redrawn(3), np.random.default_rng(0)
    plain, x, slope = of_torch(net), rng.normal(size=(rows, n_x)), rng.normal(size=(rows, n_y))
    y, kept = net.forward(x)
    torch = pytest.importorskip("torch")
    of_plain = plain(torch.as_tensor(x))
    (of_plain * torch.as_tensor(slope)).sum().backward()
    assert np.allclose(y, of_plain.detach().numpy(), rtol=1e-12, atol=1e-13)
    (gradient,) = net.backward(slope, kept)
    theirs = np.concatenate([one.grad.numpy().ravel() for one in plain.parameters()])
    assert np.allclose(gradient, theirs, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("seed", [0, 5, 2**32 + 5, 2**62 + 12345])
def test_dense_weights_are_drawn_as_torch_draws_them(seed):
    torch = pytest.importorskip("torch")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        nn = torch.nn
        plain = nn.Sequential(nn.Linear(3, 64), nn.SiLU(), nn.Linear(64, 64), nn.SiLU(), nn.Linear(64, 2)).double()
    ours = Dense(3, 64, 64, 2).redrawn(seed).arrays()
    assert list(ours) == list(plain.state_dict())
    assert all(np.array_equal(ours[name], values.numpy()) for name, values in plain.state_dict().items())


def test_dense_silu_of_large_numbers_is_finite():
    net = Dense(1, 1, 1)
    net.load({"0.weight": [[1.0]], "0.bias": [0.0], "2.weight": [[1.0]], "2.bias": [0.0]})
    with np.errstate(all="raise", under="ignore"):
        y, kept = net.forward(np.array([[-1e4], [0.0], [1e4]]))
        (gradient,) = net.backward(np.ones((3, 1)), kept)
    assert y.ravel().tolist() == [0.0, 0.0, 1e4] and np.isfinite(gradient).all()


def test_dense_what_is_loaded_has_the_right_shapes_before_any_memory_is_taken():
    net = Dense(10**9, 10**9)
    with pytest.raises(ValueError, match=r"weight has shape \(2, 3\), expected"):
        net.load({"weight": np.zeros((2, 3)), "bias": np.zeros(2)})
    assert net._vector is None


def test_dense_a_copy_is_its_own():
    net = Dense(2, 1).redrawn(0)
    other = copy.deepcopy(net)
    other.vector[:] = 0.0
    assert net.vector.any() and not other(np.ones((1, 2))).any()
    assert net.layer[0].base is net.vector or np.shares_memory(net.layer[0], net.vector)
