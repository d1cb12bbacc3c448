"""The file of a ledger: SQLite with a write-ahead log, synced at each commit; created, opened, scanned.

    meta     name, value      the fingerprint and the shape of the table
    runs     id, identity, about (JSON), first (its first seq), began
    truths   row, key         content key of the solve at the true y of each row: where regret is 0
    calls    `ledger.rows.Call` and its checksum
    pairs    solve, cost, example: which calls make an evaluation

Damage to a page costs the rows on it, not the ledger: `scan` goes on behind it.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from fewsolves.errors import LedgerError
from fewsolves.ledger.fingerprint import FORMAT
from fewsolves.ledger.rows import BLOBS, Call, checksum

FILE = "ledger.sqlite"
APPLICATION = 0x66736F6C
BATCH = 4096  # rows read at once
_TYPES = dict.fromkeys(("key", "decision_key", *BLOBS), "BLOB") | dict.fromkeys(("seconds", "value"), "REAL")
_TYPES |= dict.fromkeys(("kind", "phase", "status", "message", "dtype", "shape"), "TEXT")
_COLUMNS = ", ".join(f"{name} {_TYPES.get(name, 'INTEGER')}" for name in Call._fields[1:])
SCHEMA = f"""
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT);
CREATE TABLE runs (id INTEGER PRIMARY KEY, identity TEXT, about TEXT, first INTEGER, began TEXT);
CREATE TABLE truths (row INTEGER PRIMARY KEY, key BLOB);
CREATE TABLE calls (seq INTEGER PRIMARY KEY, {_COLUMNS}, checksum BLOB);
CREATE VIEW pairs AS
  SELECT s.seq AS solve, c.seq AS cost, c.row AS example FROM calls c JOIN calls s ON s.seq = c.solve
    WHERE c.kind = 'cost' AND c.status = 'ok'
  UNION
  SELECT s.seq, c.seq, s.row FROM calls s JOIN calls c
    ON c.kind = 'cost' AND c.status = 'ok' AND c.row = s.row AND c.decision_key = s.decision_key
    WHERE s.kind = 'solve' AND s.status = 'ok';
PRAGMA application_id = {APPLICATION};
PRAGMA user_version = {FORMAT};
"""
INSERT = f"INSERT INTO calls VALUES ({', '.join('?' * (len(Call._fields) + 1))})"
_ALL = f"SELECT {', '.join(Call._fields)}, checksum FROM calls"


class LedgerFile:
    """One connection, guarded by `lock`; for writing only where the folder is locked (`FolderLock`)."""

    def __init__(self, path: Path, *, write: bool) -> None:
        self.path, self.lock = path, threading.Lock()
        new = not path.exists()
        if new and not write:
            raise LedgerError(f"there is no ledger in {path.parent}: {path} is missing")
        try:
            if write:
                os.close(os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600))
            mode = "rw" if write else "ro"
            uri = f"{path.absolute().as_uri()}?mode={mode}"
            self.connection = sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False)
            self._prepare(write)
        except (sqlite3.Error, OSError) as error:
            raise self.unusable(error) from error

    def _prepare(self, write: bool) -> None:
        execute = self.connection.execute
        empty = execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0
        version, application = (execute(f"PRAGMA {name}").fetchone()[0] for name in ("user_version", "application_id"))
        if not empty and application != APPLICATION:
            raise sqlite3.DatabaseError("it is a database of another program")
        if not empty and version != FORMAT:
            raise sqlite3.DatabaseError(f"it has format {version}, this version of fewsolves reads {FORMAT}")
        if empty and not write:
            raise sqlite3.DatabaseError("nothing is in it yet")
        if write:
            if (mode := execute("PRAGMA journal_mode = WAL").fetchone()[0]) != "wal":
                raise sqlite3.DatabaseError(f"no write-ahead log here, SQLite offers {mode!r}")
            execute("PRAGMA synchronous = FULL")
            execute("PRAGMA wal_autocheckpoint = 4000")
        if empty and write:
            self.connection.executescript(f"BEGIN; {SCHEMA} COMMIT;")

    def unusable(self, error: Exception) -> LedgerError:
        """What to tell where the file cannot be used."""
        return LedgerError(f"the ledger {self.path} cannot be used: {error}. Nothing was paid; give another folder")

    def query(self, sql: str, *parameters: Any) -> list[tuple[Any, ...]]:
        with self.lock:
            return self.connection.execute(sql, parameters).fetchall()

    def change(self, sql: str, rows: list[tuple[Any, ...]]) -> None:
        """One durable transaction, for the small tables."""
        with self.lock:
            self.connection.execute("BEGIN IMMEDIATE")
            self.connection.executemany(sql, rows)
            self.connection.execute("COMMIT")

    def fetch(self, seq: int) -> Call | None:
        """A row, or None where it is missing or damaged."""
        try:
            found = self.query(f"{_ALL} WHERE seq = ?", seq)
        except sqlite3.DatabaseError:
            return None
        return checked(found[0]) if found else None

    def fetch_all(self, seqs: Sequence[int]) -> dict[int, Call]:
        """Those of the rows that are whole."""
        found: dict[int, Call] = {}
        for first in range(0, len(seqs), BATCH):
            few = list(seqs[first : first + BATCH])
            try:
                rows = self.query(f"{_ALL} WHERE seq IN ({', '.join('?' * len(few))})", *few)
                calls = [checked(row) for row in rows]
            except sqlite3.DatabaseError:
                calls = [self.fetch(seq) for seq in few]
            found |= {call.seq: call for call in calls if call is not None}
        return found

    def last(self) -> int:
        """The highest seq in use."""
        return int(self.query("SELECT coalesce(max(seq), 0) FROM calls")[0][0])

    def scan(self, columns: str) -> Iterator[tuple[Any, ...]]:
        """`columns` (seq first) of all rows in order; rows on damaged pages are left out."""
        after, top = 0, self.last()
        while after < top:
            until = min(after + BATCH, top)
            try:
                yield from self.query(
                    f"SELECT {columns} FROM calls WHERE seq > ? AND seq <= ? ORDER BY seq", after, until
                )
            except sqlite3.DatabaseError:
                for seq in range(after + 1, until + 1):
                    with contextlib.suppress(sqlite3.DatabaseError):
                        yield from self.query(f"SELECT {columns} FROM calls WHERE seq = ?", seq)
            after = until

    def calls(self) -> Iterator[Call | None]:
        """All rows in order; None for one whose checksum does not fit. Those on damaged pages are left out."""
        for found in self.scan(", ".join((*Call._fields, "checksum"))):
            yield checked(found)

    def close(self) -> None:
        self.connection.close()


def checked(found: tuple[Any, ...]) -> Call | None:
    """The row, or None where its checksum does not fit."""
    call = Call(*found[:-1])
    return call if checksum(call) == found[-1] else None
