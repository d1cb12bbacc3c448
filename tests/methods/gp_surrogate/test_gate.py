"""The gate: the rule by itself, and that it alone decides which rows are paid for."""

import numpy as np
import pytest
import torch

from fewsolves.methods.gp_surrogate import loss as gp_surrogate
from fewsolves.methods.gp_surrogate.config import GPSurrogateConfig
from fewsolves.methods.gp_surrogate.gate import doubts
from fewsolves.methods.gp_surrogate.trusted import Looked
from fewsolves.methods.torch_gp_surrogate import GPSurrogateLoss
from problems_of_users import NEWSVENDOR, demand_table

N = 24
EVERYONE = np.arange(N)


class Believes:
    """A surrogate with a std of 2 before anything was known."""

    def gate_std(self, std, rows):
        return std

    def prior_std(self, rows):
        return np.full(len(rows), 2.0)


@pytest.mark.parametrize(
    ("relative", "doubted", "doubt"),
    [(True, [False, False, True, True], [0.05, 0.45, 0.5, 1.0]), (False, [False, True, True, True], [0.1, 0.9, 1, 2])],
)
def test_gate_a_row_is_doubted_unless_its_std_is_below_beta(relative, doubted, doubt):
    config = GPSurrogateConfig(beta=0.5, relative_beta=relative)
    found = doubts(np.array([0.1, 0.9, 1.0, 2.0]), np.arange(4), Believes(), config)
    assert found[0].tolist() == doubted
    assert np.allclose(found[1], doubt)


def test_gate_a_surrogate_that_knows_no_std_is_doubted_whatever_beta_is():
    doubted, _ = doubts(np.array([np.nan, np.inf]), np.arange(2), Believes(), GPSurrogateConfig(beta=1e9))
    assert doubted.all()


def test_gate_the_rule_draws_and_pays_nothing():
    Y = demand_table(N, 2)[1]
    loss = GPSurrogateLoss(NEWSVENDOR, Y)
    loss.start(torch.as_tensor(Y))
    paid, state = loss.oracle.calls.total("solve"), loss.arrays.rng.bit_generator.state
    looked = Looked(Y / loss.scale.numpy(), EVERYONE, loss.surrogate, slopes=True)
    doubts(looked.std, EVERYONE, loss.surrogate, loss.config)
    assert loss.oracle.calls.total("solve") == paid
    assert loss.arrays.rng.bit_generator.state == state


def test_gate_another_rule_in_its_place_decides_which_rows_are_paid_for(monkeypatch):
    def every_third(std, rows, surrogate, config):
        return rows % 3 == 0, np.ones(len(rows))

    monkeypatch.setattr(gp_surrogate, "doubts", every_third)
    Y = demand_table(N, 2)[1]
    loss = GPSurrogateLoss(NEWSVENDOR, Y)
    loss.start(torch.as_tensor(Y))
    before = loss.surrogate.samples.n_of.copy()
    loss.begin_epoch()
    loss(torch.as_tensor(Y) + 0.1, torch.arange(N))
    assert np.array_equal(loss.surrogate.samples.n_of - before, EVERYONE % 3 == 0)
    assert loss.trusted == pytest.approx(2 / 3)
