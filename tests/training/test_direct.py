"""Steps without autograd: the weights that autograd leads to, to the last bit."""

import numpy as np
import pytest
import torch

from fewsolves.data import Scale
from fewsolves.methods.base import Loss, TrainConfig
from fewsolves.methods.gp_surrogate.config import GPSurrogateConfig
from fewsolves.methods.gp_surrogate.loss import GPSurrogateLoss
from fewsolves.methods.pfl import PFLLoss
from fewsolves.predictors.predictor import BUILT_IN, Predictor
from fewsolves.training.direct import Direct, has_slope
from fewsolves.training.steps import Steps
from problems_of_users import NEWSVENDOR, demand_table

N = 70
X, Y = demand_table(N, 2)


def predictor_of(name, **options):
    return Predictor(BUILT_IN[name](X.shape[1], 2, seed=0), Scale.of(X), Scale.of(Y), **options)


def surrogate(beta):
    loss = GPSurrogateLoss(NEWSVENDOR, Y, GPSurrogateConfig(beta=beta))
    loss.start(torch.as_tensor(Y) + 1.0)
    return loss


LOSSES = {
    "pfl": lambda: PFLLoss(Y),
    "pfl, weighted": lambda: PFLLoss(Y, np.linspace(0.5, 1.5, N)),
    "surrogate, always trusted": lambda: surrogate(1e9),
    "surrogate, doubted at times": lambda: surrogate(0.35),
}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", BUILT_IN)
@pytest.mark.parametrize("loss", LOSSES)
def test_direct_weights_and_losses_are_those_of_autograd(loss, name, weighted):
    ends = []
    for direct in (True, False):
        predictor, weights = predictor_of(name), np.linspace(0.2, 1.8, N) if weighted else None
        of = LOSSES[loss]()
        steps = Steps(predictor, of, torch.as_tensor(X), TrainConfig(averaging=2.0), np.random.default_rng(1), weights)
        assert steps.direct is not None
        if not direct:
            steps.direct = None
        told = []
        for number in range(4):
            of.begin_epoch(steps.predict)
            told.append((steps.epoch(number), of.trusted))
        paid = of.oracle.calls.total() if isinstance(of, GPSurrogateLoss) else 0
        ends.append((told, paid, [p.detach().clone() for p in (*predictor.parameters(), *steps.kept.parameters())]))
    (told, paid, weights), (told_so, paid_so, same) = ends
    assert told == told_so and paid == paid_so
    assert all(torch.equal(a, b) for a, b in zip(weights, same, strict=True))


def test_direct_what_is_trained_in_part_or_bounded_or_given_goes_by_autograd():
    frozen, rows = predictor_of("linear"), torch.as_tensor(X)
    frozen.net.bias.requires_grad_(False)
    bounded = predictor_of("linear", bounds=(np.zeros(1), np.full(1, np.inf)))
    given = Predictor(torch.nn.Linear(X.shape[1], 2).double())
    assert [Direct.of(one, rows) for one in (frozen, bounded, given)] == [None, None, None]
    assert Direct.of(predictor_of("network"), rows) is not None


def test_direct_a_loss_that_overrides_forward_alone_is_asked_itself():
    class Doubled(PFLLoss):
        def forward(self, y_hat, index):
            return 2 * super().forward(y_hat, index)

    class Plain(Loss):
        def forward(self, y_hat, index):
            return y_hat.sum()

    assert has_slope(PFLLoss(Y)) and not has_slope(Doubled(Y)) and not has_slope(Plain())


@pytest.mark.parametrize(("size", "taken"), [(1e200, True), (np.inf, False), (np.nan, False)])
def test_direct_a_gradient_is_finite_where_its_square_is_not(size, taken):
    class Steep(PFLLoss):
        def with_slope(self, y_hat, index):
            return 1.0, torch.full_like(y_hat, size)

    predictor = predictor_of("network")
    steps = Steps(predictor, Steep(Y), torch.as_tensor(X), TrainConfig(), np.random.default_rng(1))
    steps.direct = Direct.of(predictor, torch.as_tensor(X))
    steps.epoch(0)
    assert bool(steps.refused) is not taken
    assert bool(steps.optimiser.state) is taken
