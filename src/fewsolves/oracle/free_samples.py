"""Free samples of the regret: evaluations that other runs, or a production system, had paid when this run began."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fewsolves.problem import Array


@dataclass(frozen=True)
class FreeSamples:
    """N evaluations of the rows of an oracle, in the order of payment."""

    index: Array  # (N,) positions in the oracle's rows
    y_hat: Array  # (N, n_y)
    regret: Array  # (N,)
    n_rows: int

    @property
    def number(self) -> Array:
        """(M,) how many of each row."""
        number: Array = np.bincount(self.index, minlength=self.n_rows)
        return number

    def nearest(self, to: Array, most: int | None = None) -> FreeSamples:
        """At most `most` of each row, sorted by row and then by their distance from `to` (M, n_y)."""
        distance = np.linalg.norm(self.y_hat - to[self.index], axis=1)
        order = np.lexsort((distance, self.index))
        sorted_index = self.index[order]
        first = np.searchsorted(sorted_index, sorted_index)  # where the row of each begins
        kept = order if most is None else order[np.arange(len(order)) - first < most]
        return FreeSamples(self.index[kept], self.y_hat[kept], self.regret[kept], self.n_rows)
