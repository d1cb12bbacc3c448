"""Means over a few datasets, and comparisons of two methods on the same datasets.

Five datasets are few. The interval is Student's; beside the paired ratio stand the number of datasets won and the
exact Wilcoxon test, whose two-sided p cannot be below 0.0625 with five pairs.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import t, wilcoxon


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
