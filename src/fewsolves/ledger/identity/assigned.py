"""What the methods of a class assign to its objects.

What a problem's functions assign themselves says nothing about the problem. What a setter assigns, that none of them
calls, does. A method is called where its name is among those that they use; `called` grows by the names in it. With
`EVERY` among them, for names that are computed, any method may be called.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Iterator
from typing import Any

from fewsolves.ledger.identity.objects import is_library, mangled
from fewsolves.ledger.identity.source import python_function
from fewsolves.ledger.identity.syntax import syntax_of

EVERY = "*"
MAKING = {"__init__", "__post_init__", "__new__", "__setstate__", "__init_subclass__"}


def assigned_attributes(kind: type, called: set[str]) -> set[str]:
    """Those that methods of a class assign which are called by name, but for those that make the object."""
    return {
        mangled(name, one)
        for one, method in called_methods(kind, called)
        if method.__name__ not in MAKING
        for name in syntax_of(method.__code__).stored
    }


def called_methods(kind: type, called: set[str], *, every: bool = False) -> list[tuple[type, types.FunctionType]]:
    """Methods of a class and of the user's classes that it is made of, each with its class, of which some name is used.

    Special methods are called by the language, and `every` one may be called by a library. `called` grows by the names
    that they use.
    """
    methods = [(one, *method) for one in kind.__mro__ if not is_library(one) for method in methods_of(one)]
    found: list[tuple[type, types.FunctionType]] = []
    while reached := [one for one in methods if every or one[1] in called or one[1].startswith("__")]:
        methods = [one for one in methods if one not in reached]
        for of, name, function in reached:
            if name not in MAKING:
                called |= syntax_of(function.__code__).used
            found.append((of, function))
    return found


def methods_of(kind: type) -> Iterator[tuple[str, types.FunctionType]]:
    """Functions of a class by the names under which they are called, those of properties among them."""
    for name, value in list(vars(kind).items()):
        parts: tuple[Any, ...] = (value,)
        if isinstance(value, property):
            parts = value.fget, value.fset, value.fdel
        elif isinstance(value, functools.cached_property):
            parts = (value.func,)
        elif isinstance(value, staticmethod | classmethod):
            parts = (value.__func__,)
        yield from ((name, one) for one in map(python_function, parts) if isinstance(one, types.FunctionType))
