"""Group commit: a thread that makes rows durable while the caller goes on, and a barrier that waits for it.

One sync to disk costs about 4 ms whatever is in it. So the writer commits what has arrived, and what arrives meanwhile
is the next group: a single answer is durable at once, and many answers share a few syncs. An error ends the writer:
after a failed sync the kernel may have dropped the pages, so a second attempt could succeed without writing them.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Sequence
from typing import Any

from fewsolves.errors import LedgerError

MAX_TRANSACTION_ROWS = 1024


class Writer:
    """The only writer to `connection`; `lock` guards it."""

    def __init__(
        self, connection: sqlite3.Connection, lock: threading.Lock, insert: str, on_commit: Callable[[Any], None]
    ) -> None:
        """`on_commit` receives the number of the last row of each commit."""
        self._connection, self._lock, self._insert, self._on_commit = connection, lock, insert, on_commit
        self._news = threading.Condition()
        self._waiting: list[Sequence[Any]] = []
        self._put = self._durable = 0
        self._ends = False
        self.error: sqlite3.Error | None = None
        self._thread = threading.Thread(target=self._work, name="ledger writer", daemon=True)
        try:
            self._thread.start()
        except RuntimeError as error:
            raise LedgerError(
                f"the ledger is written by a thread of its own, and none can be started ({error}): give this program "
                f"more memory or more threads (`ulimit -v`, `ulimit -u`)"
            ) from error

    def put(self, rows: Sequence[Sequence[Any]]) -> None:
        """Queue rows; they are durable after the next `barrier`."""
        with self._news:
            self._waiting.extend(rows)
            self._put += len(rows)
            self._news.notify_all()

    def barrier(self) -> None:
        """Returns when everything that was put is durable; raises what went wrong."""
        with self._news:
            target = self._put
            while self._durable < target and self.error is None:
                self._news.wait()
            if self.error is not None:
                raise self.error

    def close(self) -> None:
        """Commits what is left."""
        with self._news:
            self._ends = True
            self._news.notify_all()
        self._thread.join()

    def _work(self) -> None:
        while True:
            with self._news:
                while not self._waiting and not self._ends:
                    self._news.wait()
                group, self._waiting = self._waiting[:MAX_TRANSACTION_ROWS], self._waiting[MAX_TRANSACTION_ROWS:]
            if not group:
                return
            try:
                with self._lock:
                    self._connection.execute("BEGIN IMMEDIATE")
                    self._connection.executemany(self._insert, group)
                    self._connection.execute("COMMIT")
                self._on_commit(group[-1])
            except Exception as error:  # memory may run out, too: a barrier must not wait for a thread that has ended
                with self._news:
                    self.error = error if isinstance(error, sqlite3.Error) else sqlite3.DataError(repr(error))
                    self._news.notify_all()
                return
            with self._news:
                self._durable += len(group)
                self._news.notify_all()
