"""What an experiment is: runs to make, and tables and figures to make of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from fewsolves.paper.task import Options, Results, Task, options

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
        """The settings of a run: `given`, and in a quick run less of everything."""
        if not self.quick:
            return options(given)
        less: dict[str, Any] = {"start_epochs": 5}
        if method not in ("pfl", "shift"):
            less["max_epochs"] = 2
        if method.startswith("lodl"):
            less["samples"] = 20
        return options(less | given)

    def task(self, benchmark: str, method: str, dataset: int, *, label: str = "", **other: Any) -> Task:
        """One run of this size; `other` may hold settings=, data=, predictor=, delay= and limit=."""
        given, data = other.pop("settings", {}), options(other.pop("data", {}))
        return Task(
            benchmark=benchmark,
            method=method,
            dataset=dataset,
            label=label,
            settings=() if method == "floor" else self.settings(method, **given),
            data=tuple(sorted((*data, *self.data))),
            **other,
        )

    def setting(self, benchmark: str, **other: Any) -> str:
        """The setting that the tasks of a benchmark have at this size."""
        return self.task(benchmark, "pfl", 0, **other).setting


@dataclass(frozen=True)
class Table:
    """Rows of cells, by the head of their column."""

    title: str
    rows: Sequence[Mapping[str, Any]]
    note: str = ""

    @property
    def heads(self) -> list[str]:
        return list(dict.fromkeys(head for row in self.rows for head in row))

    def has_words(self, head: str) -> bool:
        """Whether a column is to be read and not to be compared digit by digit."""
        return any(isinstance(cell := row.get(head), str) and cell[:1].isalpha() for row in self.rows)


class Dot(NamedTuple):
    """One point of a figure: a row of a panel, or a place on a curve."""

    name: str
    value: float
    half: float | None  # half of the interval around it
    printed: float | None


@dataclass(frozen=True)
class Outcome:
    """What an experiment shows; figures by the name of their file, with their caption."""

    tables: Mapping[str, Table]
    figures: Mapping[str, tuple[Any, str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Experiment:
    """One table or figure of the paper."""

    name: str
    title: str
    about: str
    tasks: Callable[[Size], list[Task]]
    show: Callable[[Results, Size], Outcome]
