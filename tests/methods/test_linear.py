import numpy as np
import pytest
import torch

from fewsolves.methods.linear import refuse
from fewsolves.methods.torch_linear import LinearLoss
from fewsolves.problem import Problem
from small_linear import FEASIBLE, made

SENSES = ("min", "max")


def solves(oracle):
    return {phase: n for phase, n in oracle.calls.by_phase("solve").items() if n}


@pytest.mark.parametrize("sense", SENSES)
def test_linear_costs_are_in_the_sense_that_is_minimised(sense):
    oracle, sign = made(sense)
    index = torch.tensor([4, 0, 7])
    c, z = LinearLoss(oracle).truth(index)
    np.testing.assert_array_equal(c.numpy(), sign * oracle.Y[[4, 0, 7]])
    for costs, decision in zip(c.numpy(), z.numpy(), strict=True):
        assert costs @ decision == pytest.approx((FEASIBLE @ costs).min())


@pytest.mark.parametrize("sense", SENSES)
def test_linear_decisions_minimise_the_predicted_costs_and_carry_no_gradient(sense):
    oracle, _ = made(sense)
    c_hat = torch.tensor(np.random.default_rng(1).normal(size=oracle.Y.shape)).requires_grad_()
    decisions, known = LinearLoss(oracle).decide(c_hat, torch.arange(len(oracle)))
    assert known.all() and not decisions.requires_grad
    for costs, decision in zip(c_hat.detach().numpy(), decisions.numpy(), strict=True):
        assert costs @ decision == pytest.approx((FEASIBLE @ costs).min())


def test_linear_labels_are_paid_once_and_decisions_as_training():
    oracle, _ = made("min", n=8)
    loss, index = LinearLoss(oracle), torch.arange(8)
    loss.truth(index)
    loss.truth(index)
    assert solves(oracle) == {"labels": 8}
    loss.decide(torch.as_tensor(oracle.Y) + 1.0, index)
    assert solves(oracle) == {"labels": 8, "online": 8}
    assert not oracle.calls.by_phase("cost")["online"]


def test_linear_the_refusal_says_what_is_needed_and_what_to_use():
    functions = {"solve": lambda y: y, "cost": lambda y, z: 0.0}
    reason = refuse(Problem(**functions))
    assert "linear in the predicted parameters" in reason
    assert "'staged'" in reason
    assert all(refuse(Problem(**functions, linear=sense)) is None for sense in SENSES)
