"""What a problem's functions read and do not say: closures, defaults, names of modules, attributes, the environment.

    path    how a function gets at a value: "Plant.limit", "settings.LIMIT", "os.environ['LIMIT']", "default 0 of solve"

Functions and classes of the user are followed, libraries are known by name. An import in the body of a function is
followed like one at the top of a module; for that, a module of the user is imported. What is out of reach (a file, a
service, an expression that is computed) is listed.
"""

from __future__ import annotations

import functools
import types
from dataclasses import dataclass, field, is_dataclass
from typing import Any

from fewsolves.ledger.identity.assigned import EVERY, MAKING, assigned_attributes, called_methods, methods_of
from fewsolves.ledger.identity.objects import (
    LANGUAGE,
    class_data,
    class_source,
    has_source,
    is_code,
    is_library,
    object_state,
)
from fewsolves.ledger.identity.scope import FROM_OUTSIDE, Assigned, Listed, Read, Scope, reads_outside
from fewsolves.ledger.identity.source import source_of
from fewsolves.ledger.identity.syntax import syntax_of


@dataclass(frozen=True)
class Source:
    """The source of a function or class, as data."""

    text: bytes


@dataclass
class Reach:
    """What is known of the functions so far: the names that they use, and the functions that have been read."""

    called: set[str] = field(default_factory=set)
    seen: set[int] = field(default_factory=set)
    every: bool = False  # whether a library holds what is read, and may call any method of it

    def again(self) -> Reach:
        """For a value that stands by itself."""
        return Reach(self.called, every=self.every)


def read_by(function: Any, reach: Reach) -> Read:
    """The data that a function and the functions that it calls read, by path."""
    for layer in layers(function):
        yield from _layer(layer, reach)


def layers(function: Any) -> list[Any]:
    """A function and those that it wraps: a decorator may hold data of its own."""
    found: list[Any] = []
    while function is not None and all(function is not one for one in found):
        found.append(function)
        function = _wrapped(function)
    return found


def _wrapped(function: Any) -> Any:
    try:  # an object may return anything for any attribute
        return getattr(function, "py_func", None) or getattr(function, "__wrapped__", None)
    except Exception:
        return None


def _layer(function: Any, reach: Reach) -> Read:
    if id(function) in reach.seen:
        return
    reach.seen.add(id(function))
    if isinstance(function, types.MethodType):
        reach.called.add(function.__func__.__name__)
        yield from read_by(function.__func__, reach)
        if isinstance(function.__self__, type):
            yield from class_reads(function.__self__, function.__self__.__qualname__, reach)
        else:
            yield from of_object(function.__self__, type(function.__self__).__qualname__, reach)
    elif isinstance(function, functools.partial):
        yield from ((f"argument {k}", value) for k, value in enumerate(function.args))
        yield from ((f"argument {name}", value) for name, value in function.keywords.items())
        yield from read_by(function.func, reach)
    elif reads_outside(function):
        yield f"{function.__name__}()", Listed(FROM_OUTSIDE)
    elif isinstance(function, types.FunctionType):
        yield from _function_attributes(function)
        if not is_library(function):
            yield f"code of {function.__module__}.{function.__qualname__}", Source(source_of(function))
            yield from _followed(_read_by_code(function, reach), reach)
    elif isinstance(function, type):
        yield from class_reads(function, function.__qualname__, reach)
    elif callable(function) and not (is_code(function) and is_library(type(function))):
        yield from read_by(type(function).__call__, reach)
        yield from of_object(function, type(function).__qualname__, reach)


def _function_attributes(function: types.FunctionType) -> Read:
    for name, value in list(vars(function).items()):
        if name != "__wrapped__":
            yield f"{function.__name__}.{name}", value


def _followed(found: Read, reach: Reach) -> Read:
    """Functions and classes among values are followed, the others are data."""
    for path, value in dict(found).items():
        if isinstance(value, type):
            if not is_library(value):
                yield from class_reads(value, path, reach)
        elif is_code(value):
            yield from read_by(value, reach)
        else:
            yield path, value


def class_reads(kind: type, path: str, reach: Reach) -> Read:
    """A class that is used by its name: its source, its data, and what its methods read."""
    if id(kind) in reach.seen or is_library(kind):
        return
    reach.seen.add(id(kind))
    yield f"code of {kind.__module__}.{kind.__qualname__}", Source(class_source(kind))
    changing = assigned_attributes(kind, reach.called)
    for name, value in class_data(kind, reach.called).items():
        yield f"{path}.{name}", Assigned(value) if name in changing else value
    making = [method for one in kind.__mro__ for name, method in methods_of(one) if name in MAKING]
    used = reach.called.union(*(syntax_of(method.__code__).used for method in making if not is_library(method)))
    yield from _methods_read(kind, used, reach)
    if not is_library(type(kind)):
        yield from ((f"{path}.{name}", value) for name, value in class_data(type(kind), reach.called).items())


def _methods_read(kind: type, called: set[str], reach: Reach, *, made: bool = False) -> Read:
    """What the methods of a class read that are called; `made`: its object is there.

    Those that a decorator generates read nothing of their own.
    """
    hooks = any(is_library(one) and one.__module__.partition(".")[0] not in LANGUAGE for one in kind.__mro__)
    every = reach.every or hooks or EVERY in called  # what it inherits from a library may call any method of it
    for one, method in called_methods(kind, called, every=every):
        generated = method.__code__.co_filename == "<string>" and (has_source(one) or is_dataclass(one))
        if not generated and not (made and method.__name__ in MAKING):
            yield from read_by(method, reach)


def of_object(value: Any, path: str, reach: Reach) -> Read:
    """The attributes of an object and of its class, and what its methods read."""
    changing = assigned_attributes(type(value), reach.called)
    held = class_data(type(value), reach.called) | object_state(value)
    for attribute, one in sorted(held.items()):
        yield f"{path}.{attribute}", Assigned(one) if attribute in changing else one
    yield from _methods_read(type(value), reach.called, reach, made=True)


def _read_by_code(function: types.FunctionType, reach: Reach) -> Read:
    syntax = syntax_of(function.__code__)
    if function.__name__ not in MAKING:
        reach.called |= syntax.used | ({EVERY} if syntax.computed else set())
    defaults = dict(enumerate(function.__defaults__ or ())) | (function.__kwdefaults__ or {})
    yield from ((f"default {name} of {function.__name__}", value) for name, value in defaults.items())
    scope = Scope(function, syntax)
    yield from scope.read()
    yield from ((f"{what} in {function.__name__}", Listed(why)) for what, why in scope.out_of_reach())
