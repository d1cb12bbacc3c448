"""The contract, on every method; and that it catches those who break it."""

import numpy as np
import pytest
import torch

from fewsolves.methods.base import Method, OracleLoss
from fewsolves.methods.registry import METHODS
from fewsolves.testing import CHECKS, check_calls, check_deterministic, check_gradient, check_labels, check_solves


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("method", METHODS)
def test_every_method_keeps_the_contract(method, check):
    check(method)


@pytest.mark.parametrize(
    ("method", "settings", "pre_training", "per_epoch"),
    [
        ("pfl", {}, 0, 0),
        ("sfge", {}, 0, 1),
        ("sfge", {"samples": 3}, 0, 3),
        ("spo+", {}, 0, 1),
        ("lodl-mse", {}, 250, 0),
        ("lodl-directed-quadratic", {}, 250, 0),
        ("egl-mse", {}, 32, 0),
        ("lancer", {}, 0, 1),
    ],
)
def test_published_numbers_of_solves(method, settings, pre_training, per_epoch):
    check_solves(method, pre_training=pre_training, per_epoch=per_epoch, settings=settings)


def test_egl_takes_42_samples_for_50_parameters():
    check_solves("egl-mse", pre_training=42, per_epoch=0, n_y=50)


class Broken(OracleLoss):
    """A squared error that breaks one rule."""

    def __init__(self, oracle, rule):
        super().__init__(oracle)
        self.rule = rule

    def forward(self, y_hat, index):
        rows = index.numpy()
        if self.rule == "labels":
            self.oracle.Y[rows] += 1.0
        if self.rule == "calls":
            self.oracle.problem.solve_batch(self.oracle.Y[rows])
        value = (y_hat - torch.as_tensor(self.oracle.Y[rows])).square().mean()
        if self.rule == "gradient":
            return value * float("nan")
        return value * np.random.rand() if self.rule == "random" else value  # noqa: NPY002


@pytest.mark.parametrize(
    ("rule", "check"),
    [
        ("labels", check_labels),
        ("calls", check_calls),
        ("gradient", check_gradient),
        ("random", check_deterministic),
    ],
)
def test_a_method_that_breaks_a_rule_is_caught(rule, check):
    broken, sound = (
        Method(name="mine", summary="", build=lambda given, r=r: Broken(given.oracle, r)) for r in (rule, "none")
    )
    check(sound)
    with pytest.raises(AssertionError, match="expected"):
        check(broken)
