"""Ctrl-C, SIGTERM and SIGHUP during a run: the first signal requests a stop, the second stops at once.

So does a file `stop` in the folder of the run, which `fewsolves stop` and the page of `fewsolves watch` write.
After the first request no further solve begins. Training ends when the solves under way are on record (within
`SolveConfig.grace`), or with the epoch if there are none, so that no paid solve is lost.
"""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
from pathlib import Path
from types import FrameType
from typing import Any

from fewsolves.training.history import EpochRecord

STOP_FILE = "stop"  # in the folder of a run
SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))


def request_stop(folder: Path) -> None:
    """Ask the run in a folder to stop when the solves under way are on record; it keeps everything.

    Args:
        folder: That of the run.
    """
    (folder / STOP_FILE).touch()


class Interrupt:
    """Holds the signals while it is entered, but for those that are ignored (nohup); elsewhere than in the main thread
    it does nothing."""

    def __init__(self, folder: Path | None = None) -> None:
        """`folder` is that of the run, where it has one."""
        self.stop_requested = False
        self._file = None if folder is None else folder / STOP_FILE
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Interrupt:
        self._forget_request()
        if threading.current_thread() is threading.main_thread():
            held = [number for number in SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
            self._before = {number: signal.signal(number, self._heard) for number in held}
        return self

    def __exit__(self, *exception: object) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)
        self._before, self.stop_requested = {}, False  # reset for the next run
        self._forget_request()

    def check(self) -> None:
        """Raise KeyboardInterrupt once a stop was requested."""
        if self._file is not None and self._file.exists():
            self._forget_request()
            raise KeyboardInterrupt
        if self.stop_requested and threading.current_thread() is threading.main_thread():
            raise KeyboardInterrupt

    def __call__(self, record: EpochRecord) -> None:
        self.check()

    def _forget_request(self) -> None:
        if self._file is not None:
            with contextlib.suppress(OSError):
                self._file.unlink()

    def _heard(self, number: int, frame: FrameType | None) -> None:
        if self.stop_requested:
            raise KeyboardInterrupt
        self.stop_requested = True
        with contextlib.suppress(OSError, ValueError):  # the terminal may be gone
            print("stopping after the solves under way; a second signal stops at once", file=sys.stderr, flush=True)
