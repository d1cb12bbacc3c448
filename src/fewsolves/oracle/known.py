"""What other runs, or a production system, have paid for: free samples of the regret."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fewsolves.problem import Array


@dataclass(frozen=True)
class Known:
    """N evaluations of the rows of an oracle, in the order of payment."""

    index: Array  # (N,) positions in the oracle's rows
    y_hat: Array  # (N, n_y)
    regret: Array  # (N,)
    number: Array  # (M,) how many of each row

    def nearest(self, to: Array, most: int | None = None) -> Known:
        """At most so many of each row, sorted by row and then by their distance from `to` (M, n_y)."""
        distance = np.linalg.norm(self.y_hat - to[self.index], axis=1)
        order = np.lexsort((distance, self.index))
        sorted_index = self.index[order]
        first = np.searchsorted(sorted_index, sorted_index)  # where the row of each begins
        kept = order if most is None else order[np.arange(len(order)) - first < most]
        return known_of(self.index[kept], self.y_hat[kept], self.regret[kept], len(self.number))


def known_of(index: Array, y_hat: Array, regret: Array, n_rows: int) -> Known:
    """With their numbers."""
    return Known(index, y_hat, regret, np.bincount(index, minlength=n_rows))
