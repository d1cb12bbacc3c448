"""The state of a run: the regret of its start and the lowest one since.

The progress line, the page of `watch`, the history and the summary all take start and best from here, so that no two
of them differ. A run that has ended reports what its summary says.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

from fewsolves._internal.text import number


class Reached(NamedTuple):
    """Mean regrets on the rows that judge a run; None where they have not been read."""

    start: float | None = None  #: of the prediction-focused start
    best: float | None = None  #: the lowest so far, the start included

    def __str__(self) -> str:
        """Empty while nothing was read."""
        if self.best is None:
            return ""
        return f"best {number(self.best)}" + ("" if self.start is None else f" (start {number(self.start)})")


def reached_by_result(start: float | None, best: float, *, kept_start: bool) -> Reached:
    """Of a run that has ended: by its start, the regret of what it compared with it, and which of the two it kept.

    >>> str(reached_by_result(69.8, 71.2, kept_start=True))
    'best 69.8 (start 69.8)'
    """
    return Reached(start, best if start is None or not kept_start else start)


def reached(start: float | None, regrets: Iterable[float | None]) -> Reached:
    """Of a start and the regrets read since; what is not a number counts as not read.

    >>> str(reached(69.8, [71.0, None, 67.14]))
    'best 67.1 (start 69.8)'
    """
    first = start if start is not None and math.isfinite(start) else None
    known = [value for value in (first, *regrets) if value is not None and math.isfinite(value)]
    return Reached(first, min(known, default=None))
