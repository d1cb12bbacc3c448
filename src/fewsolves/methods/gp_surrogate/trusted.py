"""One look at the surrogate for some rows: its std is for the gate, and where they are trusted also the loss.

u (B, d)        predictions in standardised units        m, s (B,)  posterior mean and std of the regret there
least (B,)      the least regret seen of each row        m' = m, or least where m + s is below it (`sober`)

loss = m' + pessimism s        dloss/du = [m' is m] dm/du + pessimism ds/du
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fewsolves.methods.gp_surrogate.fallback import Answer
from fewsolves.methods.gp_surrogate.surrogate.regret import RegretSurrogate
from fewsolves.problem import Array

if TYPE_CHECKING:
    from fewsolves.methods.gp_surrogate.config import GPSurrogateConfig


class Looked:
    """Posterior mean and std of `rows` at u, with or without slopes."""

    def __init__(self, u: Array, rows: Array, surrogate: RegretSurrogate, *, slopes: bool) -> None:
        self.surrogate, self.rows = surrogate, rows
        self.mean, self.std, self.slopes = surrogate.evaluated(u, rows, slopes=slopes)

    def value(self, config: GPSurrogateConfig) -> Array:
        """The regret of each row (B,) with pessimism added, and the mean bounded from below with `sober`."""
        mean = self.mean
        if config.sober:
            mean = np.where(self._followed(), mean, self.surrogate.least[self.rows])
        return np.asarray(mean + config.pessimism * self.std)

    def answer(self, config: GPSurrogateConfig) -> Answer:
        """The same, and its slope by u; for a look with slopes."""
        slope = self.slopes[:, 0]
        if config.sober:
            slope = slope * self._followed()[:, None]
        return Answer(self.value(config), slope + config.pessimism * self.slopes[:, 1])

    def _followed(self) -> Array:
        """Whether the mean is one to follow: it is not clearly below the least regret seen."""
        return np.asarray(self.mean + self.std > self.surrogate.least[self.rows])
