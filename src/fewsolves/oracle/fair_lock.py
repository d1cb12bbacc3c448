"""A fair lock: one caller at a time, and none of them twice while another waits."""

from __future__ import annotations

import threading
from types import TracebackType


class FairLock:
    """A lock for `with`: waiting threads go before the thread that has just released it."""

    def __init__(self) -> None:
        self._next, self._turn = threading.Lock(), threading.Lock()

    def __enter__(self) -> None:
        with self._next:  # a single lock would go to the thread that runs, again and again
            self._turn.acquire()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._turn.release()
