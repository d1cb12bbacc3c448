"""What a ledger says of its problem and its runs: the tables meta, truths and runs, under one checksum.

Calls have a checksum each. These few rows are read together and mean nothing by themselves: where one of them is
damaged, an answer would be taken for that of another problem, row or run. So all of them count, or none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from fewsolves.ledger.sqlite.file import DamagedError, LedgerFile
from fewsolves.ledger.sqlite.migrate import CHECKSUM, DESCRIPTION, description_checksum, seal


class Description(NamedTuple):
    """Of a new ledger all is empty."""

    meta: dict[str, str]
    truths: dict[int, bytes]  # key of the solve at the true y of each row


def read_description(file: LedgerFile) -> Description:
    """What the ledger says; DamagedError where that is not what was written."""
    told = [file.query(sql) for sql in DESCRIPTION]
    sums = file.query("SELECT value FROM meta WHERE name = ?", CHECKSUM)
    if sums != [(description_checksum(told),)] and (sums or any(told) or file.last()):
        raise DamagedError(
            f"the ledger {file.path} is damaged where it says what problem and what runs it belongs to. Its answers "
            f"have checksums of their own: adopt=True (--adopt) goes on with the whole ones; or give another folder"
        )
    return Description(dict(told[0]), dict(told[1]))


def write_description(file: LedgerFile, *changes: tuple[str, Sequence[tuple[Any, ...]]], anew: bool = False) -> None:
    """Change rows of these tables, with the checksum, at once; `anew`: in place of what it said of its problem."""
    with file.transaction() as connection:
        if anew:
            connection.execute("DELETE FROM meta")
            connection.execute("DELETE FROM truths")
        for sql, rows in changes:
            connection.executemany(sql, rows)
        seal(connection)
