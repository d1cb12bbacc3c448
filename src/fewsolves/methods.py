"""Name -> recipe: the only registry of methods."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from fewsolves.errors import InputError, NotApplicableError
from fewsolves.losses.base import Loss
from fewsolves.losses.sfge import SFGEConfig, SFGELoss
from fewsolves.losses.spo_plus import SPOPlusLoss, refuse
from fewsolves.oracle import Oracle
from fewsolves.problem import Array, Problem
from fewsolves.training.loop import TrainConfig


@dataclass(frozen=True, kw_only=True)
class PlainConfig:
    """A method without settings of its own."""


@dataclass(frozen=True, kw_only=True)
class Ingredients:
    """What a recipe may use: the training rows, and its own random stream."""

    oracle: Oracle  # of the training rows
    X: Array
    config: Any
    rng: np.random.Generator


@dataclass(frozen=True, kw_only=True)
class Method:
    """A named recipe that turns (y_hat, example) into a loss."""

    name: str
    summary: str  # one line: what it does and what it costs
    build: Callable[[Ingredients], Loss] | None  # None: nothing follows the start
    config: Any = PlainConfig()  # settings of the loss
    train: TrainConfig = TrainConfig()
    warm_start: bool = True  # from prediction-focused learning, else from random weights
    refuse: Callable[[Problem], str | None] = lambda problem: None  # why it does not fit, or None

    def check(self, problem: Problem) -> None:
        """Raise where the problem is outside this method's assumptions."""
        reason = self.refuse(problem)
        if reason is not None:
            raise NotApplicableError(f"method {self.name!r} does not fit {problem.name!r}: {reason}")

    def with_settings(self, settings: Mapping[str, Any]) -> Method:
        """The same recipe with some settings changed, of the loss or of the training loop."""
        parts = {"config": self.config, "train": self.train}
        owner = {f.name: part for part, values in parts.items() for f in dataclasses.fields(values)}
        for name in settings:
            if name not in owner:
                raise InputError(f"method {self.name!r} has no setting {name!r}; it has {', '.join(sorted(owner))}")
        changed = {
            part: dataclasses.replace(values, **{k: v for k, v in settings.items() if owner[k] == part})
            for part, values in parts.items()
        }
        return dataclasses.replace(self, **changed)


METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        Method(
            name="pfl",
            summary="prediction-focused: maximum likelihood, no solve; where every other method starts",
            build=None,
        ),
        Method(
            name="sfge",
            summary="score function gradients of the smoothed regret; any problem, one solve per example and epoch",
            build=lambda given: SFGELoss(given.oracle, given.config, given.rng),
            config=SFGEConfig(),
        ),
        Method(
            name="spo+",
            summary="convex bound of the regret; linear objectives only, one solve per example and epoch",
            build=lambda given: SPOPlusLoss(given.oracle),
            refuse=refuse,
        ),
    )
}


def find_method(method: str | Method) -> Method:
    """A recipe by its name."""
    if isinstance(method, Method):
        return method
    if method not in METHODS:
        raise InputError(f"unknown method {method!r}; there is {', '.join(METHODS)}")
    return METHODS[method]
