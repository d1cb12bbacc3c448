"""A validation reading: what a predictor costs on rows that it is not trained on, row by row."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fewsolves.problem import Array


@dataclass(frozen=True)
class Reading:
    """Values (n,) of the validation rows, NaN where a solve failed; what is compared is the mean of the others."""

    values: Array

    @property
    def known(self) -> Array:
        """The values without those that failed."""
        known: Array = self.values[~np.isnan(self.values)]
        return known

    @property
    def mean(self) -> float:
        return float(self.known.mean()) if self.known.size else float("nan")

    @property
    def error(self) -> float:
        """Standard error of the mean."""
        known = self.known
        return float(known.std(ddof=1) / np.sqrt(len(known))) if len(known) > 1 else float("inf")

    def clearly_below(self, other: Reading, errors: float) -> bool:
        """Row by row lower than `other`, by more than `errors` standard errors of the difference."""
        gain = Reading(other.values - self.values)
        if len(gain.known) == 1:
            return gain.mean > 0
        return gain.mean > errors * gain.error
