"""Calls that can run code from a file or a string, found in the syntax tree: what no module of the library may contain.

Names are followed through imports, so that `from pickle import loads as read` is found as `pickle.loads`.
"""

import ast

NEVER = {
    "eval", "exec", "compile", "builtins.eval", "builtins.exec", "os.system", "os.popen", "yaml.load",
    "yaml.unsafe_load",
    "pickle.load", "pickle.loads", "pickle.Unpickler", "_pickle.load", "_pickle.loads", "dill.load", "dill.loads",
    "cloudpickle.load", "cloudpickle.loads", "cloudpickle.pickle.loads", "joblib.load", "marshal.load", "marshal.loads",
    "shelve.open", "pandas.read_pickle", "runpy.run_path",
}  # fmt: skip
CLOCK = {"time.time", "time.time_ns"}  # jumps when the clock is set; durations take monotonic or perf_counter


def banned(source: str) -> list[str]:
    """The offending calls as "line in function or class: name"."""
    tree = ast.parse(source)
    names = _imported(tree)
    found = [(node, _dotted(node.func, names)) for node in ast.walk(tree) if isinstance(node, ast.Call)]
    bad = [(node, name) for node, name in found if name in NEVER or _unsafe(node, name)]
    bad += [(node, name) for node in ast.walk(tree) if (name := _dotted(node, names)) in CLOCK]
    return sorted({f"{node.lineno} in {_scope(tree, node.lineno)}: {name}" for node, name in bad})


def _unsafe(call: ast.Call, name: str) -> bool:
    given = {keyword.arg: keyword.value for keyword in call.keywords}

    def says(argument: str, value: object) -> bool:
        node = given.get(argument)
        return isinstance(node, ast.Constant) and node.value == value

    return (
        ("shell" in given and not says("shell", False))
        or (name == "torch.load" and not says("weights_only", True))
        or ("allow_pickle" in given and not says("allow_pickle", False))
        or (name.endswith(".extractall") and not says("filter", "data"))
    )


def _scope(tree: ast.Module, line: int) -> str:
    around = (node for node in tree.body if node.lineno <= line <= (node.end_lineno or line))
    return next((getattr(node, "name", "module") for node in around), "module")


def _imported(tree: ast.AST) -> dict[str, str]:
    names = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.asname: alias.name for alias in node.names if alias.asname}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
    return names


def _dotted(node: ast.AST, names: dict[str, str]) -> str:
    """`a.b.c` in full; what is not a chain of names begins with "?"."""
    if isinstance(node, ast.Name):
        return names.get(node.id, node.id)
    if isinstance(node, ast.Attribute):
        return f"{_dotted(node.value, names)}.{node.attr}"
    return "?"
