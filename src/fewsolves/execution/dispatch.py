"""How many rows to send at a time: one where a solve takes long, many where it is quick and the way costs more."""

from __future__ import annotations

from collections.abc import Sequence

MOST = 1000  # rows in a chunk
MEMORY = 0.8  # weight of the past in the mean time of a call
PARTS = 4  # chunks that each worker gets of a request by the batched form; the smallest chunk is such a part of a whole


class Pace:
    """The mean time of calls, by kind, and the chunk that takes about `target` seconds."""

    def __init__(self, target: float) -> None:
        self.target = target
        self._mean: dict[str, float] = {}

    def saw(self, kind: str, seconds: Sequence[float]) -> None:
        """Learn from calls that were answered."""
        mean = sum(seconds) / len(seconds)
        self._mean[kind] = MEMORY * self._mean.get(kind, mean) + (1 - MEMORY) * mean

    def size(self, kind: str, waiting: int, workers: int) -> int:
        """Rows for the next chunk; one while nothing is known."""
        if kind not in self._mean:
            return 1
        whole = max(1, min(MOST, int(self.target / (self._mean[kind] + 1e-6))))
        share = -(-waiting // (2 * workers))  # the last chunks are smaller, so that all workers end together
        return min(waiting, whole, max(share, -(-whole // PARTS)))


def batch_size(total: int, workers: int) -> int:
    """Rows for one call of a batched form."""
    return max(1, -(-total // (PARTS * workers)))
