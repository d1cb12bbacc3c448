"""Gradient steps: the weights that torch leads to, and steps that are not taken."""

import itertools

import numpy as np
import pytest

from fewsolves.data import Scale
from fewsolves.methods.base import TrainConfig
from fewsolves.methods.loss import ArrayLoss
from fewsolves.methods.pfl import PFLLoss
from fewsolves.methods.torch_loss import Bridged, Loss, has_slope
from fewsolves.predictors.families import named
from fewsolves.predictors.predictor import Predictor
from fewsolves.training.steps import Steps
from problems_of_users import demand_table

torch = pytest.importorskip("torch")
N = 70
X, Y = demand_table(N, 2)


def predictor_of(name, **options):
    return Predictor(named(name).net(name, name, X.shape[1:], 2, seed=0), Scale.of(X), Scale.of(Y), **options)


class Squares(Loss):
    """`PFLLoss` in torch."""

    def forward(self, y_hat, index):
        return ((y_hat - torch.as_tensor(Y)[index]) / torch.as_tensor(Scale.of(Y).std)).square().mean()


BOUNDS = np.full(1, Y.min() - 1.0), np.full(1, np.inf)


@pytest.mark.parametrize("bounds", [None, BOUNDS], ids=["free", "bounded"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", ["linear", "network"])
def test_steps_of_a_torch_loss_lead_to_the_same_weights(name, weighted, bounds):
    ends = []
    for loss in (PFLLoss(Y), Bridged(Squares())):
        predictor, weights = predictor_of(name, bounds=bounds), np.linspace(0.2, 1.8, N) if weighted else None
        steps = Steps(predictor, loss, X, TrainConfig(averaging=2.0), np.random.default_rng(1), weights)
        values = [steps.epoch(number) for number in range(4)]
        ends.append([np.array(values), *predictor.weights(), *steps.kept.weights()])
    assert all(np.allclose(a, b, rtol=1e-10, atol=1e-13) for a, b in zip(*ends, strict=True))


@pytest.mark.parametrize("name", ["linear", "network"])
def test_steps_are_those_of_torch(name):
    layers, sizes = [], (X.shape[1], 64, 64, 2) if name == "network" else (X.shape[1], 2)
    predictor = predictor_of(name)
    for n_in, n_out in itertools.pairwise(sizes):
        layers += [torch.nn.Linear(n_in, n_out), torch.nn.SiLU()]
    net = torch.nn.Sequential(*layers[:-1]).double()
    state = predictor.net.arrays()
    net.load_state_dict(
        {key: torch.as_tensor(state[key if name == "network" else key[2:]]) for key in net.state_dict()}
    )
    scale, of = Scale.of(X), Scale.of(Y)
    adam, rng = torch.optim.Adam(net.parameters(), lr=1e-3), np.random.default_rng(1)
    for _ in range(3):
        order = rng.permutation(N)
        for first in range(0, N, 32):
            index = order[first : first + 32]
            y_hat = torch.as_tensor(of.mean) + torch.as_tensor(of.std) * net(
                torch.as_tensor((X[index] - scale.mean) / scale.std)
            )
            adam.zero_grad()
            ((y_hat - torch.as_tensor(Y[index])) / torch.as_tensor(of.std)).square().mean().backward()
            adam.step()
    steps = Steps(predictor, PFLLoss(Y), X, TrainConfig(), np.random.default_rng(1))
    for number in range(3):
        steps.epoch(number)
    ours = predictor.net.arrays()
    for key, values in net.state_dict().items():
        assert np.allclose(values.numpy(), ours[key if name == "network" else key[2:]], rtol=1e-9, atol=1e-12)


def test_steps_a_torch_loss_that_overrides_forward_alone_is_called_itself():
    class WithSlope(Loss):
        def forward(self, y_hat, index):
            return y_hat.sum()

        def with_slope(self, y_hat, index):
            return 7.0, torch.ones_like(y_hat)

    class Doubled(WithSlope):
        def forward(self, y_hat, index):
            return 2 * super().forward(y_hat, index)

    assert has_slope(WithSlope()) and not has_slope(Doubled()) and not has_slope(Squares())
    assert Bridged(WithSlope()).with_slope(Y, np.arange(N))[0] == 7.0
    value, slope = Bridged(Doubled()).with_slope(Y, np.arange(N))
    assert value == pytest.approx(2 * Y.sum()) and (slope == 2.0).all()


@pytest.mark.parametrize(("size", "taken"), [(1e200, True), (np.inf, False), (np.nan, False)])
def test_steps_a_gradient_is_finite_where_its_square_is_not(size, taken):
    class Steep(ArrayLoss):
        def with_slope(self, y_hat, index):
            return 1.0, np.full_like(y_hat, size)

    steps = Steps(predictor_of("linear"), Steep(), X, TrainConfig(), np.random.default_rng(1))
    with np.errstate(all="ignore"):
        steps.epoch(0)
    assert bool(steps.refused) is not taken
    assert bool(steps.optimiser.state) is taken


def test_steps_a_loss_that_does_not_depend_on_predictions_moves_nothing():
    class Constant(ArrayLoss):
        def with_slope(self, y_hat, index):
            return 1.0, None

    predictor = predictor_of("linear")
    before = predictor.state_dict()
    Steps(predictor, Constant(), X, TrainConfig(), np.random.default_rng(1)).epoch(0)
    assert all(np.array_equal(before[name], values) for name, values in predictor.state_dict().items())
