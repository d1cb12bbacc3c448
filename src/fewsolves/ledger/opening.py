"""Checks on opening a ledger: the folder can hold it, the fingerprint matches the problem, the run gets a number."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from fewsolves._internal.text import clean
from fewsolves.errors import LedgerError
from fewsolves.ledger.folder_lock import network_file_system
from fewsolves.ledger.identity.fingerprint import FINGERPRINTED_FUNCTIONS, differences, fingerprint, former_digests
from fewsolves.ledger.identity.held_data import CHANGES, changed_items, held_data
from fewsolves.ledger.sqlite.description import HOW_TO_ADOPT, read_description, write_description
from fewsolves.ledger.sqlite.file import DamagedError, LedgerFile
from fewsolves.ledger.sqlite.migrate import KEEP
from fewsolves.problem import Array, Problem

HELD = "held data"  # a name in the table meta
IMPORTED = "imported"  # identity of the run that holds imported calls


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
    """Fingerprint of a problem; the base class has none."""

    def former_digests(self) -> Mapping[str, str]:
        """Digests of its functions as an older ledger may have them."""
        return {}

    def held(self) -> dict[str, str]:
        """The data that its functions read: see `ledger.identity.held_data`."""
        return {}

    def first_rows(self, n: int) -> Mapping[str, str]:
        """The parts of its fingerprint that describe its table, over the first n rows."""
        return {}


class ReadingOf(ProblemReading):
    """Fingerprint of a given problem over the table Y."""

    def __init__(self, problem: Problem, Y: Array) -> None:
        self.problem, self.Y = problem, Y

    def former_digests(self) -> Mapping[str, str]:
        return former_digests(self.problem)

    def first_rows(self, n: int) -> Mapping[str, str]:
        known = self.problem.instances
        parts = fingerprint(self.problem.with_instances(None if known is None else known[:n]), self.Y[:n])
        return {name: parts[name] for name in ("Y", "instances")}

    def held(self) -> dict[str, str]:
        return held_data({name: getattr(self.problem, name) for name in (*FINGERPRINTED_FUNCTIONS, "encode")})


def check_belongs(
    file: LedgerFile,
    given: Mapping[str, str],
    truths: Sequence[bytes],
    n_y: int,
    *,
    adopt: bool,
    reading: ProblemReading,
) -> None:
    """Refuse the ledger of another problem; write the fingerprint of a new ledger, of an adopted one, or of a table
    that has grown at its end."""
    meta, damaged = _known(file, adopt=adopt)
    shape = {"n_y": str(n_y), "rows": str(len(truths))}
    held, recorded = reading.held(), recorded_items(meta.pop(HELD, None))
    given = {name: value for name, value in given.items() if name != HELD}
    changed = differences(meta, {**given, **shape})
    if changed:
        former = reading.former_digests()
        changed = [name for name in changed if meta.get(name) != former.get(name)]
    n = int(meta.get("rows", 0))
    grown = 0 < n < len(truths) and not differences(meta, reading.first_rows(n) or {"Y": ""})
    if grown:
        changed = [name for name in changed if name not in ("rows", "Y", "instances")]
    if given.get("version", "None") == "None":
        changed += [item for item in changed_items(recorded, held) if item.partition(":")[0] not in changed]
    fits = shape["n_y"] == meta.get("n_y") and len(truths) >= n  # row by row
    if changed and not (adopt and fits):
        why = f"{file.path} is the ledger of another problem: {', '.join(map(clean, changed[:20]))} changed. "
        if "rows" in changed:
            why += "(New rows of a table that has grown come after the old ones, which stay as they are.) "
        instead = f", or adopt it if its answers still hold, row by row ({HOW_TO_ADOPT})" if fits else ""
        raise LedgerError(
            f"{why}Give another folder{instead}. (With Problem(version=), the data that the functions read "
            f"are not compared)"
        )
    changed += ["rows"] * grown
    new: list[tuple[str, list[tuple[Any, ...]]]] = []
    if not meta or changed:
        new.append(("INSERT OR REPLACE INTO truths VALUES (?, ?)", list(enumerate(truths))))
        new.append((KEEP, list({**given, **shape}.items())))
    if held:
        kept = held | {item: CHANGES for item, value in recorded.items() if value == CHANGES and item in held}
        new.append((KEEP, [(HELD, json.dumps(kept))]))
        new.append(("INSERT OR IGNORE INTO meta VALUES (?, ?)", list(given.items())))  # what older ledgers lack
    if new:
        write_description(file, *new, replace=damaged)


def _known(file: LedgerFile, *, adopt: bool) -> tuple[dict[str, str], bool]:
    """The ledger's description of its problem, and whether it is damaged; DamagedError unless `adopt`."""
    try:
        return read_description(file).meta, False
    except DamagedError:
        if not adopt:
            raise
        return {}, True


def recorded_items(text: Any) -> dict[str, str]:
    """The items of held data that a ledger has; none where they are damaged."""
    with contextlib.suppress(ValueError, TypeError, RecursionError):
        items = json.loads(text)
        if isinstance(items, dict) and all(isinstance(value, str) for value in items.values()):
            return items
    return {}


def keep_items(file: LedgerFile, items: Mapping[str, str]) -> None:
    """Write the items of held data."""
    write_description(file, (KEEP, [(HELD, json.dumps(items))]))


def note_start(file: LedgerFile, run: int, terms: Mapping[str, Any]) -> int:
    """Record a start of this run with its terms, for `fewsolves watch`, and return its number."""
    number = 1 + file.query("SELECT coalesce(max(number), 0) FROM starts")[0][0]
    start = number, run, now(), json.dumps(terms, default=repr)
    file.change("INSERT INTO starts (number, run, began, terms) VALUES (?, ?, ?, ?)", [start])
    return int(number)


def note_end(file: LedgerFile, number: int, message: str) -> None:
    """Record the end of that start, with its last message."""
    file.change("UPDATE starts SET ended = ?, told = ? WHERE number = ?", [(now(), message, number)])


def now() -> float:
    """Seconds since 1970, for people; durations within a run come from monotonic clocks."""
    return datetime.now(UTC).timestamp()


def enter(file: LedgerFile, identity: str, about: Mapping[str, Any]) -> tuple[int, int]:
    """Number and first row of this run, the same each time it is started."""
    known = file.query("SELECT id, first FROM runs WHERE identity = ?", identity)
    if not known:
        number = 1 + file.query("SELECT coalesce(max(id), 0) FROM runs")[0][0]
        known = [(number, file.last() + 1)]
        began = time.strftime("%Y-%m-%d %H:%M:%S %z")
        new = number, identity, json.dumps(about, default=repr), known[0][1], began
        write_description(file, ("INSERT INTO runs VALUES (?, ?, ?, ?, ?)", [new]))
    return known[0][0], known[0][1]
