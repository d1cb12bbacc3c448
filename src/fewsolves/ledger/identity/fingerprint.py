"""Fingerprint of a problem: digests of its functions, as far as they can be read, and of its data.

A part is a short digest, or "not checked" where there is nothing to compare. Functions are read as their syntax tree,
so that a comment changes nothing; with them go the constants, arrays and functions of the same module that they use.
Lists, dicts and objects, which may change while the program runs, are `ledger.identity.held_data`. Installed libraries
are known by name.

A digest that changes refuses every ledger there is: what goes into one stays as it is.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from hashlib import blake2b
from typing import Any

import numpy as np

from fewsolves.ledger.identity.source import python_function, source_of
from fewsolves.ledger.identity.syntax import names_used, syntax_of
from fewsolves.problem import Array, Problem

NOT_CHECKED = "not checked"
Names = Callable[[types.CodeType], set[str]]
DEEPEST = 8
FINGERPRINTED_FUNCTIONS = ("solve", "solve_batch", "cost", "cost_batch", "factory")


def fingerprint(problem: Problem, Y: Array) -> dict[str, str]:
    """The parts by their names."""
    parts = {"problem": problem.name, "deterministic": str(problem.deterministic), "Y": digest_of(Y)}
    parts |= {name: digest_of(getattr(problem, name)) for name in FINGERPRINTED_FUNCTIONS}
    if problem.encode is not None:
        parts["encode"] = digest_of(problem.encode)
    parts["version"] = str(problem.version)
    parts["instances"] = "none" if problem.instances is None else data_digest(problem.instances)
    return parts


def differences(recorded: Mapping[str, str], given: Mapping[str, str]) -> list[str]:
    """The parts that differ; what one of both could not check does not count."""
    names = [*given, *(name for name in recorded if name not in given)]
    pairs = {name: (recorded.get(name, NOT_CHECKED), given.get(name, NOT_CHECKED)) for name in names}
    return [name for name, pair in pairs.items() if NOT_CHECKED not in pair and pair[0] != pair[1]]


def former_digests(problem: Problem) -> dict[str, str]:
    """Of the functions, as ledgers have them from when a name of the module that an attribute has, too, counted."""
    return {name: digest_of(getattr(problem, name), _all_names) for name in FINGERPRINTED_FUNCTIONS}


def digest_of(value: Any, names: Names | None = None) -> str:
    """A digest of code and constants."""
    digest = blake2b(digest_size=12)
    _Feeding(digest, names or global_names).feed(value, 0)
    return digest.hexdigest()


def data_digest(values: Sequence[Any]) -> str:
    """Of known data, which are looked into; they may be anything."""
    try:
        digest = blake2b(digest_size=12)
        for value in values:
            _feed_data(digest, value)
        return digest.hexdigest()
    except TypeError:
        return NOT_CHECKED


def _feed_data(digest: Any, value: Any) -> None:
    if isinstance(value, Mapping):
        for name in sorted(value, key=repr):
            _feed_data(digest, name)
            _feed_data(digest, value[name])
    elif isinstance(value, list | tuple):
        digest.update(b"(")
        for one in value:
            _feed_data(digest, one)
        digest.update(b")")
    elif is_dataclass(value) and not isinstance(value, type):
        _feed_data(digest, {f.name: getattr(value, f.name) for f in fields(value)})
    elif not _feed_plain(digest, value):
        raise TypeError(type(value))


def _feed_plain(digest: Any, value: Any) -> bool:
    if isinstance(value, np.ndarray) and value.dtype.kind in "biufcUS":
        digest.update(f"{value.dtype.str}{value.shape}".encode())
        digest.update(np.ascontiguousarray(value).tobytes())
    elif value is None or isinstance(value, bool | int | float | complex | str | bytes | np.generic):
        digest.update(f"{type(value).__name__}:{value!r};".encode())
    else:
        return False
    return True


class _Feeding:
    """Feeds code into one digest; `names` are those that a function reads of its module."""

    def __init__(self, digest: Any, names: Names) -> None:
        self.digest, self.names, self.seen = digest, names, set[int]()

    def feed(self, value: Any, depth: int) -> None:
        if depth > DEEPEST or _feed_plain(self.digest, value):
            return
        if not isinstance(value, tuple):
            if id(value) in self.seen:
                return
            self.seen.add(id(value))
            value = python_function(value)
        if isinstance(value, types.FunctionType):
            self._function(value, depth)
        elif isinstance(value, type | types.BuiltinFunctionType):
            self.digest.update(source_of(value))
        else:
            for part in _parts(value):
                self.feed(part, depth + 1)

    def _function(self, function: types.FunctionType, depth: int) -> None:
        self.digest.update(source_of(function))
        used: list[Any] = [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
        for cell in function.__closure__ or ():
            try:
                used.append(cell.cell_contents)
            except ValueError:
                continue  # not filled yet
        read = self.names(function.__code__)
        for name in sorted(_all_names(function.__code__)):
            found = function.__globals__.get(name) if name in read else None
            if not isinstance(found, types.ModuleType | type) and _belongs(found, function):
                used.append(found)
        for value in used:
            if not isinstance(value, types.ModuleType):
                self.feed(value, depth + 1)


def _parts(value: Any) -> Iterable[Any]:
    """The parts of a value that cannot change by themselves; else its class."""
    if isinstance(value, tuple):
        return value
    if isinstance(value, types.MethodType):
        return value.__func__, value.__self__
    if isinstance(value, functools.partial):
        return value.func, *value.args, *(value.keywords[name] for name in sorted(value.keywords))
    if is_dataclass(value) and getattr(type(value), "__dataclass_params__").frozen:  # noqa: B009 (not typed)
        return type(value), *(getattr(value, f.name) for f in fields(value))
    return (type(value),)


def _belongs(value: Any, function: types.FunctionType) -> bool:
    """Constants, and functions of the same module: those of libraries are known by their version, not by us."""
    return not callable(value) or getattr(value, "__module__", None) == function.__module__


def global_names(code: types.CodeType) -> set[str]:
    """Names of the module that the code reads."""
    return set(syntax_of(code).names)


def _all_names(code: types.CodeType) -> set[str]:
    """Those of attributes too."""
    return set(names_used(code))
