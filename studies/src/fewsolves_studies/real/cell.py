"""A cell of a study: one run, a method and a predictor on one setting of the data, under a budget; or a reference.

A reference is a policy that is not trained by a method of the library: what was published, or knowing the truth.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fewsolves.demo.benchmark import Benchmark
from fewsolves.methods.registry import DEFAULT, find_method
from fewsolves.problem import Array
from fewsolves.training.start import EPOCHS
from fewsolves_studies.benchmarks.catalogue import load
from fewsolves_studies.benchmarks.study import Result, made_under

Options = tuple[tuple[str, Any], ...]
Decide = Callable[[Benchmark], Array]  # the true costs of the test rows

BOOSTED = "boosted"  # gradient boosting of scikit-learn, whose forecasts are corrected
SETTINGS = {"start_epochs": EPOCHS}  # so that linear predictors start where those of the runs on record did
FEW_COST_CALLS = (("cost_calls", 20),)  # of the default in a quick run: its cost calls would take a minute


def default_method() -> str:
    """The method that a user gets who names none."""
    return DEFAULT


@dataclass(frozen=True, kw_only=True)
class Cell:
    """What is run."""

    benchmark: str
    data: Options = ()  # options of the benchmark
    method: str  # or the name of a reference
    predictor: str = ""  # of a reference: none
    budget: int | None = None  # solves per training day, labels and validation included; None: as the method likes
    settings: Options = ()  # of the method, beside SETTINGS
    decide: Decide | None = None  # of a reference
    plans: bool = False  # whether its predictions are kept, for a picture

    @property
    def setting(self) -> str:
        return ",".join([self.benchmark, *(f"{name}={value}" for name, value in self.data)])

    @property
    def run(self) -> str:
        """Its name in the study."""
        parts = [self.method, *filter(None, [self.predictor, f"{self.budget}" if self.budget else ""])]
        return f"{self.setting}/{'.'.join(parts)}"

    @property
    def all_settings(self) -> dict[str, Any]:
        return SETTINGS | dict(self.settings)

    @property
    def dataset(self) -> Benchmark:
        return load(self.benchmark, **dict(self.data))

    def result_in(self, runs: Mapping[str, Result]) -> Result | None:
        """Its result among those of a study; None where there is none, or one that was made under other settings."""
        result = runs.get(self.run)
        if result is None or self.decide is not None:
            return result
        method = find_method(self.method).with_settings(self.all_settings)
        trained = [method.recorded]
        if self.predictor == "network":  # its start is the same where no epochs are set
            trained += [dataclasses.replace(method.recorded, start_epochs=None)]
        return result if any(made_under(result, {"loss": method.settings, "train": one}) for one in trained) else None


@dataclass(frozen=True)
class Done:
    """A cell with its result."""

    cell: Cell
    result: Result

    @property
    def costs(self) -> Array:
        """Of the test days, in their order."""
        return np.array(self.result["costs"])

    @property
    def mean(self) -> float:
        return float(self.costs.mean())

    @property
    def solves(self) -> float:
        """Per training day, everything but the test."""
        return float(self.result.get("total_solves_per_instance", 0.0))


def options(**values: Any) -> Options:
    """Options of a benchmark in a form that can be compared."""
    return tuple(values.items())


def done_among(cells: Sequence[Cell], runs: Mapping[str, Result]) -> list[Done]:
    """Those that have a result."""
    found = [(cell, cell.result_in(runs)) for cell in dict.fromkeys(cells)]
    return [Done(cell, result) for cell, result in found if result is not None]


def one(done: Sequence[Done], **wanted: Any) -> Done | None:
    """The first whose cell has these values."""
    for each in done:
        if all(getattr(each.cell, name) == value for name, value in wanted.items()):
            return each
    return None
