"""The source of functions and classes as their syntax tree, so that a comment changes nothing.

Installed libraries are known by name. What has no source (made by `exec`) is known by its instructions, which another
Python writes differently.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
import types
from pathlib import Path
from typing import Any

from fewsolves.ledger.identity.syntax import PARSING

LIBRARY_FOLDERS = {"site-packages", "dist-packages"}
MOVED = {
    "fewsolves_studies.benchmarks.knapsack_solver.CapacityTable": "fewsolves.problems.capacity_table.CapacityTable",
    "fewsolves_studies.benchmarks.": "fewsolves.problems.",
    "fewsolves.demo.": "fewsolves.problems.",
}
"""Names of this library's functions now and when ledgers first knew them: that code moved is no change of a problem."""


def python_function(value: Any) -> Any:
    """The function behind a wrapper: numba keeps it in `py_func`. An object may return anything for any attribute."""
    try:
        return inspect.unwrap(getattr(value, "py_func", value))
    except Exception:
        return value


_SEEN: dict[int, tuple[Any, bytes]] = {}


def source_of(value: Any) -> bytes:
    """Of a function or class that is loaded, as it was at the first request.

    Its file may be edited while the program runs, which goes on with what it had read: the new text is not its source.
    """
    loaded = getattr(value, "__code__", value)  # another one after a reload
    if id(loaded) not in _SEEN:
        _SEEN[id(loaded)] = loaded, _read_source(value)  # kept, so that its id is given to no other
    return _SEEN[id(loaded)][1]


def _read_source(value: Any) -> bytes:
    try:
        if not LIBRARY_FOLDERS.isdisjoint(Path(inspect.getsourcefile(value) or "").parts):
            return _first_name(f"{value.__module__}.{value.__qualname__}").encode()
        with PARSING:
            text = textwrap.dedent(inspect.getsource(value))
    except (OSError, TypeError):
        code = getattr(value, "__code__", None)
        return _code(code) if code is not None else getattr(value, "__qualname__", "").encode()
    try:
        with PARSING:
            tree = ast.parse(text)
        return _tree(tree).encode()
    except SyntaxError:  # a lambda in the middle of a call
        return text.encode()


def _first_name(name: str) -> str:
    """The name under which a function of this library was known first."""
    for now, then in MOVED.items():
        if name.startswith(now):
            return then + name.removeprefix(now)
    return name


def _tree(node: Any) -> str:
    """A syntax tree as text: that of `ast.dump` in Python 3.11, whose form changes from version to version."""
    if isinstance(node, list):
        return f"[{', '.join(map(_tree, node))}]"
    if not isinstance(node, ast.AST):
        return repr(node)
    given = ((name, getattr(node, name, None)) for name in node._fields)
    optional = {name for name in node._fields if getattr(type(node), name, ...) is None}
    named = (
        f"{name}={_tree(value)}"
        for name, value in given
        if not (value is None and name in optional) and not (name == "type_params" and not value)  # new in 3.12
    )
    return f"{type(node).__name__}({', '.join(named)})"


def _code(code: types.CodeType) -> bytes:
    return b"\0".join([code.co_code, *map(_constant, code.co_consts), repr(code.co_names).encode()])


def _constant(value: Any) -> bytes:
    if isinstance(value, types.CodeType):
        return _code(value)
    if isinstance(value, frozenset):  # of `x in {"a", "b"}`: its order differs from start to start
        return b"frozenset({%s})" % b", ".join(sorted(map(_constant, value)))
    return repr(value).encode()
