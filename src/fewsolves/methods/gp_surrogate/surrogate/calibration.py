"""Calibration: how many regrets that the surrogate has not seen lie in the intervals of its posterior."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtri

from fewsolves.problem import Array

LEVELS = (0.5, 0.8, 0.95)
AUDITED = 64  # held-out solves at the end of a run
LEAST_COVERED = 0.8  # of the 95 % intervals; below that the surrogate is over-confident
MOST_HELD_OUT = 10**15  # a larger number in a file is no count


@dataclass(frozen=True)
class Calibration:
    """Share of `n` held-out regrets that lie in the central intervals of each level."""

    covered: tuple[float, ...]  #: the share, for each level
    n: int  #: how many regrets were held out
    nominal: tuple[float, ...] = LEVELS  #: the levels: what the shares should be

    def record(self) -> dict[str, Any]:
        """Plain, for result.json."""
        return {"nominal": list(self.nominal), "covered": list(self.covered), "n": self.n}

    @classmethod
    def read(cls, record: Mapping[str, Any]) -> Calibration:
        """Restore from `record`; ValueError where that is none."""
        covered, nominal = (tuple(map(float, record[name])) for name in ("covered", "nominal"))
        n = int(record["n"])
        if not 0 <= n < MOST_HELD_OUT:
            raise ValueError("the number of held-out regrets is invalid")
        if not covered or len(covered) != len(nominal):
            raise ValueError(f"{len(covered)} shares for {len(nominal)} levels")
        if not all(0 <= value <= 1 for value in covered + nominal):
            raise ValueError("a share or a level is not between 0 and 1")
        return cls(covered, n, nominal)

    @property
    def warning(self) -> str | None:
        """The warning for the user, or None."""
        if self.n < 20 or self.covered[-1] >= LEAST_COVERED:
            return None
        return (
            f"the surrogate is over-confident: its 95 % intervals hold {self.covered[-1]:.0%} of {self.n} held-out "
            f"regrets; a lower beta pays for more solves, a higher pessimism stays nearer to what is known"
        )


def calibrate(regret: Array, mean: Array, std: Array) -> Calibration:
    """Coverage of the intervals mean +- z std, each (n,)."""
    off = np.abs(regret - mean)
    return Calibration(tuple(float((off <= ndtri(0.5 + p / 2) * std).mean()) for p in LEVELS), len(regret))
