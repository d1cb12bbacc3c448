"""The description of a ledger's problem and runs: the tables meta, truths and runs, under one checksum.

Calls have a checksum each. These few rows are read together and mean nothing by themselves: if one of them is damaged,
an answer could be taken for that of another problem, row or run. So they are valid together, or not at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from fewsolves.ledger.sqlite.file import DamagedError, LedgerFile
from fewsolves.ledger.sqlite.migrate import CHECKSUM, DESCRIPTION, description_checksum, seal

HOW_TO_ADOPT = "DecisionRegressor(adopt=True), Plan(adopt=True), or `fewsolves train --adopt`"


class Description(NamedTuple):
    """Of a new ledger, both are empty."""

    meta: dict[str, str]
    truths: dict[int, bytes]  # key of the solve at the true y of each row


def read_description(file: LedgerFile) -> Description:
    """The description in the ledger; DamagedError if it is not what was written."""
    tables = [file.query(sql) for sql in DESCRIPTION]
    sums = file.query("SELECT value FROM meta WHERE name = ?", CHECKSUM)
    if sums != [(description_checksum(tables),)] and (sums or any(tables) or file.last()):
        raise DamagedError(
            f"the ledger {file.path} is damaged where it says what problem and what runs it belongs to. Its answers "
            f"have checksums of their own: adopt it to reuse the intact ones ({HOW_TO_ADOPT}), or give another folder"
        )
    return Description(dict(tables[0]), dict(tables[1]))


def write_description(file: LedgerFile, *changes: tuple[str, Sequence[tuple[Any, ...]]], replace: bool = False) -> None:
    """Change rows of these tables and their checksum in one transaction; `replace` deletes the old description."""
    with file.transaction() as connection:
        if replace:
            connection.execute("DELETE FROM meta")
            connection.execute("DELETE FROM truths")
        for sql, rows in changes:
            connection.executemany(sql, rows)
        seal(connection)
