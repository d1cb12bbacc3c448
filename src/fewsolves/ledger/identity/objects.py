"""What objects, classes and modules of the user hold, and which code is a library's."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import sys
import types
from collections.abc import Container
from pathlib import Path
from typing import Any

from fewsolves.ledger.identity.source import LIBRARY_FOLDERS, python_function, source_of

LANGUAGE = {"builtins", "abc", "typing", "enum", "collections", "dataclasses", "types"}  # whose classes call no hooks
OF_ENUM = {"_member_names_", "_member_map_", "_value2member_map_", "_hashable_values_", "_unhashable_values_"}
OF_ENUM |= {"_unhashable_values_map_", "_new_member_", "_use_args_", "_member_type_", "_value_repr_"}
STANDARD_LIBRARY = Path(inspect.__file__).parent


def class_source(kind: type) -> bytes:
    """Of a class without a file (in a console), of its methods."""
    functions = [value for value in vars(kind).values() if isinstance(value, types.FunctionType)]
    return source_of(kind) + (b"" if has_source(kind) else b"".join(map(source_of, functions)))


def has_source(kind: type) -> bool:
    return source_of(kind) != kind.__qualname__.encode()


def object_state(value: Any) -> dict[str, Any]:
    """Attributes and slots of an object."""
    state = {str(name): held for name, held in getattr(value, "__dict__", {}).items()}
    for kind in type(value).__mro__:
        slots = kind.__dict__.get("__slots__", ())
        for slot in (slots,) if isinstance(slots, str) else slots:
            name = mangled(slot, kind)
            if slot not in ("__dict__", "__weakref__") and hasattr(value, name):
                state[name] = getattr(value, name)
    return state


def mangled(name: str, kind: type) -> str:
    """The attribute that a name stands for in the body of a class: `__limit` of `Plant` is `_Plant__limit`."""
    private = name.startswith("__") and not name.endswith("__")
    return f"_{kind.__name__.lstrip('_')}{name}" if private else name


def class_data(kind: type, used: Container[str] = ()) -> dict[str, Any]:
    """What an object finds in its class, but for methods; special names only where they are among those `used`."""
    held: dict[str, Any] = {}
    for one in reversed(kind.__mro__):
        if not is_library(one):
            held |= vars(one)
    held.pop("_abc_impl", None)
    used_here = {name: value for name, value in held.items() if name in used or not _is_special(name)}
    found = {name: value for name, value in used_here.items() if not _is_method(value)}
    if dataclasses.is_dataclass(kind):
        for field in dataclasses.fields(kind):
            if isinstance(field.default_factory, types.FunctionType):
                found[field.name] = field.default_factory
    members = getattr(kind, "__members__", None)
    if isinstance(members, types.MappingProxyType):  # of an enumeration
        found = {name: value for name, value in found.items() if name not in OF_ENUM}
        found |= {name: member.value for name, member in members.items()}
    return found


def _is_special(name: str) -> bool:
    """Such as `__call__`."""
    return name.startswith("__") and name.endswith("__")


def _is_method(value: Any) -> bool:
    if is_code(value) or isinstance(value, property | staticmethod | classmethod | functools.cached_property):
        return True
    return hasattr(type(value), "__get__") and is_library(type(value))  # a descriptor of the user holds data


def is_code(value: Any) -> bool:
    """Whether a value is a function, or what is made of one."""
    kinds = types.FunctionType, types.MethodType, types.BuiltinFunctionType, types.MethodDescriptorType
    if isinstance(value, (*kinds, types.WrapperDescriptorType, types.MethodWrapperType, functools.partial)):
        return True
    return isinstance(python_function(value), types.FunctionType)


def is_library(value: Any) -> bool:
    """Whether code is installed, or part of Python: it is known by name."""
    module = value if isinstance(value, types.ModuleType) else inspect.getmodule(value)
    if isinstance(value, type) and value.__module__ in LANGUAGE - {"builtins"} and not hasattr(module, value.__name__):
        return False  # of `make_dataclass` or `new_class`, which the user called
    file = getattr(module, "__file__", None)
    if file is None:
        return getattr(module, "__name__", "__main__") != "__main__" and not _made_by_user(module)
    return _in_library(str(file))


@functools.lru_cache(4096)
def _in_library(file: str) -> bool:
    path = Path(file)
    return not LIBRARY_FOLDERS.isdisjoint(path.parts) or STANDARD_LIBRARY in path.parents


def _made_by_user(module: Any) -> bool:
    """Whether a module without a file is one of `types.ModuleType("name")`, neither built in nor part of a library."""
    if getattr(module, "__spec__", None) is not None or getattr(module, "__loader__", None) is not None:
        return False
    package = module.__name__.partition(".")[0]
    return package == module.__name__ or package not in sys.modules or not is_library(sys.modules[package])


def module_data(module: types.ModuleType) -> dict[str, Any]:
    """Everything that a module of the user holds, but for other modules."""
    return {
        name: value
        for name, value in sorted(vars(module).items())
        if not _is_special(name) and not isinstance(value, types.ModuleType)
    }
