"""Whether a ledger is still where it was opened: its folder may be moved, removed or replaced while a run goes on.

An open file outlives its name: a run would end as if nothing had happened, with its answers in a file that no one can
open again. So the place is looked at before calls are charged and after answers are written. Where it has changed, what
is on record is copied to a new folder beside the old one, and the run stops.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
from pathlib import Path

from fewsolves._internal.platform import open_private
from fewsolves.errors import LedgerError
from fewsolves.ledger.sqlite.file import LedgerFile

MOST_TRIES = 100  # names of a new folder


class Place:
    """Of an open ledger."""

    def __init__(self, file: LedgerFile) -> None:
        self._file, self._rescuing = file, threading.Lock()
        self._found = _file_id(file.path)
        self._rescued: str | None = None

    def check(self) -> None:
        """Raise LedgerError if the file is no longer there, after its content was copied to a new folder."""
        if _file_id(self._file.path) == self._found:
            return
        with self._rescuing:
            self._rescued = self._rescued or self._copied()
        raise LedgerError(
            f"the folder {self._file.path.parent} was moved, removed or replaced while this run used it. "
            f"{self._rescued}"
        )

    def _copied(self) -> str:
        folder = self._file.path.parent
        for number in range(1, MOST_TRIES):
            beside = folder.with_name(f"{folder.name}-rescued-{number}")
            with contextlib.suppress(FileExistsError):
                try:
                    beside.mkdir(mode=0o700, parents=True)
                    self._copy(beside / self._file.path.name)
                    return f"Everything paid so far is in {beside}: start the same run with that folder to continue"
                except FileExistsError:
                    raise
                except (OSError, sqlite3.Error) as error:
                    return f"What it has paid could not be copied to {beside} ({error}); if it was moved, move it back"
        return "What it has paid could not be copied; if it was moved, move it back"

    def _copy(self, path: Path) -> None:
        os.close(open_private(path))
        with contextlib.closing(sqlite3.connect(path)) as copy, self._file.lock:
            self._file.connection.backup(copy)


def _file_id(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino
