"""Evidence for a change: differences of regret, row by row, before and after.

z    mean difference in standard errors; below 0 is good: the rows are the same, so what they have in common cancels
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from fewsolves.methods.reading import Reading

UPPER = 1.64  # standard errors: one-sided 95 %


@dataclass(frozen=True)
class Evidence:
    """What paired readings say of a change."""

    change: Reading
    start: float  # mean regret of the start

    @property
    def z(self) -> float:
        """The change in standard errors; 0 where nothing can be said."""
        mean, error = self.change.mean, self.change.error
        if error == 0.0:
            return math.copysign(math.inf, mean) if mean else 0.0
        return mean / error

    @property
    def gain_bound(self) -> float:
        """The largest gain that is plausible (95 %), as a share of the start's regret."""
        if self.start <= 0:
            return 0.0
        return min(1.0, max(0.0, UPPER * self.change.error - self.change.mean) / self.start)
