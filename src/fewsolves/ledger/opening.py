"""Checks on opening a ledger: the folder is fit for it, the fingerprint is the problem's, the run has a number."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from fewsolves.errors import LedgerError
from fewsolves.ledger.file import LedgerFile
from fewsolves.ledger.fingerprint import FUNCTIONS, differences, former_digests
from fewsolves.ledger.held_data import CHANGES, changed_items, held_data
from fewsolves.ledger.lock import network_file_system
from fewsolves.problem import Problem
from fewsolves.text import clean

HELD = "held data"  # a name in the table meta


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


class ProblemReading:
    """What can be told of a problem when a ledger is opened; that of none tells nothing."""

    def former_digests(self) -> Mapping[str, str]:
        """Digests of its functions as an older ledger may have them."""
        return {}

    def held(self) -> dict[str, str]:
        """The data that its functions read: see `ledger.held_data`."""
        return {}


class ReadingOf(ProblemReading):
    """That of a problem."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem

    def former_digests(self) -> Mapping[str, str]:
        return former_digests(self.problem)

    def held(self) -> dict[str, str]:
        return held_data({name: getattr(self.problem, name) for name in (*FUNCTIONS, "encode")})


def check_belongs(
    file: LedgerFile,
    given: Mapping[str, str],
    truths: Sequence[bytes],
    n_y: int,
    *,
    adopt: bool,
    reading: ProblemReading,
) -> None:
    """Refuse the ledger of another problem; write the fingerprint of a new one, or of one that is adopted."""
    meta = dict(file.query("SELECT name, value FROM meta"))
    shape = {"n_y": str(n_y), "rows": str(len(truths))}
    held, recorded = reading.held(), recorded_items(meta.pop(HELD, None))
    given = {name: value for name, value in given.items() if name != HELD}
    changed = differences(meta, {**given, **shape})
    if changed:
        former = reading.former_digests()
        changed = [name for name in changed if meta.get(name) != former.get(name)]
    if given.get("version", "None") == "None":
        changed += [item for item in changed_items(recorded, held) if item.partition(":")[0] not in changed]
    if changed and not (adopt and shape.items() <= meta.items()):
        raise LedgerError(
            f"{file.path} is the ledger of another problem: {', '.join(map(clean, changed[:20]))} changed. Give "
            f"another folder, or adopt=True (--adopt) if its answers still hold. (Data that change and do not matter "
            f"are not compared where Problem(version=) says what the problem is)"
        )
    if not meta or changed:
        file.change("INSERT OR REPLACE INTO truths VALUES (?, ?)", list(enumerate(truths)))
        file.change("INSERT OR REPLACE INTO meta VALUES (?, ?)", list({**given, **shape}.items()))
    if held:
        keep_items(
            file, held | {item: CHANGES for item, value in recorded.items() if value == CHANGES and item in held}
        )
        file.change("INSERT OR IGNORE INTO meta VALUES (?, ?)", list(given.items()))  # parts that older ledgers lack


def recorded_items(text: Any) -> dict[str, str]:
    """The items of held data that a ledger has; none where they are damaged."""
    with contextlib.suppress(ValueError, TypeError, RecursionError):
        items = json.loads(text)
        if isinstance(items, dict) and all(isinstance(value, str) for value in items.values()):
            return items
    return {}


def keep_items(file: LedgerFile, items: Mapping[str, str]) -> None:
    """Write the items of held data."""
    file.change("INSERT OR REPLACE INTO meta VALUES (?, ?)", [(HELD, json.dumps(items))])


def note_start(file: LedgerFile, run: int, terms: Mapping[str, Any]) -> int:
    """The number of a start of this run, under terms that who follows it wants to know."""
    number = 1 + file.query("SELECT coalesce(max(number), 0) FROM starts")[0][0]
    start = number, run, now(), json.dumps(terms, default=repr)
    file.change("INSERT INTO starts (number, run, began, terms) VALUES (?, ?, ?, ?)", [start])
    return int(number)


def note_end(file: LedgerFile, number: int, told: str) -> None:
    """That start has ended, with these words."""
    file.change("UPDATE starts SET ended = ?, told = ? WHERE number = ?", [(now(), told, number)])


def now() -> float:
    """Seconds since 1970, for people: durations within a run are measured by clocks that nobody sets."""
    return datetime.now(UTC).timestamp()


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
