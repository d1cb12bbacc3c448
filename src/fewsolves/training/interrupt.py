"""Ctrl-C, SIGTERM and SIGHUP during a run: the first signal requests a stop, the second stops at once.

After the first signal no further solve begins. Training ends when the solves under way are on record (within
`SolveConfig.grace`), or with the epoch if there are none, so that no paid solve is lost.
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
        self.stop_requested = False
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Interrupt:
        if threading.current_thread() is threading.main_thread():
            held = [number for number in SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
            self._before = {number: signal.signal(number, self._heard) for number in held}
        return self

    def __exit__(self, *exception: object) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)
        self._before, self.stop_requested = {}, False  # reset for the next run

    def check(self) -> None:
        """Raise KeyboardInterrupt once a stop was requested."""
        if self.stop_requested and threading.current_thread() is threading.main_thread():
            raise KeyboardInterrupt

    def __call__(self, record: EpochRecord) -> None:
        self.check()

    def _heard(self, number: int, frame: FrameType | None) -> None:
        if self.stop_requested:
            raise KeyboardInterrupt
        self.stop_requested = True
        with contextlib.suppress(OSError, ValueError):  # the terminal may be gone
            print("stopping after the solves under way; once more stops at once", file=sys.stderr, flush=True)
