"""Answers by key, from any run: the folder of `Problem(remember=)`, which fits of any table share.

A ledger belongs to one table and to one run at a time. The fits of a search have many tables, side by side. So a row is
not known by its number here, but by what it is:

    solve    the problem, the prediction, the known data of the row
    cost     the problem, the truth, the decision, the known data of the row

A problem is known by its functions and by the data that they read, as a ledger knows it (`ledger.identity.fingerprint`,
`ledger.identity.held_data`); another one finds nothing. Failures are not kept, and nothing of what is noisy. Each
answer has a checksum: a damaged one is paid again. Any number of processes may read and write. What was kept outlives a
killed process; of a power cut, SQLite promises that the file stays whole.
"""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import threading
from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np

from fewsolves._internal.platform import open_private
from fewsolves.errors import InputError, LedgerError
from fewsolves.execution.base import Failure
from fewsolves.ledger.decision import PackedDecision
from fewsolves.ledger.identity.fingerprint import NOT_CHECKED, data_digest, fingerprint
from fewsolves.ledger.identity.held_data import FORMAT, after_run, changed_items, uncompared_items
from fewsolves.ledger.keys import SIZE
from fewsolves.ledger.opening import ReadingOf, make_usable, recorded_items, warn_of
from fewsolves.ledger.sqlite.rows import PAID, Call, PendingCall, RecordedAnswer, checksum, columns_of, pack, value_of
from fewsolves.problem import Array, Problem

ANSWERS_FILE = "answers.sqlite"
APPLICATION, VERSION = 0x66734153, 1
WAIT = 60.0  # seconds for another process that writes
FEW = 500  # keys of one query
ANSWERS_SCHEMA = """
CREATE TABLE problems (id INTEGER PRIMARY KEY, functions TEXT NOT NULL, held TEXT NOT NULL);
CREATE TABLE answers (
    key BLOB PRIMARY KEY, seconds REAL, value REAL, dtype TEXT, shape TEXT, decision_key BLOB, decision BLOB,
    checksum BLOB NOT NULL
) WITHOUT ROWID;
"""
ANSWER_COLUMNS = ("key", "seconds", "value", "dtype", "shape", "decision_key", "decision")
TABLE_ALONE = {"Y", "instances"}  # parts of a fingerprint that describe a table, not its problem


class SharedAnswers:
    """Those of one problem, in one folder."""

    def __init__(self, problem: Problem) -> None:
        assert problem.remember is not None
        folder = Path(problem.remember)
        make_usable(folder)
        self.path, self._lock = folder / ANSWERS_FILE, threading.Lock()
        self._instances = problem.instances
        self._known_data: dict[int, bytes] = {}
        self._reading = ReadingOf(problem.with_instances(None), np.empty((0, 0)))
        try:
            os.close(open_private(self.path))
            self._file = sqlite3.connect(self.path, timeout=WAIT, isolation_level=None, check_same_thread=False)
            try:
                self._prepare()
                self._problem = self._enter(problem)
            except BaseException:
                self._file.close()
                raise
        except (sqlite3.Error, UnicodeDecodeError, OSError) as error:  # a damaged schema is no text
            raise self._unusable(error) from error

    def keys(self, rows: Array, y: Array, decisions: Sequence[PackedDecision] | None) -> list[bytes]:
        """Of solves at y (B, n_y), or of the costs of `decisions` where y is true."""
        parts = [pack(one) for one in y]
        if decisions is not None:
            parts = [part + z.key for part, z in zip(parts, decisions, strict=True)]
        start = f"{self._problem} {'solve' if decisions is None else 'cost'} {y.shape[1]} ".encode()
        known = map(self._of_row, rows.tolist())
        return [
            blake2b(start + part + of_row, digest_size=SIZE).digest() for part, of_row in zip(parts, known, strict=True)
        ]

    def find(self, kind: str, keys: Sequence[bytes]) -> dict[int, RecordedAnswer]:
        """The answers found, by position in `keys`."""
        found: dict[bytes, RecordedAnswer] = {}
        wanted = list(dict.fromkeys(keys))
        for first in range(0, len(wanted), FEW):
            few = wanted[first : first + FEW]
            sql = (
                f"SELECT {', '.join(ANSWER_COLUMNS)}, checksum FROM answers WHERE key IN ({', '.join('?' * len(few))})"
            )
            try:
                with self._lock:
                    rows = self._file.execute(sql, few).fetchall()
            except sqlite3.Error as error:
                raise self._unusable(error) from error
            for *columns, check in rows:
                with contextlib.suppress(ValueError):  # a damaged one
                    call = self._call(kind, dict(zip(ANSWER_COLUMNS, columns, strict=True)))
                    if checksum(call) == check:
                        found[call.key] = RecordedAnswer(
                            value_of(call), call.seconds, None, own=False, by_position=False
                        )
        return {k: found[key] for k, key in enumerate(keys) if key in found}

    def keep(self, kind: str, keys: Sequence[bytes], values: Sequence[Any], seconds: Sequence[float]) -> None:
        """Store answers as they arrive, except failures."""
        rows = []
        for key, value, spent in zip(keys, values, seconds, strict=True):
            if not isinstance(value, Failure):
                columns = columns_of(PendingCall(kind, "online", 0, 0, key), value)
                call = self._call(kind, {**columns, "key": key, "seconds": float(spent)})
                rows.append((*(getattr(call, name) for name in ANSWER_COLUMNS), checksum(call)))
        sql = f"INSERT OR REPLACE INTO answers ({', '.join(ANSWER_COLUMNS)}, checksum) VALUES ({', '.join('?' * 8)})"
        try:
            with self._lock, self._file:
                self._file.execute("BEGIN IMMEDIATE")
                self._file.executemany(sql, rows)
        except sqlite3.Error as error:
            raise self._unusable(error) from error

    def close(self) -> None:
        """Mark data that have changed meanwhile, so that later fits do not compare them, and close the file."""
        with contextlib.suppress(sqlite3.Error):  # then the next fit sees another problem, and pays
            recorded = self._recorded()
            updated = after_run(recorded, self._reading.held())
            if recorded and updated != recorded:
                self._file.execute("UPDATE problems SET held = ? WHERE id = ?", (_text_of(updated), self._problem))
        self._file.close()

    def _call(self, kind: str, columns: dict[str, Any]) -> Call:
        """An answer as a row of a ledger, whose checksum and reading it shares."""
        return Call(0, self._problem, kind, "online", 0, 0, status=PAID, **{"solve": None, **columns})

    def _of_row(self, row: int) -> bytes:
        """The digest of the known data of a row."""
        if self._instances is None:
            return b""
        if row not in self._known_data:
            digest = data_digest([self._instances[row]])
            if digest == NOT_CHECKED:
                raise InputError(
                    f"Problem(remember=) knows a row by its known data, and the instance of row {row} cannot be "
                    f"compared with others: it is, or holds, {type(self._instances[row]).__name__}. Give numbers, "
                    f"text, arrays, lists or dicts of these, or leave remember= out"
                )
            self._known_data[row] = digest.encode()
        return self._known_data[row]

    def _prepare(self) -> None:
        execute = self._file.execute
        execute("PRAGMA journal_mode = WAL")
        execute("PRAGMA synchronous = NORMAL")
        with self._file:
            execute("BEGIN IMMEDIATE")
            if execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0:
                for statement in ANSWERS_SCHEMA.split(";")[:-1]:
                    execute(statement)
                execute(f"PRAGMA application_id = {APPLICATION}")
                execute(f"PRAGMA user_version = {VERSION}")
            found = tuple(execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version"))
            if found != (APPLICATION, VERSION):
                raise sqlite3.DatabaseError("it is of another program, or of a newer version")

    def _enter(self, problem: Problem) -> int:
        """The number of the recorded problem with the same functions and data, or of a new record."""
        parts = fingerprint(problem.with_instances(None), np.empty((0, 0)))
        functions = json.dumps({name: value for name, value in parts.items() if name not in TABLE_ALONE})
        held = self._reading.held()
        with self._file:
            self._file.execute("BEGIN IMMEDIATE")
            known = self._file.execute("SELECT id, held FROM problems WHERE functions = ?", (functions,)).fetchall()
            for number, text in known:
                recorded = _items_of(text)
                if recorded is not None and not changed_items(recorded, held):
                    if not self._reading.stated:
                        warn_of(self.path, uncompared_items(recorded, held))
                    return int(number)
            values = functions, _text_of(held)
            return int(
                self._file.execute("INSERT INTO problems (functions, held) VALUES (?, ?)", values).lastrowid or 0
            )

    def _recorded(self) -> dict[str, str]:
        found = self._file.execute("SELECT held FROM problems WHERE id = ?", (self._problem,)).fetchone()
        return (_items_of(found[0]) or {}) if found else {}

    def _unusable(self, error: Exception) -> LedgerError:
        return LedgerError(
            f"{self.path} cannot be used to remember answers: {error}. Give another folder, or leave remember= out"
        )


def _text_of(items: dict[str, str]) -> str:
    return json.dumps({"": FORMAT, **items})


def _items_of(text: str) -> dict[str, str] | None:
    """The items on record; None if an older version wrote them, whose digests are made in another way."""
    items = recorded_items(text)
    return items if items.pop("", None) == FORMAT or not items else None
