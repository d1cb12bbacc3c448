"""The registry of predictor families: every module of this folder that ends in `FAMILY = ...`.

A family says which `predictor=` it accepts and how its predictors are built, described and rebuilt. A new family is one
file here.
"""

from __future__ import annotations

import pkgutil
from functools import cache
from importlib import import_module
from typing import Any, ClassVar

from torch import nn

from fewsolves import predictors
from fewsolves.errors import InputError
from fewsolves.predictors.family import PredictorFamily
from fewsolves.predictors.inputs import Inputs
from fewsolves.predictors.predictor import Predictor
from fewsolves.problem import Array

KINDS = (
    "'auto', 'linear', 'network', 'xgboost', 'lightgbm', a torch module, or a regressor with fit and predict, as "
    "scikit-learn has them"
)


class Auto(PredictorFamily):
    """Several families are started, and the better start is kept."""

    started: ClassVar = ("network", "linear")

    def accepts(self, given: Any) -> bool:
        return isinstance(given, str) and given == "auto"

    def names(self, given: Any) -> tuple[str, ...]:
        return self.started

    def blank(self, given: Any, name: str, n_x: int, n_y: int) -> nn.Module:
        return family_of(name).blank(name, name, n_x, n_y)

    def untrained(
        self, given: Any, name: str, inputs: Inputs, Y: Array, rows: Array, *, seed: int, bounds: Any
    ) -> Predictor:
        return family_of(name).untrained(name, name, inputs, Y, rows, seed=seed, bounds=bounds)


@cache
def _families() -> tuple[PredictorFamily, ...]:
    modules = (import_module(f"{predictors.__name__}.{one.name}") for one in pkgutil.iter_modules(predictors.__path__))
    return (Auto(), *(vars(module)["FAMILY"] for module in modules if "FAMILY" in vars(module)))


def family_of(given: Any) -> PredictorFamily:
    """The family of a `predictor=`; raises where none accepts it."""
    for family in _families():
        if family.accepts(given):
            return family
    what = f"the class {given.__name__}; make one of it" if isinstance(given, type) else f"{given!r:.80}"
    raise InputError(f"predictor is {KINDS}, got {what}")


def named(name: str) -> PredictorFamily | None:
    """The family that is called so; None for a name of the user's class, and for "given"."""
    return next((family for family in _families() if family.accepts(name)), None)
