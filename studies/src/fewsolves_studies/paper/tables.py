"""The tables of the experiments: statistics over datasets, the figures that the paper printed, columns by their heads.

A row is put together from columns. `mine`, `other`: results by dataset; what is missing leaves its cells empty.

Five datasets are few. The interval is Student's; beside the paired ratio stand the number of datasets won and the
exact Wilcoxon test, whose two-sided p cannot be below 0.0625 with five pairs.
"""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import t, wilcoxon

ByDataset = Mapping[int, Mapping[str, Any]]
Columns = dict[str, Any]


@dataclass(frozen=True)
class PaperTable:
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


class Summary(NamedTuple):
    mean: float
    std: float | None  # None for a single value
    half: float | None  # half of the 95 % interval of the mean

    def __str__(self) -> str:
        """Two digits of the spread and the mean to the same place, but no more than four digits of the mean."""
        if self.std is None or self.std <= 1e-9 * abs(self.mean):  # below that it is rounding
            return f"{float(f'{self.mean:.4g}'):,g}" + ("" if self.std is None else " ± 0")
        if not math.isfinite(self.std):
            return f"{self.mean:g} ± {self.std:g}"
        place = 1 - math.floor(math.log10(self.std))
        if self.mean:
            place = min(place, 3 - math.floor(math.log10(abs(self.mean))))
        mean, std = (f"{round(value, place):,.{max(place, 0)}f}" for value in (self.mean, self.std))
        return f"{mean} ± {std}"


def summary(values: Sequence[float]) -> Summary | None:
    """None where there is nothing to summarise."""
    if not values:
        return None
    mean = float(np.mean(values))
    if len(values) == 1:
        return Summary(mean, None, None)
    std = float(np.std(values, ddof=1))
    return Summary(mean, std, float(t.ppf(0.975, len(values) - 1)) * std / len(values) ** 0.5)


class Paired(NamedTuple):
    """A method against another on the datasets that both have."""

    ratio: Summary  # mean over datasets of (mine / other)
    won: int  # datasets with the lower regret
    of: int
    p: float | None  # exact Wilcoxon, two-sided


def paired(mine: Mapping[int, Any], other: Mapping[int, Any], key: str) -> Paired | None:
    """Compare by one number of the results, by dataset; None where they have no dataset in common."""
    both = [d for d in mine if d in other and other[d][key]]
    if not both:
        return None
    a, b = (np.array([results[d][key] for d in both], dtype=float) for results in (mine, other))
    ratio = summary(list(a / b))
    assert ratio is not None
    p = None
    if len(both) > 1 and np.any(a != b):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # ties: the test then falls back to its approximation
            p = float(wilcoxon(a, b).pvalue)
    return Paired(ratio, int(np.sum(a < b)), len(both), p)


class Printed(NamedTuple):
    """Mean and standard deviation over the paper's five datasets, from `printed.json`."""

    mean: float
    std: float

    def __str__(self) -> str:
        return f"{self.mean:g} ± {self.std:g}"


def printed(table: str, row: str, column: str) -> Printed | None:
    """One cell of a table; None where the paper has none."""
    found = _tables()[table].get(row, {}).get(column)
    return None if found is None else Printed(*found)


def to_printed_pfl(published: Printed | None, column: str) -> float | None:
    """A printed regret divided by that of prediction-focused learning."""
    pfl = printed("q1_regret", "pfl", column)
    return published.mean / pfl.mean if published is not None and pfl is not None else None


@cache
def _tables() -> dict[str, Any]:
    tables: dict[str, Any] = json.loads(files("fewsolves_studies.paper").joinpath("printed.json").read_text())
    return tables


def mean(mine: ByDataset, key: str) -> Summary | None:
    return summary([result[key] for result in mine.values()])


def regret(mine: ByDataset, published: Printed | None) -> Columns:
    """Test regret, mean ± standard deviation, half of the 95 % interval of the mean, and the paper's."""
    found = mean(mine, "test_regret")
    half = found.half if found else None
    return {
        "datasets": len(mine),
        "test regret": found,
        "± 95 %": "" if half is None else f"{float(f'{half:.2g}'):,g}",
        "printed": published,
    }


def against(name: str, mine: ByDataset, other: ByDataset, key: str = "test_regret") -> Columns:
    """The paired comparison with another method: mean ratio, half of its 95 % interval, datasets won, Wilcoxon's p."""
    found = paired(mine, other, key) if mine != other else None  # not with itself
    half, p = (found.ratio.half, found.p) if found else (None, None)
    return {
        f"to {name}": f"{found.ratio.mean:.3f}" if found else "",
        f"± to {name}": "" if half is None else f"{half:.3f}",
        f"better than {name}": f"{found.won} of {found.of}" if found else "",
        f"p to {name}": "" if p is None else f"{p:.3f}",
    }


def gap_closed(mine: ByDataset, pfl: ByDataset, floor: ByDataset) -> Columns:
    """The share of the way from PFL to the floor, on fresh rows."""
    ways = {d: pfl[d]["fresh_regret"] - floor[d]["absolute"] for d in mine if d in pfl and d in floor}
    shares = [(pfl[d]["fresh_regret"] - mine[d]["fresh_regret"]) / way for d, way in ways.items() if way > 0]
    found = summary(shares)
    return {
        "gap closed": f"{found.mean:.0%}" if found else "",
        "± gap": f"{found.half:.0%}" if found and found.half is not None else "",
    }


def evaluation_columns(mine: ByDataset, published: Printed | None) -> Columns:
    return {"evaluations": summary([evaluations(result) for result in mine.values()]), "printed calls": published}


def evaluations(result: Mapping[str, Any]) -> float:
    """The paper's count; methods that look at decisions and not at regrets are counted by their solves."""
    return float(max(result["evaluations_per_instance"], result["solves_per_instance"]))


def seconds(mine: ByDataset) -> Columns:
    taken = [result["seconds"] for result in mine.values()]
    return {
        "seconds": summary([one["total"] for one in taken]),
        "in the solver": summary([one["solver"] for one in taken]),
        "rest": summary([one["total"] - one["solver"] for one in taken]),
    }


def dot(name: str, mine: ByDataset, other: ByDataset, published: float | None) -> Dot | None:
    """Test regret relative to that of another method, as a point of a figure; `published` is the printed ratio."""
    found = paired(mine, other, "test_regret")
    return found and Dot(name, found.ratio.mean, found.ratio.half, published)
