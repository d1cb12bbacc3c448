"""What names and expressions mean in a function of the user: values, modules, the environment, what is outside.

chain    an expression by its steps: ("settings", ".LIMIT"), ("os", ".environ", "['LIMIT']")
"""

from __future__ import annotations

import ast
import builtins
import importlib
import importlib.util
import os
import re
import sys
import types
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fewsolves.ledger.identity.objects import STANDARD_LIBRARY, is_code, is_library
from fewsolves.ledger.identity.source import LIBRARY_FOLDERS
from fewsolves.ledger.identity.syntax import Chain, Import, Syntax

Read = Iterator[tuple[str, Any]]

PLAIN = (type(None), bool, int, float, complex, str, bytes)

FROM_OUTSIDE = "reads what is outside of the program"
OUTSIDE = {"open", "read_text", "read_bytes", "urlopen", "urlretrieve", "popen", "Popen", "check_output", "getoutput"}
OUTSIDE |= {"loadtxt", "genfromtxt", "fromfile", "memmap", "readModel", "get_data", "eval", "exec", "input"}
OUTSIDE |= {"iterdir", "rglob", "is_file", "is_dir", "exists", "glob", "st_size", "st_mtime", "spec_from_file_location"}

HIDDEN = {"__globals__", "f_globals", "f_locals", "__annotations__", "__doc__"}  # ways to values that have other names

SERVICES = {"subprocess", "socket", "urllib", "requests", "httpx", "sqlite3", "shelve", "ctypes", "dbm", "zipfile"}
SERVICES |= {"tarfile", "linecache", "fileinput", "runpy", "mmap", "configparser", "xml"}

FILES = re.compile(  # functions and classes of libraries that read files, folders or the surroundings
    "load|load_.+|loadmat|loadtxt|genfromtxt|fromfile|from_file|memmap|imread|open|open_.+|read|read_.+|scan_.+"
    "|fetch_.+|listdir|scandir|walk|i?glob|l?stat|getsize|get[amc]time|exists|isfile|isdir|readlink|disk_usage"
    "|getcwd|gethostname|getuser|getlogin|uname|getcontext|getenvb|expandvars|expanduser"
    r"|system|p?open|exec[lv]p?e?|spawn[lv]p?e?|posix_spawnp?|create_subprocess_.+|FileIO|[A-Z]\w*File|File"
)


@dataclass(frozen=True)
class Listed:
    """What is read there cannot be compared, for this reason."""

    reason: str


@dataclass(frozen=True)
class Assigned:
    """A value that the functions assign themselves."""

    value: Any


class Scope:
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

    def read(self) -> Read:
        """All values that the function reads by its names, imports and chains."""
        for name in (*self.closure, *sorted(self.syntax.names)):
            yield from self.named(name)
        for one in sorted(self.syntax.imports, key=repr):
            yield from self.imported(one)
            if all(chain[0] != one.name for chain in self.syntax.chains):
                yield from self.chain((one.name,))  # of a class in the body, say: all of it counts
        for chain in sorted(self.syntax.chains):
            yield from self.chain(chain)

    def out_of_reach(self) -> Iterator[tuple[str, str]]:
        """What the function reads that cannot be compared, with the reason."""
        yield from ((f"{name}()", FROM_OUTSIDE) for name in sorted(self.syntax.used & OUTSIDE))
        steps = {step for chain in self.syntax.chains for step in chain}
        yield from ((name, "names that are not in the code") for name in sorted(HIDDEN) if f".{name}" in steps)
        if not self.syntax.sourced and not all(self.is_data(name) for name in self.syntax.names):
            yield "imports and names", "its source cannot be read"

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
            found = _attribute(module, one.attribute)
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
            yield f"{''.join(chain).partition('(')[0]}()", Listed(FROM_OUTSIDE)

    def _roots(self, name: str) -> Read:
        """What a name may stand for: two branches may import two modules under one name."""
        if name in self.imports:
            for one in self.imports[name]:
                module = self._module(one.module if one.attribute is not None else name, one.level)
                if isinstance(module, types.ModuleType):
                    path = name if len(self.imports[name]) == 1 else ".".join(filter(None, (one.module, one.attribute)))
                    yield path, _attribute(module, one.attribute) if one.attribute else module
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
    elif any(
        value is one for one in (os.environ, getattr(os, "environb", sys), sys.modules, sys.argv, builtins.globals)
    ):
        yield path, Listed("as a whole")
    elif isinstance(value, types.ModuleType):
        if not is_library(value):
            yield path, Listed(f"{steps[0]} is not there") if steps else value  # handed on as it is: all of it counts
    elif reads_outside(value):
        yield f"{path}()", Listed(FROM_OUTSIDE)
    elif owner is not None:
        library = isinstance(owner, types.ModuleType) and is_library(owner)
        if not library or isinstance(value, PLAIN):
            yield path, value


def reads_outside(value: Any) -> bool:
    """Whether a value is a function or class of a library that reads what is outside of the program."""
    if not is_code(value) and (not isinstance(value, type) or issubclass(value, BaseException)):
        return False
    if str(getattr(value, "__module__", "")).partition(".")[0] in SERVICES:
        return True
    return FILES.fullmatch(str(getattr(value, "__name__", ""))) is not None and is_library(value)


def _constant(step: str) -> str | int | None:
    try:
        value = ast.literal_eval(step[1:-1])
    except (SyntaxError, ValueError):
        return None
    return value if type(value) in (str, int) else None


def _attribute(module: types.ModuleType, name: str) -> Any:
    """What `from module import name` brings, which may be a module that is not loaded yet."""
    found = getattr(module, name, None)
    if found is None and hasattr(module, "__path__"):
        found = _import(f"{module.__name__}.{name}")
    return found


def _import(name: str) -> types.ModuleType | Listed | None:
    """A module that is loaded, or one of the user; libraries are not loaded for this."""
    if name in sys.modules:
        return sys.modules[name]
    try:
        spec = importlib.util.find_spec(name)
        file = None if spec is None else spec.origin
        if file is None or not LIBRARY_FOLDERS.isdisjoint(Path(file).parts) or STANDARD_LIBRARY in Path(file).parents:
            return None
        return importlib.import_module(name)
    except Exception as error:  # it is the user's code
        return Listed(f"cannot be imported here: {error!r:.80}")
