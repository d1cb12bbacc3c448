"""What the syntax of a function says that it reads and assigns outside of itself.

    chain   an expression that begins with a name and goes on by attributes, constant items and calls:
            ("settings", ".limit"), ("os", ".environ", "['HOME']"), ("globals", "()", "['LIMIT']")

Only the language (`ast`, `symtable`) and documented attributes of code objects are used, no instructions of the
interpreter, which change with each Python. A function whose source cannot be found is known by the names in its code:
then every attribute counts as a name of the module, too, and nothing as assigned (`sourced`).
"""

from __future__ import annotations

import ast
import inspect
import linecache
import symtable
import textwrap
import threading
import types
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

PARSING = threading.RLock()  # two threads that parse at once end in a SystemError of Python 3.11
LOOKUPS = {"getattr": 1, "attrgetter": 0, "methodcaller": 0}  # of attributes by name, which is this argument

Chain = tuple[str, ...]
Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


@dataclass(frozen=True)
class Import:
    """An import in the body of a function: `from module import attribute as name`, with this number of leading dots."""

    name: str
    module: str
    attribute: str | None
    level: int


@dataclass(frozen=True)
class Syntax:
    """Of one function with all that is defined in it."""

    names: frozenset[str]  # of its module
    chains: frozenset[Chain] = frozenset()
    imports: frozenset[Import] = frozenset()
    assigned: frozenset[str] = frozenset()  # names of its module and closure
    stored: frozenset[str] = frozenset()  # attributes
    used: frozenset[str] = frozenset()  # names and attributes, those of `getattr(x, "name")` too
    computed: bool = False  # whether attributes are looked up by names that are computed
    sourced: bool = True  # whether its source was read


_SEEN: dict[int, tuple[types.CodeType, Syntax]] = {}


def syntax_of(code: types.CodeType) -> Syntax:
    """As the file was at the first request: it may be edited while the program goes on with what it had read."""
    if id(code) not in _SEEN:
        _SEEN[id(code)] = code, _read(code)  # kept, so that its id is given to no other
    return _SEEN[id(code)][1]


def _read(code: types.CodeType) -> Syntax:
    used = names_used(code)
    try:
        with PARSING:
            node = _node_of(code)
            if node is None:
                return _unsourced(used)
            found = _Reading()
            for statement in node.body if isinstance(node.body, list) else [node.body]:
                found.visit(statement)
            known = {_unmangled(name): name for name in sorted(used)} | {name: name for name in used}
            names = {known[name] for name in _module_names(node, code.co_freevars) if name in known}
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return _unsourced(used)
    return Syntax(
        frozenset(names),
        frozenset(found.chains),
        frozenset(found.imports),
        frozenset(found.outside & found.bound),
        frozenset(found.stored),
        used | found.looked_up,
        found.computed,
    )


def _unsourced(used: frozenset[str]) -> Syntax:
    chains = frozenset((name,) for name in used)
    return Syntax(used, chains, used=used, computed=not used.isdisjoint(LOOKUPS), sourced=False)


def names_used(code: types.CodeType) -> frozenset[str]:
    """Names of the module and of attributes, also those in functions within."""
    inner = (part for part in code.co_consts if isinstance(part, types.CodeType))
    return frozenset(code.co_names).union(*map(names_used, inner))


def _unmangled(name: str) -> str:
    """`__limit` of `_Plant__limit`, which Python makes of it in a class."""
    head, mark, tail = name.partition("__")
    return f"__{tail}" if mark and head.startswith("_") and not tail.endswith("__") else name


def _node_of(code: types.CodeType) -> Function | None:
    """Where the code is defined, in its file or, if that is no Python, in the lines that `inspect` finds."""
    text = "".join(linecache.getlines(code.co_filename))
    try:
        return _chosen(code, _functions(text).get(code.co_firstlineno, []))
    except SyntaxError:
        try:
            block = textwrap.dedent(inspect.getsource(code))
        except (OSError, TypeError):
            return None
        return _chosen(code, [one for nodes in _functions(block).values() for one in nodes])


@lru_cache(maxsize=256)
def _functions(text: str) -> dict[int, list[Function]]:
    """Functions by their first line, where decorators begin."""
    found: dict[int, list[Function]] = {}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, Function):
            decorators = () if isinstance(node, ast.Lambda) else node.decorator_list
            found.setdefault(min([node.lineno, *(one.lineno for one in decorators)]), []).append(node)
    return found


def _chosen(code: types.CodeType, nodes: list[Function]) -> Function | None:
    """The one with the name, the arguments and the names of the code; of several in one line, that at its columns."""
    known = names_used(code) | _variables(code)
    fitting = [node for node in nodes if _agrees(node, code, known)]
    if len(fitting) > 1 and len({ast.dump(node) for node in fitting}) > 1:
        fitting = [node for node in fitting if _holds(node, code)][-1:]  # the innermost
    return fitting[0] if fitting else None


def _agrees(node: Function, code: types.CodeType, known: frozenset[str]) -> bool:
    """Whether the node has the name and the arguments of the code, and, if it is a lambda, reads only its names."""
    given = [one.arg for one in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
    if given != list(_arguments(code)):
        return False
    if isinstance(node, ast.Lambda):
        return code.co_name == "<lambda>" and known.issuperset(_loaded(node.body))
    return node.name == code.co_name


def _holds(node: Function, code: types.CodeType) -> bool:
    """Whether the code lies between the beginning and the end of the node."""
    first, last = (node.lineno, node.col_offset), (node.end_lineno or 0, node.end_col_offset or 0)
    places = [place for place in code.co_positions() if None not in place and place[2:] != (0, 0)]
    return bool(places) and all(
        first <= (begin or 0, left or 0) and (end or 0, right or 0) <= last for begin, end, left, right in places
    )


def _arguments(code: types.CodeType) -> Chain:
    return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]


def _variables(code: types.CodeType) -> frozenset[str]:
    inner = (part for part in code.co_consts if isinstance(part, types.CodeType))
    own = {*code.co_varnames, *code.co_freevars, *code.co_cellvars}
    return frozenset(own).union(*map(_variables, inner))


def _loaded(node: ast.AST) -> Iterator[str]:
    return (one.id for one in ast.walk(node) if isinstance(one, ast.Name))


def _module_names(node: Function, enclosed: Iterable[str]) -> set[str]:
    """Names that are read and are neither those of arguments and variables nor of the functions around."""
    bare = ast.parse(ast.unparse(node)).body[0]
    if isinstance(bare, ast.FunctionDef | ast.AsyncFunctionDef):
        bare.decorator_list = []
    around = f"def around({', '.join(name for name in enclosed if name.isidentifier())}):\n"
    text = around + textwrap.indent(ast.unparse(bare), " ")
    tables = symtable.symtable(text, "<function>", "exec").get_children()[0].get_children()
    found: set[str] = set()
    while tables:
        table = tables.pop()
        tables += table.get_children()
        found |= {one.get_name() for one in table.get_symbols() if one.is_global() and one.is_referenced()}
    return found


@dataclass
class _Reading(ast.NodeVisitor):
    chains: set[Chain] = field(default_factory=set)
    imports: set[Import] = field(default_factory=set)
    outside: set[str] = field(default_factory=set)
    bound: set[str] = field(default_factory=set)
    stored: set[str] = field(default_factory=set)
    looked_up: set[str] = field(default_factory=set)
    computed: bool = False

    def visit(self, node: ast.AST) -> Any:
        chain = _chain(node)
        if chain is not None:
            self.chains.add(chain)
        super().visit(node)

    def visit_Name(self, node: ast.Name) -> None:
        if not isinstance(node.ctx, ast.Load):
            self.bound.add(node.id)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        if not isinstance(node.ctx, ast.Load):
            self.stored.add(node.attr)
        self._below(node.value)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        self._below(node.value)
        self.visit(node.slice)

    def visit_Call(self, node: ast.Call) -> None:
        self._look_up(node)
        self._below(node.func)
        for one in (*node.args, *(keyword.value for keyword in node.keywords)):
            self.visit(one)

    def _look_up(self, node: ast.Call) -> None:
        """Note the name that a call such as `getattr(plant, "limit")` looks up."""
        at = LOOKUPS.get(getattr(node.func, "id", getattr(node.func, "attr", "")))
        if at is not None:
            name = node.args[at] if len(node.args) > at else None
            if isinstance(name, ast.Constant) and isinstance(name.value, str):
                self.looked_up.update(name.value.split("."))
            else:
                self.computed = True

    def _below(self, node: ast.AST) -> None:
        """The rest of a chain, which counts as a whole; of other expressions, their chains."""
        if _chain(node) is None:
            self.visit(node)
        else:
            super().visit(node)

    def visit_Global(self, node: ast.Global) -> None:
        self.outside.update(node.names)

    def visit_Nonlocal(self, node: ast.Nonlocal) -> None:
        self.outside.update(node.names)

    def visit_Import(self, node: ast.Import) -> None:
        for one in node.names:
            if one.asname is None:
                self.imports.add(Import(one.name.partition(".")[0], one.name, None, 0))
            else:
                self.imports.add(Import(one.asname, one.name, "", 0))

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        for one in node.names:
            self.imports.add(Import(one.asname or one.name, node.module or "", one.name, node.level))


def _chain(node: ast.AST) -> Chain | None:
    if isinstance(node, ast.Name):
        return (node.id,)
    before = _chain(_base(node)) if isinstance(node, ast.Attribute | ast.Subscript | ast.Call) else None
    if before is None:
        return None
    if isinstance(node, ast.Attribute):
        return (*before, f".{node.attr}")
    if isinstance(node, ast.Subscript):
        return (*before, f"[{_text(node.slice)}]")
    assert isinstance(node, ast.Call)
    if not node.args:
        return (*before, "()")
    return (*before, f"({_text(node.args[0])})")


def _base(node: ast.Attribute | ast.Subscript | ast.Call) -> ast.AST:
    return node.func if isinstance(node, ast.Call) else node.value


def _text(node: ast.AST) -> str:
    if isinstance(node, ast.Constant) and type(node.value) in (str, int):
        return repr(node.value)
    return "..."
