"""Ctrl-C and SIGTERM while something is paid for: the first asks to stop, the second stops at once.

Asked to stop, training ends when the next answer of the solver has landed and is on record, or with the epoch where
nothing is paid: a solve that was waited for is not thrown away.
"""

from __future__ import annotations

import signal
import sys
import threading
from types import FrameType
from typing import Any

from fewsolves.training.history import EpochRecord

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interrupt:
    """Holds the two signals while it is entered; in a thread other than the main one it does nothing."""

    def __init__(self) -> None:
        self.asked = False
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Interrupt:
        if threading.current_thread() is threading.main_thread():
            self._before = {number: signal.signal(number, self._heard) for number in SIGNALS}
        return self

    def __exit__(self, *exception: object) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)
        self._before, self.asked = {}, False  # what comes later has not been interrupted

    def check(self) -> None:
        """Raise KeyboardInterrupt where somebody asked."""
        if self.asked and threading.current_thread() is threading.main_thread():
            raise KeyboardInterrupt

    def __call__(self, record: EpochRecord) -> None:
        self.check()

    def _heard(self, number: int, frame: FrameType | None) -> None:
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True
        print("stopping after the solve under way; once more stops at once", file=sys.stderr, flush=True)
