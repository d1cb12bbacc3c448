"""The contract, on every method; and that it catches those who break it."""

import sys

import numpy as np
import pytest
import torch

from fewsolves.methods.base import GradientTrainer
from fewsolves.methods.registry import METHODS
from fewsolves.methods.torch_loss import OracleLoss
from fewsolves.oracle import SolveConfig
from fewsolves.testing import CHECKS, check_solves
from fewsolves.testing.methods import (
    check_budget,
    check_calls,
    check_deterministic,
    check_executions,
    check_failed_solves,
    check_gradient,
    check_labels,
    check_state,
)

FEW_DRAWS = {"samples": 32}  # of LODL per row, not 250


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("method", METHODS)
def test_method_contract_every_method_keeps_the_contract(method, check):
    check(METHODS[method].with_settings(FEW_DRAWS) if method.startswith("lodl") else method)


def test_method_contract_the_number_of_solves_is_held_to_what_was_said():
    check_solves("pfl", pre_training=0, per_epoch=0)
    check_solves("sfge", pre_training=0, per_epoch=1)
    for wrong in ({"pre_training": 0, "per_epoch": 2}, {"pre_training": 1, "per_epoch": 1}):
        with pytest.raises(AssertionError, match="expected the solves"):
            check_solves("sfge", **wrong)


@pytest.mark.skipif(sys.platform == "win32", reason="worker processes need Linux or macOS")
@pytest.mark.parametrize("method", ["sfge", "gp-surrogate"])
def test_method_contract_worker_processes_give_the_same_result(method):
    check_executions(method, SolveConfig(workers=2))


class Broken(OracleLoss):
    """A squared error, weighted by what it pays for, that breaks one rule."""

    def __init__(self, oracle, rule):
        super().__init__(oracle)
        self.rule, self.epochs = rule, 0

    def begin_epoch(self, predict):
        self.epochs += 1

    def forward(self, y_hat, index):
        rows = index.numpy()
        points = y_hat.detach().numpy()
        if self.rule == "labels":
            self.oracle.Y[rows] += 1.0
        if self.rule == "calls":
            self.oracle.problem.solve_batch(self.oracle.Y[rows])
        value = (y_hat - torch.as_tensor(self.oracle.Y[rows])).square().mean() * self.epochs
        if self.rule == "failures":
            value = value * self.oracle.regret(rows, points, phase="online").mean()
        if self.rule == "gradient":
            value = value * float("nan")
        if self.rule == "order":
            first = next(iter(self.oracle.account.execution.solve(self.oracle.rows[rows], points)))
            value = value * float(first.at[0])
        return value * np.random.rand() if self.rule == "random" else value  # noqa: NPY002

    def state(self):
        return self._module_state(None, epochs=self.epochs)

    def restore(self, state):
        self._restore_module(state, None)
        if self.rule != "state":
            self.epochs = state.facts["epochs"]


@pytest.mark.parametrize(
    ("rule", "check"),
    [
        ("labels", check_labels),
        ("calls", check_calls),
        ("gradient", check_gradient),
        ("random", check_deterministic),
        ("state", check_state),
        ("failures", check_failed_solves),
        ("calls", check_budget),
        ("order", check_executions),
    ],
)
def test_method_contract_a_method_that_breaks_a_rule_is_caught(rule, check):
    class Mine(GradientTrainer):
        name, summary = "mine", ""

        def __init__(self, rule):
            self.rule = rule

        def loss(self, context):
            return Broken(context.train_oracle, self.rule)

    check(Mine("none"))
    with pytest.raises(AssertionError, match="expected"):
        check(Mine(rule))
