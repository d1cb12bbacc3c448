"""The data that a problem's functions read and do not say: of bound objects, closures, defaults, module-level names.

    item    a path to what is read ("solve: Plant.limit", "cost: PRICES") and a digest of all that it holds

Numbers, text, arrays, frames, lists, dicts, sets and functions are followed, and objects by their attributes.
What cannot be looked into (an open file, the model of a C library) is an item too, marked as `NOT_FOLLOWED`, so that it
can be listed. What the functions themselves assign is left out (`ledger.identity.assigned`), and so is what has changed
in the course of a run (`CHANGES`): a counter says nothing about the problem. Libraries are known by name, as in
`ledger.identity.fingerprint`.
"""

from __future__ import annotations

import contextlib
import dis
import inspect
import types
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from datetime import date, time, timedelta
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from functools import partial
from hashlib import blake2b
from pathlib import Path, PurePath
from typing import Any

import numpy as np

from fewsolves.ledger.identity.assigned import assigned_attributes, assigned_names, names_used
from fewsolves.ledger.identity.fingerprint import LIBRARY_FOLDERS, LOADS, global_names, python_function, source_of

NOT_FOLLOWED, CHANGES = "not followed", "changes by itself"
MAX_DEPTH, MAX_VALUES, MAX_ITEMS = 40, 1_000_000, 1_000  # levels, values that are looked at, items
_COMPARED_BY_REPR = (
    bool,
    int,
    float,
    complex,
    str,
    bytes,
    np.generic,
    date,
    time,
    timedelta,
    Decimal,
    Fraction,
    PurePath,
)
_STANDARD = Path(inspect.__file__).parent


def held_data(functions: Mapping[str, Any]) -> dict[str, str]:
    """The items of all these functions, in order of their paths."""
    called, before = set[str](), -1
    while before < len(called):  # who calls a method may be found after what the method assigns
        before = len(called)
        items = _items(functions, called)
    return dict(sorted(items.items()))


def _items(functions: Mapping[str, Any], called: set[str]) -> dict[str, str]:
    """With what is known of the names that the functions use; more are added."""
    items: dict[str, str] = {}
    for name, function in functions.items():
        if function is None:
            continue
        reader = _Reader(called)
        for path, value in _read_by(function, set(), called):
            if len(items) < MAX_ITEMS:
                items[f"{name}: {path}"] = reader.digest(path, value)
        items |= {f"{name}: {path}": NOT_FOLLOWED for path in reader.not_followed[:MAX_ITEMS]}
    return items


def changed_items(recorded: Mapping[str, str], given: Mapping[str, str]) -> list[str]:
    """Paths of items that both know and that differ."""
    silent = (NOT_FOLLOWED, CHANGES)
    both = [path for path in given if path in recorded and recorded[path] not in silent and given[path] not in silent]
    return [path for path in both if recorded[path] != given[path]]


def _read_by(function: Any, seen: set[int], called: set[str]) -> Iterator[tuple[str, Any]]:
    """The data that a function and the functions that it calls read, by name."""
    function = python_function(function)
    if id(function) in seen:
        return
    seen.add(id(function))
    if isinstance(function, types.MethodType):
        called.add(function.__func__.__name__)
        yield from _read_by(function.__func__, seen, called)
        yield from _attributes(function.__self__, type(function.__self__).__qualname__, called)
    elif isinstance(function, partial):
        yield from ((f"argument {k}", value) for k, value in enumerate(function.args))
        yield from ((f"argument {name}", value) for name, value in function.keywords.items())
        yield from _read_by(function.func, seen, called)
    elif isinstance(function, types.FunctionType):
        if not is_library(function):
            yield from _read_by_code(function, seen, called)
    elif not isinstance(function, type | types.BuiltinFunctionType) and callable(function):
        yield from _read_by(type(function).__call__, seen, called)
        yield from _attributes(function, type(function).__qualname__, called)


def _read_by_code(function: types.FunctionType, seen: set[int], called: set[str]) -> Iterator[tuple[str, Any]]:
    called |= names_used(function.__code__)
    found: dict[str, Any] = {}
    for k, value in enumerate(function.__defaults__ or ()):
        found[f"default {k} of {function.__name__}"] = value
    found |= {f"default {name} of {function.__name__}": one for name, one in (function.__kwdefaults__ or {}).items()}
    assigned = assigned_names(function.__code__)
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        if name not in assigned:
            try:
                found[name] = cell.cell_contents
            except ValueError:
                continue  # not filled yet
    for path in _globals(function.__code__):
        name, _, attribute = path.partition(".")
        if name in assigned or name not in function.__globals__:
            continue
        value = function.__globals__[name]
        if isinstance(value, types.ModuleType):
            if attribute and not is_library(value) and hasattr(value, attribute):
                found[path] = getattr(value, attribute)
        else:
            found[name] = value
    for path, value in found.items():
        if _is_code(value):
            yield from _read_by(value, seen, called)
        elif not isinstance(value, types.ModuleType | type):
            yield path, value


def _is_code(value: Any) -> bool:
    if isinstance(value, types.FunctionType | types.MethodType | types.BuiltinFunctionType | partial):
        return True
    return isinstance(python_function(value), types.FunctionType)


def _globals(code: types.CodeType) -> list[str]:
    """Names of the module that the code reads, and of those that are followed by an attribute, also that."""
    found, before = sorted(global_names(code)), None
    for step in dis.get_instructions(code):
        if before is not None and step.opname in ("LOAD_ATTR", "LOAD_METHOD"):
            found.append(f"{before}.{step.argval}")
        before = step.argval if step.opname in LOADS else None
    inner = (part for part in code.co_consts if isinstance(part, types.CodeType))
    return list(dict.fromkeys([*found, *(name for part in inner for name in _globals(part))]))


def _attributes(value: Any, name: str, called: set[str]) -> Iterator[tuple[str, Any]]:
    """The attributes of an object, but for those that its methods assign which are called."""
    changing = assigned_attributes(type(value), called, is_library)
    for attribute, held in (_class_data(type(value)) | _state(value)).items():
        if attribute not in changing:
            yield f"{name}.{attribute}", held


def _state(value: Any) -> dict[str, Any]:
    state = dict(getattr(value, "__dict__", {}))
    for kind in type(value).__mro__:
        slots = kind.__dict__.get("__slots__", ())
        for slot in (slots,) if isinstance(slots, str) else slots:
            if slot not in ("__dict__", "__weakref__") and hasattr(value, slot):
                state[slot] = getattr(value, slot)
    return state


def _class_data(kind: type) -> dict[str, Any]:
    """What an object finds in its class, but for methods."""
    mine = [one for one in reversed(kind.__mro__) if not is_library(one)]
    found = {name: value for one in mine for name, value in vars(one).items() if not name.startswith(("__", "_abc_"))}
    return {name: value for name, value in found.items() if not callable(value) and not hasattr(type(value), "__get__")}


def is_library(value: Any) -> bool:
    """Whether code is installed, or part of Python: it is known by name."""
    module = inspect.getmodule(value)
    file = getattr(module, "__file__", None)
    if file is None:
        return getattr(module, "__name__", "__main__") != "__main__"  # built in
    path = Path(file)
    return not LIBRARY_FOLDERS.isdisjoint(path.parts) or _STANDARD in path.parents


@dataclass
class _Reader:
    """Digests of values; remembers what it could not look into."""

    called: set[str]
    not_followed: list[str] = field(default_factory=list)
    looked_at: int = 0

    def digest(self, path: str, value: Any) -> str:
        digest = blake2b(digest_size=12)
        self._feed(digest, path, value, {}, 0)  # which keeps what it has seen: an id is used again
        return digest.hexdigest()

    def _feed(self, digest: Any, path: str, value: Any, seen: dict[int, tuple[int, Any]], depth: int) -> None:
        self.looked_at += 1
        if value is None or isinstance(value, _COMPARED_BY_REPR):
            digest.update(f"{type(value).__name__}:{value!r};".encode("utf-8", "surrogatepass"))
            return
        if id(value) in seen:
            digest.update(f"#{seen[id(value)][0]};".encode())
            return
        seen[id(value)] = len(seen), value
        digest.update(f"{type(value).__qualname__}(".encode())
        parts = None if depth > MAX_DEPTH or self.looked_at > MAX_VALUES else _parts(digest, value, self.called)
        if parts is None:
            self.not_followed.append(f"{path} ({type(value).__qualname__})")
        for name, part in parts or ():
            self._feed(digest, f"{path}{name}", part, seen, depth + 1)
        digest.update(b")")


Parts = list[tuple[str, Any]]


def _parts(digest: Any, value: Any, called: set[str]) -> Parts | None:
    """The parts of a value, after its own bytes went into the digest; None if it cannot be inspected."""
    with contextlib.suppress(Exception):  # an object may do anything when it is looked at
        for look in (_of_array, _of_collection, _of_code, _of_object):
            parts = look(digest, value, called)
            if parts is not None:
                return parts
    return None


def _of_array(digest: Any, value: Any, called: set[str]) -> Parts | None:
    kind = type(value)  # an object may answer for any attribute as it likes
    if hasattr(kind, "to_numpy") and hasattr(kind, "index"):  # of pandas
        labels = [("index", list(value.index)), ("columns", list(getattr(value, "columns", ())))]
        return [*labels, ("values", value.to_numpy())]
    if hasattr(kind, "detach") and hasattr(kind, "numpy"):  # of torch
        value = value.detach().cpu().numpy()
    if not isinstance(value, np.ndarray):
        return None
    digest.update(f"{value.dtype.str}{value.shape}".encode())
    if value.dtype.hasobject:
        return [(f"[{k}]", one) for k, one in enumerate(value.ravel().tolist())]
    digest.update(np.ascontiguousarray(value).tobytes())
    return [("mask", np.ma.getmaskarray(value))] if isinstance(value, np.ma.MaskedArray) else []


def _of_collection(digest: Any, value: Any, called: set[str]) -> Parts | None:
    if isinstance(value, Mapping):
        named = [(_word(key, called), key, held) for key, held in value.items()]
        named.sort(key=lambda one: one[0])
        return [(f"[{word}]", part) for word, key, held in named for part in (key, held)]
    if isinstance(value, AbstractSet):
        return [("", sorted(_Reader(called).digest("", one) for one in value))]
    if isinstance(value, list | tuple) or type(value).__name__ == "deque":
        return [(f"[{k}]", one) for k, one in enumerate(value)]
    return None


def _of_code(digest: Any, value: Any, called: set[str]) -> Parts | None:
    if isinstance(value, type | types.ModuleType | types.BuiltinFunctionType):
        digest.update(f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', value)!s}".encode())
        return []
    if isinstance(value, types.FunctionType | types.MethodType | partial):
        if not isinstance(value, partial):
            digest.update(source_of(inspect.unwrap(value)))
        return [(f".{path}", held) for path, held in _read_by(value, set(), called)]
    return None


def _of_object(digest: Any, value: Any, called: set[str]) -> Parts | None:
    if not is_library(type(value)):
        digest.update(source_of(type(value)))
    if isinstance(value, Enum):
        return [("", value.name)]
    if isinstance(value, np.random.Generator):
        return [(".state", value.bit_generator.state)]
    opaque = ("logging", "threading", "_thread", "_io", "io", "socket", "subprocess", "weakref", "multiprocessing")
    if type(value).__module__.split(".")[0] in opaque or isinstance(value, types.GeneratorType):
        return None
    if not hasattr(value, "__dict__") and not any("__slots__" in vars(kind) for kind in type(value).__mro__):
        return None
    return [(path, held) for path, held in _attributes(value, "", called)]


def _word(key: Any, called: set[str]) -> str:
    return f"{key!r:.40}" if isinstance(key, _COMPARED_BY_REPR) else _Reader(called).digest("", key)
