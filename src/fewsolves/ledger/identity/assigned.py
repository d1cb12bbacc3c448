"""What code assigns outside of itself: names of its module and closure, and attributes of objects.

What a problem's functions assign themselves says nothing about the problem. What a setter assigns, that none of them
calls, does. A method is called where its name is among those that they use; `called` grows by the names in it.
"""

from __future__ import annotations

import dis
import types
from collections.abc import Callable, Iterator
from typing import Any

_MAKING = {"__init__", "__post_init__", "__new__", "__setstate__", "__init_subclass__"}
_OUTSIDE = ("STORE_GLOBAL", "STORE_DEREF", "DELETE_GLOBAL", "DELETE_DEREF")
_ATTRIBUTES = ("STORE_ATTR", "DELETE_ATTR")


def names_used(code: types.CodeType) -> set[str]:
    """Names of the module and of attributes."""
    return set(code.co_names).union(*map(names_used, _inner(code)))


def assigned_names(code: types.CodeType) -> set[str]:
    """Names outside of the code that it assigns."""
    return _stored(code, _OUTSIDE)


def assigned_attributes(kind: type, called: set[str], is_library: Callable[[Any], bool]) -> set[str]:
    """Those that methods of a class assign which are called, but for those that make the object."""
    methods = [(name, code) for one in kind.__mro__ if not is_library(one) for name, code in _methods(one)]
    found: set[str] = set()
    while reached := [one for one in methods if one[0] in called or one[0].startswith("__")]:
        methods = [one for one in methods if one not in reached]
        for _, code in reached:
            called |= names_used(code)
            found |= _stored(code, _ATTRIBUTES)
    return found


def _methods(kind: type) -> Iterator[tuple[str, types.CodeType]]:
    for name, value in vars(kind).items():
        parts = (value.fget, value.fset, value.fdel) if isinstance(value, property) else (value,)
        for part in parts:
            code = getattr(getattr(part, "__func__", part), "__code__", None)
            if isinstance(code, types.CodeType) and name not in _MAKING:
                yield name, code


def _stored(code: types.CodeType, how: tuple[str, ...]) -> set[str]:
    found = {str(step.argval) for step in dis.get_instructions(code) if step.opname in how}
    return found.union(*(_stored(part, how) for part in _inner(code)))


def _inner(code: types.CodeType) -> Iterator[types.CodeType]:
    return (part for part in code.co_consts if isinstance(part, types.CodeType))
