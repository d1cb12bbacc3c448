"""The file of a ledger: SQLite with a write-ahead log, synced at each commit; created, opened, scanned.

Its tables and their versions: `ledger.sqlite.migrate`. Damage to a page costs the rows on it, not the ledger: `scan`
goes on behind it.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from fewsolves._internal.platform import open_private
from fewsolves._internal.text import clean
from fewsolves.errors import LedgerError
from fewsolves.ledger.sqlite.migrate import APPLICATION, SCHEMA, VERSION, check_version, migrate
from fewsolves.ledger.sqlite.rows import Call, checksum, has_kinds

LEDGER_FILE = "ledger.sqlite"
BATCH_ROWS = 4096  # rows read at once
SMALLEST_ROW_BYTES = 56  # bytes of a row: its columns' types, kind, phase, status, key and checksum
PROBE_GROWTH = 1.1  # distance from one row that is tried to the next, as a factor
MAX_ROW_NUMBER = 2**60  # highest row number that a ledger can continue from
_COLUMNS = ", ".join((*Call._fields, "checksum"))
INSERT = f"INSERT INTO calls ({_COLUMNS}) VALUES ({', '.join('?' * (len(Call._fields) + 1))})"


class DamagedError(LedgerError, sqlite3.DatabaseError):
    """A page of the file cannot be read."""


def _refuse_special_files(path: Path) -> None:
    """Raise where SQLite would wait for a pipe for ever, or read a device."""
    for one in (path, *(path.with_name(f"{path.name}-{end}") for end in ("wal", "shm", "journal"))):
        if one.exists() and not one.is_file():
            raise OSError(f"{one.name} is no regular file")


class LedgerFile:
    """One connection, guarded by `lock`; for writing only where the folder is locked (`FolderLock`)."""

    def __init__(self, path: Path, *, write: bool) -> None:
        self.path, self.lock = path, threading.Lock()
        new = not path.exists()
        if new and not write:
            raise LedgerError(f"there is no ledger in {path.parent}: {path} is missing")
        try:
            _refuse_special_files(path)
            if write:
                os.close(open_private(path))
            mode = "rw" if write else "ro"
            uri = f"{path.absolute().as_uri()}?mode={mode}"
            self.connection = sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False)
            try:
                self._prepare(write)
            except BaseException:
                self.connection.close()
                raise
        except (sqlite3.Error, UnicodeDecodeError, OSError) as error:  # a damaged schema is no text
            raise self.unusable(error) from error

    def _prepare(self, write: bool) -> None:
        execute = self.connection.execute
        empty = execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0
        version, application = (execute(f"PRAGMA {name}").fetchone()[0] for name in ("user_version", "application_id"))
        if empty and not write:
            raise sqlite3.DatabaseError("nothing is in it yet")
        if not empty and application != APPLICATION:
            raise sqlite3.DatabaseError("it is a database of another program")
        if not empty:
            check_version(version)
        if write:
            if (mode := execute("PRAGMA journal_mode = WAL").fetchone()[0]) != "wal":
                raise sqlite3.DatabaseError(f"no write-ahead log here, SQLite offers {mode!r}")
            execute("PRAGMA synchronous = FULL")
            execute("PRAGMA wal_autocheckpoint = 4000")
        if empty:
            self.connection.executescript(f"BEGIN; {SCHEMA} COMMIT;")
        elif version < VERSION and write:
            migrate(self)
        elif version < VERSION:
            self._migrate_a_copy()

    def _migrate_a_copy(self) -> None:
        """Go on with a temporary copy, which SQLite removes: who only reads an older ledger leaves it as it is."""
        here, self.connection = self.connection, sqlite3.connect("", isolation_level=None, check_same_thread=False)
        try:
            here.backup(self.connection)
            migrate(self)
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode == sqlite3.SQLITE_FULL:
                message = (
                    "no room for a temporary copy, by which an older ledger is read: set SQLITE_TMPDIR to a folder"
                )
                raise sqlite3.OperationalError(message) from error
            raise
        finally:
            here.close()

    def unusable(self, error: Exception) -> LedgerError:
        """The error to raise when the file cannot be used."""
        return LedgerError(
            f"the ledger {self.path} cannot be used: {clean(str(error))}. Nothing was paid; give another folder"
        )

    def query(self, sql: str, *parameters: Any) -> list[tuple[Any, ...]]:
        try:
            with self.lock:
                return self.connection.execute(sql, parameters).fetchall()
        except (sqlite3.DatabaseError, UnicodeDecodeError, OverflowError) as error:
            raise DamagedError(
                f"the ledger {self.path} is damaged at the requested place ({clean(str(error))}). "
                f"`fewsolves ledger verify {self.path.parent}` shows what is intact"
            ) from error

    @contextlib.contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """A durable one, for the small tables; all of it or nothing."""
        with self.lock:
            self.connection.execute("BEGIN IMMEDIATE")
            try:
                yield self.connection
                self.connection.execute("COMMIT")
            except BaseException as error:
                with contextlib.suppress(sqlite3.Error):
                    self.connection.execute("ROLLBACK")
                if isinstance(error, OverflowError):  # one more than the largest number of SQLite
                    raise DamagedError(
                        f"the ledger {self.path} has a number that no run writes: it was changed, or is damaged. "
                        f"Give another folder"
                    ) from error
                raise

    def change(self, sql: str, rows: list[tuple[Any, ...]]) -> None:
        """One durable transaction."""
        with self.transaction() as connection:
            connection.executemany(sql, rows)

    def fetch(self, seq: int) -> Call | None:
        """A row, or None where it is missing or damaged."""
        try:
            found = self.query(f"SELECT {_COLUMNS} FROM calls WHERE seq = ?", seq)
        except sqlite3.DatabaseError:
            return None
        return checked(found[0]) if found else None

    def fetch_all(self, seqs: Sequence[int]) -> dict[int, Call]:
        """Those of the rows that are whole."""
        found: dict[int, Call] = {}
        for first in range(0, len(seqs), BATCH_ROWS):
            few = list(seqs[first : first + BATCH_ROWS])
            try:
                listed = ", ".join("?" * len(few))
                rows = self.query(f"SELECT {_COLUMNS} FROM calls WHERE seq IN ({listed})", *few)
                calls = [checked(row) for row in rows]
            except sqlite3.DatabaseError:
                calls = [self.fetch(seq) for seq in few]
            found |= {call.seq: call for call in calls if call is not None}
        return found

    def last(self) -> int:
        """The highest seq in use."""
        last = int(self.query("SELECT coalesce(max(seq), 0) FROM calls")[0][0])
        if last > MAX_ROW_NUMBER:
            raise LedgerError(
                f"the ledger {self.path} has a row with the number {last:,}, which no run writes: it was changed. "
                f"Nothing was paid; give another folder"
            )
        return last

    def scan(self, columns: str, where: str = "TRUE") -> Iterator[tuple[Any, ...]]:
        """`columns` (seq first) of all such rows in order; rows on damaged pages are left out.

        Numbers of rows are what the file says: there may be gaps of any size, so that behind damaged pages as many rows
        are looked for as the file can hold, and no more; none if no row can be read at all.
        """
        select, after, left = f"SELECT {columns} FROM calls WHERE ({where})", 0, -1
        while True:
            try:
                found = self.query(f"{select} AND seq > ? ORDER BY seq LIMIT {BATCH_ROWS}", after)
            except sqlite3.DatabaseError:
                if left < 0:
                    left = self.most_rows if self._any_row_is_readable() else 0
                tried = min(left, BATCH_ROWS)
                yield from self._between(select, after + 1, after + 1 + tried)
                after, left = after + tried, left - tried
                if left == 0:
                    return
                continue
            yield from found
            if len(found) < BATCH_ROWS:
                return
            after = found[-1][0]

    def _any_row_is_readable(self) -> bool:
        """Whether the page of one of the rows 1, 2, ..., 10, 11, 12, 14, ... can be read.

        If a page is damaged through which every row is reached, each query fails: then there is no point in trying as
        many as the file could hold, which takes minutes for a large one.
        """
        seq = 1.0
        while seq <= self.most_rows:
            try:
                self.query("SELECT seq FROM calls WHERE seq = ?", round(seq))
            except sqlite3.DatabaseError:
                seq = max(seq + 1, seq * PROBE_GROWTH)
            else:
                return True
        return False

    def _between(self, select: str, low: int, high: int) -> Iterator[tuple[Any, ...]]:
        """Rows with low <= seq < high; where a page is damaged, each half by itself, down to single rows."""
        if low >= high:
            return
        try:
            yield from self.query(f"{select} AND seq >= ? AND seq < ? ORDER BY seq", low, high)
        except sqlite3.DatabaseError:
            if high - low > 1:
                middle = (low + high) // 2
                yield from self._between(select, low, middle)
                yield from self._between(select, middle, high)

    @property
    def most_rows(self) -> int:
        """More than fit into the file and its log."""
        log = self.path.with_name(f"{self.path.name}-wal")
        return 1 + sum(path.stat().st_size for path in (self.path, log) if path.exists()) // SMALLEST_ROW_BYTES

    def calls(self, where: str = "TRUE") -> Iterator[Call | None]:
        """All such rows in order; None for one whose checksum does not fit. Those on damaged pages are left out."""
        for found in self.scan(_COLUMNS, where):
            yield checked(found)

    def close(self) -> None:
        self.connection.close()


def checked(found: tuple[Any, ...]) -> Call | None:
    """The row, or None where its checksum or the kind of a value does not fit."""
    call = Call(*found[:-1])
    return call if checksum(call) == found[-1] and has_kinds(call) else None
