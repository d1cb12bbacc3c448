"""PFL and the default side by side, on a day for a picture and over all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fewsolves.demo.benchmark import Benchmark
from fewsolves.problem import Array
from fewsolves_studies.real.bootstrap import Interval, interval
from fewsolves_studies.real.cell import Done, default_method, one
from fewsolves_studies.real.tables import number


@dataclass(frozen=True)
class Pair:
    """The two runs of one setting whose predictions are kept."""

    pfl: Done
    ours: Done

    @property
    def saved(self) -> Interval:
        """Per day."""
        return interval(self.pfl.costs - self.ours.costs)

    @property
    def change(self) -> Array:
        """(n_test, n_y): what the trained forecast says more than PFL's."""
        change: Array = np.array(self.ours.result["y_hat"]) - np.array(self.pfl.result["y_hat"])
        return change

    def description(self, unit: str = "") -> str:
        """What is saved, in words."""
        digits = 0 if self.pfl.mean >= 1000 else 2
        mean, low, high = (f"{value:,.{digits}f}" for value in self.saved)
        return (
            f"{default_method()} saves {mean} a day ({low} to {high}) of PFL's {self.pfl.mean:,.{digits}f}, "
            f"{365 * self.saved.mean:,.0f} a year, with {self.ours.solves:.1f} solves per training day; its forecast "
            f"differs by {self.change.mean():+.3g}{unit} on average"
        )

    def by_day(self) -> str:
        """Whether many days gain or few, in words."""
        saving = self.pfl.costs - self.ours.costs
        best = np.sort(saving)[::-1][: max(1, len(saving) // 10)]
        return (
            f"it is cheaper on {(saving > 0).sum()} of {len(saving)} days and dearer on {(saving < 0).sum()}, by "
            f"{number(max(-saving.min(), 0.0))} at the most; the middle day saves {number(float(np.median(saving)))}, "
            f"the best tenth of the days {number(float(best.mean()))} each"
        )


@dataclass(frozen=True)
class Day:
    """One test day: by name (PFL, the default) predictions, decisions and costs."""

    date: str
    truth: Array
    y_hat: dict[str, Array]
    decisions: dict[str, Any]
    costs: dict[str, float]


def pair(done: Sequence[Done], **wanted: Any) -> Pair | None:
    """Of cells with these values; None where a run is missing."""
    pfl, ours = (one(done, method=method, plans=True, **wanted) for method in ("pfl", default_method()))
    return None if pfl is None or ours is None else Pair(pfl, ours)


def typical_day(both: Pair) -> Day:
    """The test day that is nearest to the mean one in its saving and in what it costs, both in standard deviations."""
    dataset: Benchmark = both.pfl.cell.dataset
    assert dataset.split is not None and dataset.problem.solve_batch is not None
    measures = np.array([both.pfl.costs - both.ours.costs, both.pfl.costs])
    spread = measures.std(axis=1, keepdims=True)
    off = np.abs(measures - measures.mean(axis=1, keepdims=True)) / np.where(spread > 0, spread, 1.0)
    day = int(off.sum(axis=0).argmin())
    row = dataset.split.test[day]
    runs = {"PFL": both.pfl, default_method(): both.ours}
    y_hat = {name: np.array(each.result["y_hat"])[day] for name, each in runs.items()}
    return Day(
        date=str(dataset.source.days[row]),  # type: ignore[attr-defined]
        truth=dataset.Y[row],
        y_hat=y_hat,
        decisions={name: dataset.problem.solve_batch(values[None])[0] for name, values in y_hat.items()},
        costs={name: float(each.costs[day]) for name, each in runs.items()},
    )
