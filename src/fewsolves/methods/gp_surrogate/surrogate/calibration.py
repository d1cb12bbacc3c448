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
        """Restore from `record`."""
        return cls(tuple(map(float, record["covered"])), int(record["n"]), tuple(map(float, record["nominal"])))

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
