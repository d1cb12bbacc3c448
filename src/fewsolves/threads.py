"""One thread for small work.

torch shares a product of some thousand numbers, or a step of its fused Adam, out to all cores. The threads that have
nothing to do then wait at full speed, and where others use the machine they hold up the one that works
(`benchmarks/speed.py`, the cases that end in "all threads"). What the user's functions compute is left alone.
"""

from __future__ import annotations

import torch

WORTH_THREADS = 10_000_000  # multiplications from which on work is shared out: some milliseconds of one core


class ThreadsFor:
    """While it is entered torch computes on one thread, unless there is `work` for more."""

    __slots__ = ("before", "small")

    def __init__(self, work: int) -> None:
        self.small = work < WORTH_THREADS

    def __enter__(self) -> None:
        if self.small:
            self.before = torch.get_num_threads()
            torch.set_num_threads(1)

    def __exit__(self, *raised: object) -> None:
        if self.small:
            torch.set_num_threads(self.before)
