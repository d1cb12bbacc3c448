"""What an experiment is: trials to run, and tables and figures to make of their results."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from fewsolves.training.start import EPOCHS
from fewsolves_studies.paper.tables import PaperTable
from fewsolves_studies.paper.trial import Options, Results, Trial, options

FOUR = ("kp-weights", "kp-values", "kp-capacity", "wsmc-10-50")
LOCAL = tuple(
    f"{family}-{form}"
    for family in ("lodl", "egl")
    for form in ("mse", "quadratic", "directed-mse", "directed-quadratic")
)
QUICK_ROWS = 80  # of a dataset in a quick run


@dataclass(frozen=True, kw_only=True)
class Size:
    """How much of an experiment to run: the paper's five datasets, or a few minutes' worth of it."""

    datasets: int = 5
    quick: bool = False

    @property
    def seeds(self) -> range:
        return range(self.datasets)

    @property
    def data(self) -> Options:
        return options({"n": QUICK_ROWS}) if self.quick else ()

    def settings(self, method: str, **given: Any) -> Options:
        """The settings of a run: `given`, the paper's start by Adam, and in a quick run less of everything."""
        if not self.quick:
            return options({"start_epochs": EPOCHS} | given)
        less: dict[str, Any] = {"start_epochs": 5}
        if method not in ("pfl", "shift", "pairs", "staged"):
            less["max_epochs"] = 2
        if method.startswith("lodl"):
            less["samples"] = 20
        return options(less | given)

    def trial(self, benchmark: str, method: str, dataset: int, *, label: str = "", **other: Any) -> Trial:
        """One run of this size; `other` may hold settings=, data=, predictor=, delay= and limit=."""
        given, data = other.pop("settings", {}), options(other.pop("data", {}))
        return Trial(
            benchmark=benchmark,
            method=method,
            dataset=dataset,
            label=label,
            settings=self.settings(method, **given),
            data=tuple(sorted((*data, *self.data))),
            **other,
        )

    def setting(self, benchmark: str, **other: Any) -> str:
        """The setting that the trials of a benchmark have at this size."""
        return self.trial(benchmark, "pfl", 0, **other).setting


@dataclass(frozen=True)
class Exhibits:
    """What an experiment shows; figures by the name of their file, with their caption."""

    tables: Mapping[str, PaperTable]
    figures: Mapping[str, tuple[Any, str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Experiment:
    """One table or figure of the paper."""

    name: str
    title: str
    about: str
    trials: Callable[[Size], list[Trial]]
    show: Callable[[Results, Size], Exhibits]
