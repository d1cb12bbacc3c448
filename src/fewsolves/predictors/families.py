"""The registry of predictor families: every module of this folder that ends in `FAMILY = ...`.

A family says which `predictor=` it accepts and how its predictors are built, described and rebuilt. A new family is one
file here.
"""

from __future__ import annotations

import pkgutil
from functools import cache
from importlib import import_module
from typing import Any, ClassVar

from fewsolves import predictors
from fewsolves._internal.text import meant
from fewsolves.errors import InputError
from fewsolves.predictors.family import PredictorFamily, ScaledBy
from fewsolves.predictors.items import has_items
from fewsolves.predictors.net import Net
from fewsolves.predictors.predictor import Predictor


class Auto(PredictorFamily):
    """Several families are started, and the better start is kept; with items, shared and separate forms of them."""

    known_as = ("auto",)
    started: ClassVar = ("network", "linear")
    with_items: ClassVar = ("network", "network-by-item", "linear-by-item", "linear-flat")

    def names(self, given: Any, shape: tuple[int, ...], n_y: int) -> tuple[str, ...]:
        return self.with_items if has_items(shape, n_y) else self.started

    def net(self, given: Any, name: str, shape: tuple[int, ...], n_y: int, seed: int | None) -> Net:
        return family_of(name).net(name, name, shape, n_y, seed)

    def untrained(self, given: Any, name: str, table: ScaledBy) -> Predictor:
        return family_of(name).untrained(name, name, table)


@cache
def _families() -> tuple[PredictorFamily, ...]:
    names = [one.name for one in pkgutil.iter_modules(predictors.__path__) if one.name != "torch_net"]  # needs torch
    modules = [import_module(f"{predictors.__name__}.{name}") for name in names]
    return (Auto(), *(vars(module)["FAMILY"] for module in modules if "FAMILY" in vars(module)))


def family_of(given: Any) -> PredictorFamily:
    """The family of a `predictor=`; raises where none accepts it."""
    family = named(given) if isinstance(given, str) else next((one for one in _families() if one.accepts(given)), None)
    if family is not None:
        return family
    what = f"the class {given.__name__}; make one of it" if isinstance(given, type) else f"{given!r:.80}"
    names = sorted(name for family in _families() for name in family.offered)
    near = f"; {meant(given, names)}" if isinstance(given, str) and "mean" in meant(given, names) else ""
    listed = ", ".join(map(repr, names))
    raise InputError(f"predictor is {listed}, a torch module, or any object with fit and predict, got {what}{near}")


def named(name: str) -> PredictorFamily | None:
    """The family that is called so; None for a name of the user's class, and for "given"."""
    return next((family for family in _families() if name in family.known_as), None)
