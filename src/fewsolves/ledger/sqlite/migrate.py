"""Schema of the ledger file, and its versions: a file of an older version is brought to this one when it is opened.

    meta     name, value      the fingerprint and the shape of the table; the checksum of these three: `description`
    runs     id, identity, about (JSON), first (its first seq), began
    truths   row, key         key of the solve at the true y of each row: where regret is 0
    calls    `ledger.sqlite.rows.Call` and its checksum
    pairs    solve, cost, example: which calls make an evaluation
    charges, unanswered    see `ledger.sqlite.charges`
    starts   number, run, began, terms (JSON), ended, told (the last message): one row for each start of a run
    measured    see `ledger.sqlite.measured`

    version 1    0.1.0 up to commit e118d38
    version 2    the key of a decision covers its shape, and that of a cost call follows from it; "reused" was "known"
    version 3    what is charged before it begins
    version 4    when a call was recorded; starts
    version 5    one checksum over meta, truths and runs
    version 6    what a run has measured by a clock

The version is SQLite's `user_version`. A migration is one transaction: a crash leaves the old file or the new one. Rows
whose checksum fits are changed, damaged ones are left as they are; seq stays, and with it what checkpoints refer to.
"""

from __future__ import annotations

import contextlib
import functools
import sqlite3
from collections.abc import Callable, Mapping
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, get_args, get_type_hints

from fewsolves.ledger.keys import cost_key, shaped_key
from fewsolves.ledger.sqlite.rows import REUSED, Call, checksum

if TYPE_CHECKING:
    from fewsolves.ledger.sqlite.file import LedgerFile

APPLICATION = 0x66736F6C
_SQL_TYPES = {int: "INTEGER", float: "REAL", str: "TEXT", bytes: "BLOB"}


def _sql_type(hint: Any) -> str:
    return next(_SQL_TYPES[one] for one in (*get_args(hint), hint) if one in _SQL_TYPES)


CALL_COLUMNS = {name: _sql_type(hint) for name, hint in get_type_hints(Call).items()}


def columns_only(file: LedgerFile) -> None:
    """For a version with new columns and nothing else: `migrate` adds what `Call` has and the file has not."""


def _shapes_in_keys(file: LedgerFile) -> None:
    """From version 1 to 2.

    Where the shape of a costed decision is no longer known, the row keeps its old key, so that cost
    call is made again.
    """
    decisions = _Decisions(file)
    for call in file.calls("kind = 'cost' AND status != 'known'"):
        if call is None or type(call.row) is not int or call.row < 0:
            continue
        if (key := decisions.key_of_costed(call)) is not None:
            _update(file, call._replace(key=cost_key(key, call.row), decision_key=key))
    for call in file.calls("status = 'known'"):
        if call is not None:
            answered = file.fetch(call.of) if call.kind == "cost" and call.of is not None else None
            _update(file, call._replace(status=REUSED, key=call.key if answered is None else answered.key))


def _charges(file: LedgerFile) -> None:
    """From version 2 to 3: runs that are on file have begun what they recorded, as far as is known."""
    for table in CHARGES:
        file.connection.execute(table)


CHARGES = (
    "CREATE TABLE IF NOT EXISTS charges"
    " (run INTEGER, kind TEXT, number INTEGER, checksum BLOB, PRIMARY KEY (run, kind))",
    "CREATE TABLE IF NOT EXISTS unanswered (seq INTEGER, run INTEGER, kind TEXT, number INTEGER, checksum BLOB)",
)

STARTS = (
    "CREATE TABLE IF NOT EXISTS starts"
    " (number INTEGER PRIMARY KEY, run INTEGER, began REAL, terms TEXT, ended REAL, told TEXT)"
)


def _starts(file: LedgerFile) -> None:
    """From version 3 to 4: when earlier calls were recorded is not known."""
    file.connection.execute(STARTS)


CHECKSUM = "checksum"  # a name in the table meta
KEEP = "INSERT OR REPLACE INTO meta VALUES (?, ?)"
DESCRIPTION = (  # what a ledger says of its problem and its runs
    f"SELECT name, value FROM meta WHERE name != '{CHECKSUM}' ORDER BY name",
    "SELECT row, key FROM truths ORDER BY row",
    "SELECT id, identity, about, first, began FROM runs ORDER BY id",
)


def seal(connection: sqlite3.Connection) -> None:
    """Write the checksum of the description as it is."""
    tables = [connection.execute(sql).fetchall() for sql in DESCRIPTION]
    if any(tables):
        connection.execute(KEEP, (CHECKSUM, description_checksum(tables)))


def description_checksum(tables: list[list[tuple[Any, ...]]]) -> str:
    """Of the rows that `DESCRIPTION` gives."""
    return blake2b(repr(tables).encode("utf-8", "replace"), digest_size=8).hexdigest()


def _sealed(file: LedgerFile) -> None:
    """From version 4 to 5: what is there is taken for whole."""
    seal(file.connection)


MEASURED = (
    "CREATE TABLE IF NOT EXISTS measured (run INTEGER, name TEXT, value REAL, checksum BLOB, PRIMARY KEY (run, name))"
)


def _times(file: LedgerFile) -> None:
    """From version 5 to 6: what earlier starts went by was not written down."""
    file.connection.execute(MEASURED)


Migration = Callable[["LedgerFile"], None]
MIGRATIONS: Mapping[int, Migration] = {2: _shapes_in_keys, 3: _charges, 4: _starts, 5: _sealed, 6: _times}
"""By the version that they lead to."""

VERSION = max(MIGRATIONS)

SCHEMA = f"""
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT);
CREATE TABLE runs (id INTEGER PRIMARY KEY, identity TEXT, about TEXT, first INTEGER, began TEXT);
CREATE TABLE truths (row INTEGER PRIMARY KEY, key BLOB);
CREATE TABLE calls (
  {", ".join(f"{name} {kind}{' PRIMARY KEY' * (name == 'seq')}" for name, kind in CALL_COLUMNS.items())}, checksum BLOB
);
CREATE VIEW pairs AS
  SELECT s.seq AS solve, c.seq AS cost, c.row AS example FROM calls c JOIN calls s ON s.seq = c.solve
    WHERE c.kind = 'cost' AND c.status = 'ok'
  UNION
  SELECT s.seq, c.seq, s.row FROM calls s JOIN calls c
    ON c.kind = 'cost' AND c.status = 'ok' AND c.row = s.row AND c.decision_key = s.decision_key
    WHERE s.kind = 'solve' AND s.status = 'ok';
{"; ".join(CHARGES)};
{STARTS};
{MEASURED};
PRAGMA application_id = {APPLICATION};
PRAGMA user_version = {VERSION};
"""


def check_version(version: int) -> None:
    """Raise where no migration leads from this version to `VERSION`."""
    if version > VERSION:
        raise sqlite3.DatabaseError(
            f"it has format {version}, and this version of fewsolves reads up to {VERSION}: a newer one wrote it, "
            f"update fewsolves"
        )
    if version < 1:
        raise sqlite3.DatabaseError(f"it has format {version}, which no version of fewsolves writes")


def migrate(file: LedgerFile) -> None:
    """Bring the file to `VERSION`."""
    execute = file.connection.execute
    execute("BEGIN IMMEDIATE")
    try:
        there = {name for _, name, *_ in execute("PRAGMA table_info(calls)")}
        for name, kind in CALL_COLUMNS.items():
            if name not in there:
                execute(f"ALTER TABLE calls ADD COLUMN {name} {kind}")
        version = execute("PRAGMA user_version").fetchone()[0]
        for number in range(version + 1, VERSION + 1):
            MIGRATIONS[number](file)
        execute(f"PRAGMA user_version = {VERSION}")
        execute("COMMIT")
    except BaseException:
        with contextlib.suppress(sqlite3.Error):
            execute("ROLLBACK")
        raise


def _update(file: LedgerFile, call: Call) -> None:
    """Write the row, with its checksum."""
    changed = ", ".join(f"{name} = ?" for name in (*Call._fields[1:], "checksum"))
    try:
        file.connection.execute(f"UPDATE calls SET {changed} WHERE seq = ?", (*call[1:], checksum(call), call.seq))
    except sqlite3.DatabaseError as error:
        if getattr(error, "sqlite_errorcode", 0) & 0xFF != sqlite3.SQLITE_CORRUPT:  # of a neighbour: the row stays
            raise


class _Decisions:
    """Keys of decisions in version 2, of a file of version 1; those of flat decisions are as they were."""

    def __init__(self, file: LedgerFile) -> None:
        self.file = file
        self.all_flat = all(_flat(shape) for _, shape in file.scan("seq, shape") if shape is not None)
        self.new: dict[Any, set[bytes]] = {}  # by the old key, which decisions of several shapes may share
        if self.all_flat:
            return
        for call in file.calls("kind = 'solve' AND status = 'ok'"):
            if call is None or call.decision_key is None:
                continue
            key = call.decision_key if _flat(call.shape) else shaped_key(call.decision_key, str(call.shape))
            self.new.setdefault(call.decision_key, set()).add(key)
            if key != call.decision_key:
                _update(file, call._replace(decision_key=key))

    def key_of_costed(self, cost: Call) -> bytes | None:
        """Of the decision of a cost call; None where its shape is not known."""
        if self.all_flat and cost.decision_key is not None:
            return cost.decision_key
        seq = self.labels.get(cost.row) if cost.solve is None else cost.solve
        solve = None if seq is None else self.file.fetch(seq)
        if solve is not None and solve.decision is not None and _cost_key_1(solve.decision, cost.row) == cost.key:
            return solve.decision_key
        keys = self.new.get(cost.decision_key, set())
        return next(iter(keys)) if len(keys) == 1 else None

    @functools.cached_property
    def labels(self) -> dict[int, int]:
        """The solve at the truth of each row: what a cost call that names no solve is about."""
        truths: list[tuple[int, bytes]] = self.file.query("SELECT row, key FROM truths")
        solved = {key: seq for seq, key in self.file.scan("seq, key", "kind = 'solve' AND status = 'ok'")}
        return {row: solved[key] for row, key in truths if key in solved}


def _flat(shape: Any) -> bool:
    return isinstance(shape, str) and shape != "[]" and "," not in shape


def _cost_key_1(decision: bytes, row: int) -> bytes:
    """Key of a cost call in version 1."""
    return blake2b(decision + row.to_bytes(8, "little"), digest_size=16).digest()
