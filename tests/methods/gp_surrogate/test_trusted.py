"""Where all rows of a step are trusted: the loss and its slope are those that autograd finds, to the last bit."""

import numpy as np
import pytest
import torch

from fewsolves.methods.gp_surrogate.config import GPSurrogateConfig
from fewsolves.methods.gp_surrogate.loss import GPSurrogateLoss
from problems_of_users import NEWSVENDOR, demand_table

N, ALWAYS = 24, 1e9


def started(**settings):
    Y = demand_table(N, 2)[1]
    loss = GPSurrogateLoss(NEWSVENDOR, Y, GPSurrogateConfig(beta=ALWAYS, **settings))
    loss.start(torch.as_tensor(Y) + 1.0)
    return loss, torch.as_tensor(Y) + torch.as_tensor(np.random.default_rng(0).normal(size=Y.shape))


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("settings", [{}, {"sober": False}, {"pessimism": 0.0}, {"pessimism": 3.0}, {"design": "box"}])
def test_trusted_one_node_says_what_many_say(settings, dtype):
    loss, y_hat = started(**settings)
    rows = np.array([3, 5, 5, 0, 23, 7, 11])
    one, many = (y_hat[rows].to(dtype).requires_grad_() for _ in range(2))
    at_once = loss(one, torch.as_tensor(rows))
    in_parts = loss._surrogate_loss(many.double() / loss.scale, rows).sum() / len(rows)
    assert at_once.grad_fn.name() == "_WithSlopeBackward"
    at_once.backward(), in_parts.backward()
    assert torch.equal(at_once, in_parts) and torch.equal(one.grad, many.grad) and one.grad.abs().sum() > 0


def test_trusted_after_a_doubted_step_slopes_are_asked_for_when_all_are_trusted():
    loss, y_hat = started()
    index = torch.arange(N)
    loss._all_trusted = False
    first, second = (loss(y_hat.clone().requires_grad_(), index) for _ in range(2))
    assert first.grad_fn.name() != second.grad_fn.name() == "_WithSlopeBackward"
    assert torch.equal(first, second)


def test_trusted_a_row_that_is_not_there_is_refused():
    loss, y_hat = started()
    with pytest.raises(ValueError, match="index must be"):
        loss(y_hat[:2], torch.tensor([0, N]))
