"""Rows that happened, in the order of time: trained on up to a day, tested on what came after it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn

import numpy as np

from fewsolves.data import Split
from fewsolves.demo.sources import Source
from fewsolves.errors import InputError
from fewsolves.problem import Array

BLOCK, EVERY = 7, 5  # of the weeks before the test every fifth is validated on


@dataclass(frozen=True, eq=False)
class Recorded(Source):
    """The source of real data: nothing can be drawn from it."""

    days: Array  # date of each row
    outputs: tuple[str, ...]  # what each number of y is

    def features(self, n: int, rng: np.random.Generator) -> Array:
        self._refuse()

    def draw_given(self, X: Array, rng: np.random.Generator) -> Array:
        self._refuse()

    def mean(self, X: Array) -> Array:
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise InputError("real data has the rows that happened: no others can be drawn, and E[y | x] is not known")


def split_by_time(days: Array, first: str, boundary: str, test: Array, validation: str = "weeks") -> Split:
    """Rows from `first` to before `boundary` to train and validate on; `test` rows lie behind it.

    Validated on is every fifth of the "weeks", so that both parts see all seasons there are, or the "last" fifth of the
    days: its days are as unlike the training days as those of the test, since level and habits drift.
    """
    if validation not in ("weeks", "last"):
        raise InputError(f"validation is 'weeks' or 'last', got {validation!r}")
    if len(test) == 0 or days[test].min() < np.datetime64(boundary):
        raise InputError(f"test rows have to come after {boundary}")
    before = np.flatnonzero((days >= np.datetime64(first)) & (days < np.datetime64(boundary)))
    week = np.arange(len(before))[::-1] // BLOCK  # counted back from the boundary
    valid = week % EVERY == 1 if validation == "weeks" else np.arange(len(before)) >= len(before) * (1 - 1 / EVERY)
    return Split(before[~valid], before[valid], test)


def year_angle(days: Array) -> Array:
    """(n, 2): cosine and sine of the day of the year."""
    since = (days - days.astype("datetime64[Y]")).astype(int)
    angle = 2.0 * np.pi * since / 365.25
    return np.column_stack([np.cos(angle), np.sin(angle)])


def weekday(days: Array) -> Array:
    """(n, 7): 1 at the day of the week, Monday first."""
    found: Array = np.eye(7)[(days.astype("datetime64[D]").astype(int) + 3) % 7]
    return found
