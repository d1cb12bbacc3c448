import numpy as np
import pytest
import torch

from fewsolves.errors import InputError
from fewsolves.methods.comparison.lancer import LANCERConfig, LANCERLoss
from fewsolves.oracle import Oracle
from fewsolves.testing import check_solves, newsvendor


def made(table, **settings):
    return LANCERLoss(Oracle(table.problem, table.Y), LANCERConfig(**settings), np.random.default_rng(0))


def test_lancer_one_solve_per_epoch():
    # not with the preset "paper": its ReLU may be dead, the predictor then stays, and a solve at the same place is free
    check_solves("lancer", pre_training=0, per_epoch=1, settings={"preset": "robust", "learning_rate": 0.1})


def test_lancer_the_loop_trains_the_predictor_and_not_the_network():
    table = newsvendor(2)
    loss = made(table)
    assert list(loss.trained_parameters()) == []
    loss.begin_epoch(lambda: torch.as_tensor(table.Y + 1.0))
    before = [p.detach().clone() for p in loss.network.parameters()]
    y_hat = torch.tensor(table.Y + 0.5).requires_grad_()
    loss(y_hat, torch.arange(len(table.Y))).backward()
    assert all(torch.equal(a, b) for a, b in zip(before, loss.network.parameters(), strict=True))
    assert bool((y_hat.grad != 0).any())


def test_lancer_the_robust_network_learns_which_side_is_expensive():
    table = newsvendor(1, n=60)
    rng = np.random.default_rng(1)
    loss = made(table, surrogate_steps=300, replay=True)
    for _ in range(3):
        y_hat = torch.as_tensor(table.Y + rng.normal(size=table.Y.shape))
        loss.begin_epoch(lambda y_hat=y_hat: y_hat)
    everyone = torch.arange(60)
    high, low = loss(torch.as_tensor(table.Y + 1.0), everyone), loss(torch.as_tensor(table.Y - 1.0), everyone)
    assert low > 1.5 * high


@pytest.mark.parametrize("replay, epochs_seen", [(False, 1), (True, 3)])
def test_lancer_replay_keeps_what_was_paid(replay, epochs_seen):
    table = newsvendor(2)
    loss = made(table, replay=replay)
    for shift in (1.0, 2.0, 3.0):
        loss.begin_epoch(lambda shift=shift: torch.as_tensor(table.Y + shift))
    assert len(loss._paid) == epochs_seen


def test_lancer_one_output_keeps_its_dimension():
    table = newsvendor(1, n=8)
    loss = made(table, preset="paper")
    loss.begin_epoch(lambda: torch.as_tensor(table.Y + 1.0))
    assert loss(torch.as_tensor(table.Y + 1.0), torch.arange(8)).shape == ()


def test_lancer_bad_settings_are_refused():
    with pytest.raises(InputError, match="surrogate_steps must be a whole number of at least 1"):
        made(newsvendor(2), surrogate_steps=0)
