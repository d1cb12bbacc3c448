"""Ctrl-C, SIGTERM and SIGHUP while something is paid for: the first asks to stop, the second stops at once.

Asked to stop, no further solve begins, and training ends when those under way have landed and are on record (within
`SolveConfig.grace`), or with the epoch where nothing is paid: a solve that was paid for is not thrown away.
"""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
from types import FrameType
from typing import Any

from fewsolves.training.history import EpochRecord

SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))


class Interrupt:
    """Holds the signals while it is entered, but for those that are ignored (nohup); elsewhere than in the main thread
    it does nothing."""

    def __init__(self) -> None:
        self.asked = False
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Interrupt:
        if threading.current_thread() is threading.main_thread():
            held = [number for number in SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
            self._before = {number: signal.signal(number, self._heard) for number in held}
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
        with contextlib.suppress(OSError, ValueError):  # the terminal may be gone
            print("stopping after the solves under way; once more stops at once", file=sys.stderr, flush=True)
