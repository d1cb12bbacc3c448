"""What a problem's functions read and do not say: closures, defaults, names of modules, attributes, the environment.

    path    how a function gets at a value: "Plant.limit", "settings.LIMIT", "os.environ['LIMIT']", "default 0 of solve"

Functions and classes of the user are followed, libraries are known by name. An import in the body of a function is
followed like one at the top of a module; for that, a module of the user is imported. What is out of reach (a file, a
service, an expression that is computed) is listed.
"""

from __future__ import annotations

import ast
import builtins
import functools
import importlib
import importlib.util
import inspect
import os
import re
import sys
import types
from collections.abc import Iterator
from dataclasses import dataclass, field, is_dataclass
from pathlib import Path
from typing import Any

from fewsolves.ledger.identity.assigned import EVERY, MAKING, assigned_attributes, called_methods, methods_of
from fewsolves.ledger.identity.source import LIBRARY_FOLDERS, python_function, source_of
from fewsolves.ledger.identity.syntax import Chain, Import, Syntax, syntax_of

Read = Iterator[tuple[str, Any]]
PLAIN = (type(None), bool, int, float, complex, str, bytes)
OUTSIDE = {"open", "read_text", "read_bytes", "urlopen", "urlretrieve", "popen", "Popen", "check_output", "getoutput"}
OUTSIDE |= {"loadtxt", "genfromtxt", "fromfile", "memmap", "readModel", "get_data", "eval", "exec", "input"}
OUTSIDE |= {"iterdir", "rglob", "is_file", "is_dir"}
SERVICES = {"subprocess", "socket", "urllib", "requests", "httpx", "sqlite3", "shelve", "ctypes", "dbm"}
FILES = re.compile(  # functions of libraries that read files, folders or the surroundings
    "load|load_.+|loadmat|loadtxt|genfromtxt|fromfile|from_file|memmap|imread|open|open_.+|read|read_.+|scan_.+"
    "|fetch_.+|listdir|scandir|walk|i?glob|l?stat|getsize|get[amc]time|exists|isfile|isdir|readlink|disk_usage"
    "|getcwd|gethostname|getuser|getlogin|uname|getcontext"
)
LANGUAGE = {"builtins", "abc", "typing", "enum", "collections", "dataclasses", "types"}  # whose classes call no hooks
_STANDARD = Path(inspect.__file__).parent


@dataclass(frozen=True)
class Source:
    """The source of a function or class, as data."""

    text: bytes


@dataclass(frozen=True)
class Listed:
    """What is read there cannot be compared, for this reason."""

    reason: str


@dataclass(frozen=True)
class Assigned:
    """A value that the functions assign themselves."""

    value: Any


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
    elif isinstance(function, types.FunctionType):
        yield from _function_attributes(function)
        if not is_library(function):
            yield f"code of {function.__module__}.{function.__qualname__}", Source(source_of(function))
            yield from _followed(_read_by_code(function, reach), reach)
    elif isinstance(function, type):
        yield from class_reads(function, function.__qualname__, reach)
    elif callable(function) and not is_code(function):
        yield from read_by(type(function).__call__, reach)
        yield from of_object(function, type(function).__qualname__, reach)


def _function_attributes(function: types.FunctionType) -> Read:
    for name, value in list(vars(function).items()):
        if not name.startswith("__"):
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
    changing = assigned_attributes(kind, reach.called, is_library)
    for name, value in class_data(kind).items():
        yield f"{path}.{name}", Assigned(value) if name in changing else value
    making = [method for one in kind.__mro__ for name, method in methods_of(one) if name in MAKING]
    used = reach.called.union(*(syntax_of(method.__code__).used for method in making if not is_library(method)))
    yield from _methods_read(kind, used, reach)
    if not is_library(type(kind)):
        yield from ((f"{path}.{name}", value) for name, value in class_data(type(kind)).items())


def _methods_read(kind: type, called: set[str], reach: Reach, *, made: bool = False) -> Read:
    """What the methods of a class read that are called; `made`: its object is there.

    Those that a decorator generates read nothing of their own.
    """
    hooks = any(is_library(one) and one.__module__.partition(".")[0] not in LANGUAGE for one in kind.__mro__)
    every = reach.every or hooks or EVERY in called  # what it inherits from a library may call any method of it
    for one, method in called_methods(kind, called, is_library, every=every):
        generated = method.__code__.co_filename == "<string>" and (_has_source(one) or is_dataclass(one))
        if not generated and not (made and method.__name__ in MAKING):
            yield from read_by(method, reach)


def class_source(kind: type) -> bytes:
    """Of a class without a file (in a console), of its methods."""
    functions = [value for value in vars(kind).values() if isinstance(value, types.FunctionType)]
    return source_of(kind) + (b"" if _has_source(kind) else b"".join(map(source_of, functions)))


def _has_source(kind: type) -> bool:
    return source_of(kind) != kind.__qualname__.encode()


def of_object(value: Any, path: str, reach: Reach) -> Read:
    """The attributes of an object and of its class, and what its methods read."""
    changing = assigned_attributes(type(value), reach.called, is_library)
    held = class_data(type(value)) | object_state(value)
    for attribute, one in sorted(held.items()):
        yield f"{path}.{attribute}", Assigned(one) if attribute in changing else one
    yield from _methods_read(type(value), reach.called, reach, made=True)


def object_state(value: Any) -> dict[str, Any]:
    """Attributes and slots of an object."""
    state = {str(name): held for name, held in getattr(value, "__dict__", {}).items()}
    for kind in type(value).__mro__:
        slots = kind.__dict__.get("__slots__", ())
        for slot in (slots,) if isinstance(slots, str) else slots:
            name = f"_{kind.__name__.lstrip('_')}{slot}" if slot.startswith("__") and not slot.endswith("__") else slot
            if slot not in ("__dict__", "__weakref__") and hasattr(value, name):
                state[name] = getattr(value, name)
    return state


def class_data(kind: type) -> dict[str, Any]:
    """What an object finds in its class, but for methods."""
    mine = [one for one in reversed(kind.__mro__) if not is_library(one)]
    found = {
        name: value
        for one in mine
        for name, value in vars(one).items()
        if not (name.startswith("__") and name.endswith("__")) and not name.startswith("_abc_")
    }
    found = {name: value for name, value in found.items() if not _is_method(value)}
    members = getattr(kind, "__members__", None) if isinstance(kind, type) else None
    if isinstance(members, types.MappingProxyType):  # of an enumeration
        hidden = {"_member_names_", "_member_map_", "_value2member_map_", "_hashable_values_", "_unhashable_values_"}
        hidden |= {"_unhashable_values_map_", "_new_member_", "_use_args_", "_member_type_", "_value_repr_"}
        found = {name: value for name, value in found.items() if name not in hidden}
        found |= {name: member.value for name, member in members.items()}
    return found


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
    path = Path(file)
    return not LIBRARY_FOLDERS.isdisjoint(path.parts) or _STANDARD in path.parents


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
        if not (name.startswith("__") and name.endswith("__")) and not isinstance(value, types.ModuleType)
    }


def _read_by_code(function: types.FunctionType, reach: Reach) -> Read:
    syntax = syntax_of(function.__code__)
    if function.__name__ not in MAKING:
        reach.called |= syntax.used | ({EVERY} if syntax.computed else set())
    for k, value in enumerate(function.__defaults__ or ()):
        yield f"default {k} of {function.__name__}", value
    for name, value in (function.__kwdefaults__ or {}).items():
        yield f"default {name} of {function.__name__}", value
    scope = _Scope(function, syntax)
    for name in scope.closure:
        yield from scope.named(name)
    for name in sorted(syntax.names):
        yield from scope.named(name)
    for one in sorted(syntax.imports, key=repr):
        yield from scope.imported(one)
    for chain in sorted(syntax.chains):
        yield from scope.chain(chain)
    for name in sorted(syntax.used & OUTSIDE):
        yield f"{name}() in {function.__name__}", Listed("reads what is outside of the program")
    if not syntax.sourced and not all(scope.is_data(name) for name in syntax.names):
        yield f"imports and names in {function.__name__}", Listed("its source cannot be read")


class _Scope:
    """What names mean in a function."""

    def __init__(self, function: types.FunctionType, syntax: Syntax) -> None:
        self.function, self.syntax = function, syntax
        self.closure: dict[str, Any] = {}
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            try:
                if name != "__class__":  # of `super()`
                    self.closure[name] = cell.cell_contents
            except ValueError:
                continue  # not filled yet
        self.imports: dict[str, list[Import]] = {}
        for one in sorted(syntax.imports, key=repr):
            self.imports.setdefault(one.name, []).append(one)

    def named(self, name: str) -> Read:
        """A name that is read; modules are followed by their attributes."""
        found = self.value(name)
        if found is not None and not isinstance(found[0], types.ModuleType):
            yield name, Assigned(found[0]) if name in self.syntax.assigned else found[0]

    def is_data(self, name: str) -> bool:
        """Whether a name stands for a value that is compared; else it may be one of an import or an attribute."""
        found = self.value(name)
        return hasattr(builtins, name) or (found is not None and not isinstance(found[0], types.ModuleType))

    def value(self, name: str) -> tuple[Any] | None:
        if name in self.closure:
            return (self.closure[name],)
        scope = self.function.__globals__
        if name in scope and name in self.syntax.names:
            return (scope[name],)
        held = getattr(self.function, "__builtins__", {})
        if name in self.syntax.names and name in held and isinstance(held[name], PLAIN):
            return (held[name],)
        return None

    def imported(self, one: Import) -> Read:
        """What an import in the body brings."""
        module = self._module(one.module, one.level)
        if isinstance(module, Listed):
            yield f"import of {'.' * one.level}{one.module}", module
        elif module is not None and one.attribute:
            found = getattr(module, one.attribute, None)
            if isinstance(found, types.ModuleType):
                return
            if not is_library(module) or isinstance(found, PLAIN):
                yield f"{module.__name__}.{one.attribute}", found

    def _module(self, name: str, level: int) -> types.ModuleType | Listed | None:
        try:
            package = str(self.function.__globals__.get("__package__") or "")
            return _import(importlib.util.resolve_name("." * level + name, package) if level else name)
        except (ImportError, ValueError) as error:
            return Listed(f"cannot be imported here: {error}")

    def chain(self, chain: Chain) -> Read:
        """What an expression reads of modules, of the environment and of `globals()`."""
        roots = list(self._roots(chain[0]))
        if not roots:
            yield from self._of_unloaded(chain)
        for path, value in roots:
            steps, owner = list(chain[1:]), None
            while steps:
                after = self._step(value, path, steps)
                if after is None:
                    break
                owner = value
                path, value = after
            yield from _read_there(path, value, steps, owner)

    def _of_unloaded(self, chain: Chain) -> Read:
        """Calls that read files, of a library that is imported in the body and not loaded yet."""
        brought = [f".{one.attribute}" for one in self.imports.get(chain[0], ()) if one.attribute]
        steps = [*brought, *chain[1:]] if chain[0] in self.imports else []
        if any(step.startswith(".") and FILES.fullmatch(step[1:]) for step in steps):
            yield f"{''.join(chain).partition('(')[0]}()", Listed(_FROM_OUTSIDE)

    def _roots(self, name: str) -> Read:
        """What a name may stand for: two branches may import two modules under one name."""
        if name in self.imports:
            for one in self.imports[name]:
                module = self._module(one.module if one.attribute is not None else name, one.level)
                if isinstance(module, types.ModuleType):
                    path = name if len(self.imports[name]) == 1 else ".".join(filter(None, (one.module, one.attribute)))
                    yield path, getattr(module, one.attribute, None) if one.attribute else module
        elif name in self.closure:
            yield name, self.closure[name]
        elif name in self.syntax.names:
            scope = self.function.__globals__
            yield name, scope[name] if name in scope else getattr(builtins, name, None)

    def _step(self, value: Any, path: str, steps: list[str]) -> tuple[str, Any] | None:
        """The path and the value after the next steps, which are taken off; None where data begin."""
        step, then = steps[0], "".join(steps[:2])
        if isinstance(value, types.ModuleType):
            if not step.startswith(".") or not hasattr(value, step[1:]):
                return None
            del steps[:1]
            return path + step, getattr(value, step[1:])
        if value is builtins.globals and then.startswith(("()[", "().get")):
            return self._looked_up("globals()", self.function.__globals__, steps, skip=1)
        if value is sys.argv:
            number = _constant(step)
            if type(number) is not int:
                return None
            del steps[:1]
            return f"sys.argv[{number}]", sys.argv[number] if number < len(sys.argv) else None
        if value is sys.modules:
            return self._looked_up("sys.modules", sys.modules, steps)
        if value is os.environ:
            return self._looked_up("os.environ", os.environ, steps)
        if value is os.getenv:
            return self._looked_up("os.environ", os.environ, steps)
        if value is importlib.import_module or value is builtins.__import__:
            return self._imported_by_call(steps)
        return None

    def _looked_up(self, name: str, where: Any, steps: list[str], skip: int = 0) -> tuple[str, Any]:
        """An item by a constant key: `x['key']`, `x.get('key')`, `getenv('key')`."""
        del steps[:skip]
        if steps and steps[0] in (".get", ".setdefault", ".pop"):
            del steps[:1]
        key = _constant(steps.pop(0)) if steps else None
        if not isinstance(key, str):
            steps.clear()
            return name, Listed("by a name that is computed")
        return f"{name}[{key!r}]", where.get(key)

    def _imported_by_call(self, steps: list[str]) -> tuple[str, Any] | None:
        key = _constant(steps.pop(0))
        if not isinstance(key, str):
            return "import_module()", Listed("by a name that is computed")
        module = self._module(key, 0)
        return (key, module) if module is not None else None


def _read_there(path: str, value: Any, steps: list[str], owner: Any) -> Read:
    """What is read where a chain has left the modules; `owner` held it, None for a plain name."""
    if isinstance(value, Listed):
        yield path, value
    elif any(value is one for one in (os.environ, sys.modules, sys.argv, builtins.globals)):
        yield path, Listed("as a whole")
    elif isinstance(value, types.ModuleType):
        if not is_library(value):
            yield path, Listed(f"{steps[0]} is not there") if steps else value  # handed on as it is: all of it counts
    elif is_code(value) and (_module_of(value) in SERVICES or (_reads_files(value) and is_library(value))):
        yield f"{path}()", Listed(_FROM_OUTSIDE)
    elif owner is not None:
        library = isinstance(owner, types.ModuleType) and is_library(owner)
        if not library or isinstance(value, PLAIN):
            yield path, value


_FROM_OUTSIDE = "reads what is outside of the program"


def _module_of(function: Any) -> str:
    return str(getattr(function, "__module__", "")).partition(".")[0]


def _reads_files(function: Any) -> bool:
    return FILES.fullmatch(str(getattr(function, "__name__", ""))) is not None


def _constant(step: str) -> str | int | None:
    try:
        value = ast.literal_eval(step[1:-1])
    except (SyntaxError, ValueError):
        return None
    return value if type(value) in (str, int) else None


def _import(name: str) -> types.ModuleType | Listed | None:
    """A module that is loaded, or one of the user; libraries are not loaded for this."""
    if name in sys.modules:
        return sys.modules[name]
    try:
        spec = importlib.util.find_spec(name)
        file = None if spec is None else spec.origin
        if file is None or not LIBRARY_FOLDERS.isdisjoint(Path(file).parts) or _STANDARD in Path(file).parents:
            return None
        return importlib.import_module(name)
    except Exception as error:  # it is the user's code
        return Listed(f"cannot be imported here: {error!r:.80}")
