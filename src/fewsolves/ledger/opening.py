"""Checks on opening a ledger: the folder is fit for it, the fingerprint is the problem's, the run has a number."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fewsolves.errors import LedgerError
from fewsolves.ledger.file import LedgerFile
from fewsolves.ledger.fingerprint import differences
from fewsolves.ledger.lock import network_file_system


def make_usable(folder: Path) -> None:
    """Make the folder; raise where it cannot hold a ledger."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise LedgerError(f"{folder} cannot be used as a folder: {error.strerror}; give another one") from error
    if kind := network_file_system(folder):
        raise LedgerError(
            f"{folder} is on a network file system ({kind}), where SQLite's log is not safe; give one on a local disk"
        )


def check_belongs(
    file: LedgerFile, given: Mapping[str, str], truths: Sequence[bytes], n_y: int, *, adopt: bool
) -> None:
    """Refuse the ledger of another problem; write the fingerprint of a new one, or of one that is adopted."""
    meta = dict(file.query("SELECT name, value FROM meta"))
    shape = {"n_y": str(n_y), "rows": str(len(truths))}
    changed = differences(meta, {**given, **shape})
    if changed and not (adopt and shape.items() <= meta.items()):
        raise LedgerError(
            f"{file.path} is the ledger of another problem: {', '.join(changed)} changed. Give another folder, or "
            f"adopt=True (--adopt) if its answers still hold"
        )
    if not meta or changed:
        file.change("INSERT OR REPLACE INTO truths VALUES (?, ?)", list(enumerate(truths)))
        file.change("INSERT OR REPLACE INTO meta VALUES (?, ?)", list({**given, **shape}.items()))


def enter(file: LedgerFile, identity: str, about: Mapping[str, Any]) -> tuple[int, int]:
    """Number and first row of this run, the same each time it is started."""
    known = file.query("SELECT id, first FROM runs WHERE identity = ?", identity)
    if not known:
        number = 1 + file.query("SELECT coalesce(max(id), 0) FROM runs")[0][0]
        known = [(number, file.last() + 1)]
        began = time.strftime("%Y-%m-%d %H:%M:%S %z")
        new = number, identity, json.dumps(about, default=repr), known[0][1], began
        file.change("INSERT INTO runs VALUES (?, ?, ?, ?, ?)", [new])
    return known[0][0], known[0][1]
