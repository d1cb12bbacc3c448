"""Where rows of a step are trusted: the loss and its slope are those that autograd finds of the posterior."""

import numpy as np
import pytest
import torch

from fewsolves.methods.gp_surrogate.config import GPSurrogateConfig
from fewsolves.methods.gp_surrogate.loss import SurrogateLoss
from fewsolves.methods.torch_gp_surrogate import GPSurrogateLoss
from fewsolves.oracle import Oracle
from problems_of_users import NEWSVENDOR, demand_table

N, ALWAYS = 24, 1e9
ROWS = np.array([3, 5, 5, 0, 23, 7, 11])


def started(**settings):
    Y = demand_table(N, 2)[1]
    loss = SurrogateLoss(Oracle(NEWSVENDOR, Y), GPSurrogateConfig(beta=ALWAYS, **settings))
    loss.start(Y + 1.0)
    return loss, Y + np.random.default_rng(0).normal(size=Y.shape)


def by_autograd(loss, y_hat, rows):
    """The loss in torch's own operations."""
    mean, std = loss.surrogate.posterior(y_hat.double() / torch.as_tensor(loss.scale), rows)
    if loss.config.sober:
        least = torch.as_tensor(loss.surrogate.least[rows])
        mean = torch.where(mean + std > least, mean, least)
    return (mean + loss.config.pessimism * std).sum() / len(rows)


@pytest.mark.parametrize("settings", [{}, {"sober": False}, {"pessimism": 0.0}, {"pessimism": 3.0}, {"design": "box"}])
def test_trusted_the_slope_is_that_of_autograd(settings):
    loss, y_hat = started(**settings)
    y_hat[:5] -= 6.0  # where the sober and the other differ
    point = torch.as_tensor(y_hat[ROWS]).requires_grad_()
    expected = by_autograd(loss, point, ROWS)
    expected.backward()
    value, slope = loss.with_slope(y_hat[ROWS], ROWS)
    assert value == pytest.approx(expected.item(), rel=1e-14)
    assert np.allclose(slope, point.grad.numpy(), rtol=1e-13, atol=1e-16)
    assert np.abs(slope).sum() > 0


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_trusted_in_a_torch_loop_the_slope_has_the_type_of_the_predictions(dtype):
    arrays, y_hat = started()
    loss = GPSurrogateLoss(arrays.oracle, config=arrays.config)
    loss.start(torch.as_tensor(arrays.oracle.Y + 1.0))
    one = torch.as_tensor(y_hat[ROWS]).to(dtype).requires_grad_()
    value = 2.0 * loss(one, torch.as_tensor(ROWS))
    value.backward()
    expected, slope = arrays.with_slope(one.detach().double().numpy(), ROWS)
    assert value.dtype == torch.float64 and value.item() == 2.0 * expected
    assert torch.equal(one.grad, 2.0 * torch.as_tensor(slope).to(dtype))


def test_trusted_after_a_doubted_step_slopes_are_computed_when_all_are_trusted():
    loss, y_hat = started()
    loss._all_trusted = False
    first, second = (loss.with_slope(y_hat, np.arange(N)) for _ in range(2))
    assert first[0] == second[0]
    assert np.array_equal(first[1], second[1])


def test_trusted_a_row_that_is_not_there_is_refused():
    loss, y_hat = started()
    with pytest.raises(ValueError, match="index must be"):
        loss.with_slope(y_hat[:2], np.array([0, N]))
