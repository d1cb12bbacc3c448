"""Digests of the data that a problem's functions read and do not say, and their comparison with those on record.

    item    a path to what is read ("solve: Plant.limit", "cost: PRICES['a']") and a digest of all that it holds

Items have items for their parts, a few levels deep. If a part moves in the course of a run (a cache), it and what it
belongs to are marked with the digests that have been seen (`CHANGES`), and the other parts are still compared. What
the functions assign themselves (`ASSIGNED`) and what cannot be looked into (`NOT_FOLLOWED`) is listed. The known data
of rows (`instances`) have one item over all rows for each of their parts ("instances.limit").
"""

from __future__ import annotations

import errno
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np

from fewsolves.ledger.identity.objects import is_code, is_library
from fewsolves.ledger.identity.reads import Reach, read_by
from fewsolves.ledger.identity.scope import Assigned, Listed
from fewsolves.ledger.identity.state import EXACT, state_of

NOT_FOLLOWED, CHANGES, ASSIGNED = "not followed", "changes by itself", "the functions assign it"
FORMAT = "4"  # of the digests: those of another format are not compared
DEPENDS_ON, INSTANCES = "depends_on", "instances"
MAX_DEPTH, MAX_VALUES, MAX_ITEMS = 40, 1_000_000, 1_000  # levels, values that are looked at, items
PARTS_DEPTH, MAX_PARTS, MAX_PART_ITEMS = 4, 100, 2_000  # of items that have items for their parts
KEPT = 4  # digests of an item that moves


def held_data(
    functions: Mapping[str, Any], depends_on: Sequence[Any] = (), instances: Sequence[Any] = ()
) -> dict[str, str]:
    """The items of all these functions, and of these known data of rows, in order of their paths."""
    called, before = set[str](), -1
    while before < len(called):  # who calls a method may be found after what the method assigns
        before = len(called)
        items = _items(functions, called)
    for k, value in enumerate(depends_on):
        reader = _Reader(Reach(called))
        reader.item(f"{DEPENDS_ON}[{k}]", Path(value) if _names_a_file(value) else value)
        items |= reader.items
    return dict(sorted((items | _columns(instances, Reach(called))).items()))


def digest_of_object(name: str, value: Any) -> tuple[str, tuple[str, ...]]:
    """One digest of all that an object holds and that its methods read, and the paths that cannot be looked into."""
    called, before, items = set[str](), -1, dict[str, str]()
    while before < len(called):
        before = len(called)
        reader = _Reader(Reach(called, every=True))
        reader.item(name, value)
        items = reader.items
    return items[name], tuple(sorted(path for path, digest in items.items() if digest == NOT_FOLLOWED))


def _names_a_file(value: Any) -> bool:
    """Whether a value is the text of a path at which there is something."""
    try:
        return isinstance(value, str) and Path(value).exists()
    except (OSError, ValueError):  # too long for a name
        return False


def _items(functions: Mapping[str, Any], called: set[str]) -> dict[str, str]:
    """With what is known of the names that the functions use; more are added."""
    items: dict[str, str] = {}
    for name, function in functions.items():
        if function is not None:
            reader = _Reader(Reach(called))
            for path, value in read_by(function, Reach(called)):
                reader.item(f"{name}: {path}", value)
            items |= reader.items
    return items


def _columns(instances: Sequence[Any], reach: Reach) -> dict[str, str]:
    """One digest over all rows for each part of their known data; what cannot be looked into is listed once."""
    reader, digests, assigned = _Reader(reach), dict[str, Any](), set[str]()
    for row, value in enumerate(instances):
        for name, found, is_assigned in reader.columns(INSTANCES, value):
            digest = digests.setdefault(INSTANCES + name, blake2b(digest_size=12))
            digest.update(f"{row}={found};".encode("utf-8", "surrogatepass"))
            if is_assigned:
                assigned.add(INSTANCES + name)
    items = {path: digest.hexdigest() for path, digest in digests.items()}
    return reader.items | {path: f"{ASSIGNED}:{one}" if path in assigned else one for path, one in items.items()}


def changed_items(recorded: Mapping[str, str], given: Mapping[str, str]) -> list[str]:
    """Paths of items that differ, or that only one of both has; of an item and its parts, the item."""
    paths = [*given, *(path for path in recorded if path not in given)]
    moving = [path for path, value in recorded.items() if not _is_digest(value)]
    changed: list[str] = []
    for path in sorted(paths):
        one, other = recorded.get(path), given.get(path)
        if one == other or not all(_is_digest(value) for value in (one, other) if value is not None):
            continue
        if None in (one, other) and _within(path, (*moving, *_opaque(given))):
            continue  # a new part of what moves
        if not _within(path, changed):
            changed.append(path)
    return changed


def uncompared_items(recorded: Mapping[str, str], given: Mapping[str, str]) -> list[str]:
    """Paths of items of which nothing can be said: not followed, or moving and in no state that is on record."""
    found = []
    for path, value in given.items():
        before = recorded.get(path, value)
        if NOT_FOLLOWED in (value, before):
            if not path.endswith(tuple(f"({name})" for name in _HARMLESS_TYPES)):
                found.append(path)
        elif _moves(before) and _digest(value) not in before:
            found.append(f"{path} ({before.partition(':')[0]})")
    return [path for path in found if not _within(path.partition(" (")[0], [one for one in found if one != path])]


_HARMLESS_TYPES = ("lock", "RLock", "Logger", "RootLogger", "Condition", "Event", "Semaphore", "Lock", "LoggerAdapter")


def after_run(recorded: Mapping[str, str], given: Mapping[str, str]) -> dict[str, str]:
    """What is to be on record when a run has ended: items that it has changed move by themselves."""
    updated = dict(recorded)
    for path in {*recorded, *given}:
        before, now = recorded.get(path), given.get(path)
        if before == now or NOT_FOLLOWED in (before, now):
            continue
        kind = ASSIGNED if ASSIGNED in f"{before} {now}" else CHANGES
        seen = [one for one in _digest(before or "").split(",") if one]
        seen += [] if now is None or _digest(now) in seen else [_digest(now)]
        updated[path] = f"{kind}:{','.join(seen[:1] + seen[1:][-KEPT + 1 :])}"
    return updated


def on_opening(recorded: Mapping[str, str], given: Mapping[str, str]) -> dict[str, str]:
    """What is to be on record when a ledger has been opened: what is known to move still does."""
    moving = {path: value for path, value in recorded.items() if _moves(value)}
    return {**given, **moving}


def _moves(value: str) -> bool:
    return value.startswith((CHANGES, ASSIGNED))


def _is_digest(value: str | None) -> bool:
    return value is not None and not value.startswith((NOT_FOLLOWED, CHANGES, ASSIGNED))


def _digest(value: str) -> str:
    return value.rpartition(":")[2]


def _opaque(given: Mapping[str, str]) -> list[str]:
    return [path for path, value in given.items() if not _is_digest(value)]


def _within(path: str, others: Sequence[str]) -> bool:
    """Whether a path is a part of one of the others."""
    return any(path.startswith(one) and path[len(one) : len(one) + 1] in (".", "[", " ") for one in others)


@dataclass
class _Reader:
    """Digests of values; remembers what it could not look into."""

    reach: Reach
    items: dict[str, str] = field(default_factory=dict)
    looked_at: int = 0
    _done: dict[int, tuple[str, Any]] = field(default_factory=dict)  # which keeps the value: an id is used again
    _under_way: dict[int, int] = field(default_factory=dict)
    _parts: int = 0

    def item(self, path: str, value: Any) -> None:
        """Add what is read there, and its parts."""
        if len(self.items) - self._parts >= MAX_ITEMS:
            self.items[f"{path.partition(':')[0]}: more than {MAX_ITEMS:,} items"] = NOT_FOLLOWED
            return
        if isinstance(value, Listed):
            self.items[f"{path} ({value.reason})"] = NOT_FOLLOWED
            return
        assigned = isinstance(value, Assigned)
        digest = self._digest(path, value.value if assigned else value, 0, parts=not assigned)
        taken, k = path, 2
        while self.items.get(taken, digest) != digest:  # two functions have a name for two values
            taken, k = f"{path} ({k})", k + 1
        self.items[taken] = f"{ASSIGNED}:{digest}" if assigned else digest

    def columns(self, path: str, value: Any) -> Iterator[tuple[str, str, bool]]:
        """Name, digest and whether the functions assign it, of each part of a value; of one with many parts, itself."""
        self.looked_at = 0
        if len(self._done) > MAX_VALUES:
            self._done.clear()
        state = state_of(value, self.reach)
        if state is None or not state.whole or len(state.parts) > MAX_PARTS:
            yield "", self._digest(path, value, 0, parts=False), False
            return
        yield "", blake2b(state.own, digest_size=12).hexdigest(), False
        for bare, part in state.parts:
            name = f" {bare}" if bare[:1].isalpha() else bare  # "code of ..."
            if isinstance(part, Listed):
                self.items[f"{path}{name} ({part.reason})"] = NOT_FOLLOWED
            else:
                one = part.value if isinstance(part, Assigned) else part
                yield name, self._digest(f"{path}{name}", one, 1, parts=False), isinstance(part, Assigned)

    def _digest(self, path: str, value: Any, depth: int, *, parts: bool) -> str:
        self.looked_at += 1
        if id(value) in self._done:
            return self._done[id(value)][0]
        if id(value) in self._under_way:
            return f"#{depth - self._under_way[id(value)]}"
        self._under_way[id(value)] = depth
        digest = self._of_parts(path, value, depth, parts=parts)
        del self._under_way[id(value)]
        self._done[id(value)] = digest, value
        return digest

    def _of_parts(self, path: str, value: Any, depth: int, *, parts: bool) -> str:
        if isinstance(value, Path) and path.startswith(DEPENDS_ON):
            return self._of_file(path, value)
        state = None if depth > MAX_DEPTH or self.looked_at > MAX_VALUES else state_of(value, self.reach)
        if state is None or not state.whole:
            self.items[f"{path} ({type(value).__qualname__})"] = NOT_FOLLOWED
        if state is None:
            return type(value).__qualname__
        digest = blake2b(state.own, digest_size=12)
        parts = parts and depth < PARTS_DEPTH and len(state.parts) <= MAX_PARTS
        before, self.reach = self.reach, self._reach_within(value)
        for name, part in state.parts:
            if isinstance(part, Listed):
                self.items[f"{path}{name} ({part.reason})"] = NOT_FOLLOWED
            elif isinstance(part, Assigned):
                digest.update(f"{name};".encode())  # the functions assign it: its value says nothing
            else:
                found = self._digest(f"{path}{name}", part, depth + 1, parts=parts)
                digest.update(f"{name}={found};".encode("utf-8", "surrogatepass"))
                if parts and name:
                    self._list_part(f"{path}{name}", found)
        self.reach = before
        return digest.hexdigest()

    def _reach_within(self, value: Any) -> Reach:
        """Any method of an object that an object of a library holds may be called by it: a step of a pipeline."""
        plain = isinstance(value, (*EXACT, Mapping, Sequence, np.ndarray, type)) or is_code(value)
        return self.reach if plain or not is_library(type(value)) else replace(self.reach, every=True)

    def _list_part(self, path: str, digest: str) -> None:
        if self._parts < MAX_PART_ITEMS and path not in self.items:
            self.items[path] = digest
            self._parts += 1

    def _of_file(self, path: str, file: Path) -> str:
        try:
            return _file_digest(file)
        except OSError as error:
            self.items[f"{path} ({error.strerror})"] = NOT_FOLLOWED
            return ""


def _file_digest(path: Path) -> str:
    """Of what a file, or all files of a folder, say."""
    digest = blake2b(digest_size=12)
    if path.exists() and not (path.is_dir() or path.is_file()):
        raise OSError(errno.EINVAL, "it is no regular file")
    files = sorted(path.rglob("*")) if path.is_dir() else [path]
    for file in files:
        digest.update(str(file.relative_to(path.parent)).encode("utf-8", "surrogatepass"))
        if file.is_file():
            with file.open("rb") as opened:
                while block := opened.read(1 << 20):
                    digest.update(block)
        elif not file.exists():
            digest.update(b" is missing")
    return digest.hexdigest()
