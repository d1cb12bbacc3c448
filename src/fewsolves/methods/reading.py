"""A validation reading: the regret of a predictor on rows that it is not trained on, row by row."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

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
        """Whether the values are lower than those of `other`, row by row, by more than this many standard errors."""
        return Comparison.of(other, self).clear(errors)


CLEAR = 2.0  # standard errors by which a difference is clear, where no setting says otherwise
FEW = 10  # rows below which their standard error is itself too uncertain for an interval


@dataclass(frozen=True)
class Comparison:
    """A paired comparison of two readings of the same rows: by how much the second is lower, row by row."""

    fall: Reading

    @classmethod
    def of(cls, before: Reading, after: Reading) -> Comparison:
        """Compare two readings.

        Args:
            before: The one to beat.
            after: The one that may be lower.
        """
        return cls(Reading(before.values - after.values))

    @property
    def rows(self) -> int:
        """The rows that both readings have a value of."""
        return len(self.fall.known)

    @property
    def mean(self) -> float:
        """The mean difference."""
        return self.fall.mean

    def clear(self, errors: float = CLEAR) -> bool:
        """Whether the mean is lower by more than this many standard errors; of one row, whether it is lower.

        Args:
            errors: Standard errors of the mean of the differences.
        """
        return self.mean > (0 if self.rows == 1 else errors * self.fall.error)

    def interval(self, level: float) -> tuple[float, float] | None:
        """The confidence interval of the mean difference (Student's t); None of fewer than two rows.

        Args:
            level: Such as 0.95.
        """
        if self.rows < 2:
            return None
        reach = float(stdtrit(self.rows - 1, 0.5 + level / 2)) * self.fall.error
        return self.mean - reach, self.mean + reach
