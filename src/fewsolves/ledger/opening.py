"""Checks on opening a ledger: the folder can hold it, the fingerprint matches the problem, the run gets a number."""

from __future__ import annotations

import contextlib
import json
import time
import warnings
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from fewsolves._internal.files import check_name
from fewsolves._internal.text import clean
from fewsolves.errors import FewsolvesWarning, InputError, LedgerError
from fewsolves.ledger.folder_lock import network_file_system
from fewsolves.ledger.identity.fingerprint import (
    FINGERPRINTED_FUNCTIONS,
    NOT_CHECKED,
    data_digest,
    differences,
    fingerprint,
    former_digests,
)
from fewsolves.ledger.identity.held_data import (
    DEPENDS_ON,
    FORMAT,
    NOT_FOLLOWED,
    changed_items,
    held_data,
    on_opening,
    uncompared_items,
)
from fewsolves.ledger.row_order import moved_row
from fewsolves.ledger.sqlite.description import HOW_TO_ADOPT, Description, read_description, write_description
from fewsolves.ledger.sqlite.file import DamagedError, LedgerFile
from fewsolves.ledger.sqlite.migrate import KEEP
from fewsolves.problem import Array, Problem

HELD, FORMER_HELD = (
    f"held data {FORMAT}",
    ("held data", "held data 2", "held data 3"),
)  # names in the table meta: now, and before
SHOWN = 20  # items in a message
LONGEST_NAME = 300  # characters of the name of a folder in a message
IMPORTED = "imported"  # identity of the run that holds imported calls


def make_usable(folder: Path) -> None:
    """Make the folder; raise where it cannot hold a ledger."""
    try:
        check_name(folder)
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        named = clean(str(folder), LONGEST_NAME)
        raise LedgerError(f"{named} cannot be used as a folder: {error.strerror}; give another one") from error
    if kind := network_file_system(folder):
        raise LedgerError(
            f"{folder} is on a network file system ({kind}), where SQLite's log is not safe; give one on a local disk"
        )


class ProblemReading:
    """Fingerprint of a problem; the base class has none."""

    def former_digests(self) -> Mapping[str, str]:
        """Digests of its functions as an older ledger may have them."""
        return {}

    def held(self, rows: int | None = None) -> dict[str, str]:
        """The data that its functions read, over the first rows or all: see `ledger.identity.held_data`."""
        return {}

    def first_rows(self, n: int) -> Mapping[str, str]:
        """The parts of its fingerprint that describe its table, over the first n rows."""
        return {}

    def moved(self, recorded: Mapping[int, bytes]) -> tuple[int, int] | None:
        """A row of a ledger with its place in this table, if the rows are in another order."""
        return None

    @property
    def stated(self) -> bool:
        """Whether the user says what the functions depend on besides what can be read."""
        return False


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

    def moved(self, recorded: Mapping[int, bytes]) -> tuple[int, int] | None:
        return moved_row(recorded, self.Y, own=self.problem.instances is not None)

    def held(self, rows: int | None = None) -> dict[str, str]:
        functions = {name: getattr(self.problem, name) for name in (*FINGERPRINTED_FUNCTIONS, "encode")}
        known = self.problem.instances
        digested = known is None or data_digest(known) != NOT_CHECKED  # in the fingerprint
        items = held_data(
            {} if self.problem.version is not None else functions,
            self.problem.depends_on or (),
            () if digested or known is None else known[:rows],
        )
        unusable = [item for item, value in items.items() if item.startswith(DEPENDS_ON) and value == NOT_FOLLOWED]
        if unusable:
            raise InputError(
                f"Problem(depends_on=): {unusable[0]} cannot be compared from one start to the next; give its path, "
                f"or numbers, text and arrays of it"
            )
        return items

    @property
    def stated(self) -> bool:
        return self.problem.version is not None or self.problem.depends_on is not None


class _Held(NamedTuple):
    """Digests of the data that the functions read."""

    now: dict[str, str]
    recorded: dict[str, str]
    outdated: bool  # whether an older version has recorded others

    @classmethod
    def taken_from(cls, meta: dict[str, str], reading: ProblemReading) -> _Held:
        """The recorded ones leave the description, which is compared by itself."""
        outdated = [meta.pop(name) for name in FORMER_HELD if name in meta]
        return cls(reading.held(), recorded_items(meta.pop(HELD, None)), bool(outdated))

    def changed(self) -> list[str]:
        return changed_items(self.recorded, self.now) if self.now and self.recorded else []

    def uncompared(self) -> tuple[Sequence[str], str]:
        """Items that could not be compared, and the reason."""
        if self.recorded:
            return uncompared_items(self.recorded, self.now), "they cannot be inspected, or they change by themselves"
        return list(self.now), "an older version has recorded no digests of these that this one can use"


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
    (meta, known), damaged = _known(file, adopt=adopt)
    described = {**given, "n_y": str(n_y), "rows": str(len(truths))}
    held = _Held.taken_from(meta, reading)
    n = _number_of_rows(file, meta)
    grown = 0 < n < len(truths) and _has_grown(meta, reading, n)
    compared = held._replace(now=reading.held(n)) if grown else held
    changed = _changed(meta, described, reading, compared, grown=grown)
    as_wide = described["n_y"] == meta.get("n_y")
    fits = as_wide and len(truths) >= n  # row by row
    if as_wide and "Y" in changed:
        _refuse_reordered(file.path, reading.moved(known))
    if changed and not (adopt and fits):
        raise LedgerError(_refusal(file.path, changed, fits=fits))
    new = _statements(meta, given, described, truths, held, another=bool(changed or grown))
    if new:
        write_description(file, *new, replace=damaged)
    if meta and not adopt and file.last() and not reading.stated:
        warn_of(file.path, *compared.uncompared())


_REORDERED = (
    "{path} has rows of this table in another order: its row {row} is row {place} of Y. A ledger knows rows by their "
    "number; give the rows in the order of the ledger, with new ones at the end, or give another folder"
)


def _has_grown(meta: Mapping[str, str], reading: ProblemReading, n: int) -> bool:
    """Whether the first n rows of the table are those of the ledger."""
    return not differences(meta, reading.first_rows(n) or {"Y": ""})


def _refuse_reordered(path: Path, moved: tuple[int, int] | None) -> None:
    if moved:
        raise LedgerError(_REORDERED.format(path=path, row=moved[0], place=moved[1]))


def _number_of_rows(file: LedgerFile, meta: Mapping[str, str]) -> int:
    """Of the table that the ledger belongs to; 0 in a new one."""
    try:
        return int(meta.get("rows", 0))
    except (ValueError, TypeError) as error:
        raise DamagedError(
            f"the ledger {file.path} does not say how many rows its table has; give another folder"
        ) from error


def _changed(
    meta: Mapping[str, str], described: Mapping[str, str], reading: ProblemReading, held: _Held, *, grown: bool
) -> list[str]:
    """Parts of the description that differ from the record, but for digests of former versions and for new rows."""
    changed = differences(meta, described)
    if changed:
        former = reading.former_digests()
        changed = [name for name in changed if meta.get(name) != former.get(name)]
    if grown:
        changed = [name for name in changed if name not in ("rows", "Y", "instances")]
    return changed + [item for item in held.changed() if item.partition(":")[0] not in changed]


def _refusal(path: Path, changed: Sequence[str], *, fits: bool) -> str:
    why = f"{path} is the ledger of another problem: {', '.join(map(clean, changed[:SHOWN]))} changed. "
    if "rows" in changed:
        why += "(New rows of a table that has grown come after the old ones, which stay as they are.) "
    instead = f", or adopt it if its answers still hold, row by row ({HOW_TO_ADOPT})" if fits else ""
    stated = "(With Problem(version=), the data that the functions read are not compared)"
    return f"{why}Give another folder{instead}. {stated}"


def _statements(
    meta: Mapping[str, str],
    given: Mapping[str, str],
    described: Mapping[str, str],
    truths: Sequence[bytes],
    held: _Held,
    *,
    another: bool,
) -> list[tuple[str, list[tuple[Any, ...]]]]:
    """The statements that bring the description up to date; `another`: it is that of another problem or table."""
    new: list[tuple[str, list[tuple[Any, ...]]]] = []
    if not meta or another:
        new.append(("INSERT OR REPLACE INTO truths VALUES (?, ?)", list(enumerate(truths))))
        new.append((KEEP, list(described.items())))
    kept = held.now if another else on_opening(held.recorded, held.now)
    if held.now and (kept != held.recorded or held.outdated or not given.keys() <= meta.keys()):
        new.append((KEEP, [(HELD, json.dumps(kept))]))
        new.append(("DELETE FROM meta WHERE name = ?", [(name,) for name in FORMER_HELD]))
        new.append(("INSERT OR IGNORE INTO meta VALUES (?, ?)", list(given.items())))  # what older ledgers lack
    return new


def warn_of(
    path: Path, items: Sequence[str], why: str = "they cannot be inspected, or they change by themselves"
) -> None:
    """Name what the functions read and what could not be compared with the record."""
    if items:
        shown = ", ".join(map(clean, items[:SHOWN])) + (f" and {len(items) - SHOWN} more" * (len(items) > SHOWN))
        warnings.warn(
            f"{path} is used again, but not everything that the functions of the problem read was compared: {shown} "
            f"({why}). If one of these has changed, give another folder. Problem(depends_on=[...]), with paths of "
            f"files or with values, or Problem(version=) states what the answers depend on, and ends this warning",
            FewsolvesWarning,
            stacklevel=7,
        )


def _known(file: LedgerFile, *, adopt: bool) -> tuple[Description, bool]:
    """The ledger's description of its problem, and whether it is damaged; DamagedError unless `adopt`."""
    try:
        return read_description(file), False
    except DamagedError:
        if not adopt:
            raise
        return Description({}, {}), True


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
    number, first = known[0]
    if type(first) is not int:  # a damaged description that was adopted
        first = file.last() + 1
    return number, first
