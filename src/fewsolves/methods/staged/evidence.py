"""Evidence for a change: differences of regret, row by row, before and after.

z    mean difference in standard errors; below 0 is good: the rows are the same, so what they have in common cancels
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from fewsolves.methods.reading import Reading

UPPER = 1.64  # standard errors: one-sided 95 %


def outlook(change: Reading, before: float, after: float, start: float) -> dict[str, float] | None:
    """What as many solves again would probably gain, and at most (95 %), as shares of the start's regret.

    The last stage changed the regret so while the solves per row went from `before` to `after`. Regret falls about
    linearly in the logarithm of the solves, so the next doubling gains log 2 / log(after / before) of that.
    """
    if start <= 0 or not 0 < before < after:
        return None
    doubling = math.log(2) / math.log(after / before)
    likely, most = -change.mean, UPPER * change.error - change.mean
    return {"gain": min(1.0, max(0.0, doubling * likely / start)), "most": min(1.0, max(0.0, doubling * most / start))}


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
