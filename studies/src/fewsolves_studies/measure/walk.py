"""How long is the way through a plain fit, which functions are the most complex, and how large is the library?

    python -m fewsolves_studies.measure.walk [--worst 12]

Counts the functions of fewsolves that `DecisionRegressor(problem).fit(X, Y)` enters, their files and the depth of the
stack, by `sys.setprofile`; imports are done before. The strict complexity of a function counts every branch: if, for,
while, except, assert, and/or, conditional expressions, comprehensions with their conditions, and match cases. Lines are
those of the library's Python files; code are those that are neither blank nor docstring, comment or import.
"""

from __future__ import annotations

import argparse
import ast
import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

import fewsolves as fs

PACKAGE = Path(fs.__file__).parent
BRANCHES = (ast.If, ast.For, ast.While, ast.ExceptHandler, ast.Assert, ast.IfExp, ast.comprehension, ast.match_case)


def plain_fit() -> None:
    """The fit that is walked through: a newsvendor of two products, 80 rows."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    Y = 10 + X @ rng.normal(size=(3, 2)) + rng.gamma(1.0, 1.0, size=(80, 2))
    problem = fs.Problem(solve=lambda y: y, cost=lambda y, z: float(np.sum(z + 9 * np.maximum(y - z, 0))))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fs.DecisionRegressor(problem, verbose=False).fit(X, Y)


def walk() -> tuple[int, int, int]:
    """Functions, files and depth of the fit."""
    plain_fit()  # imports, caches
    entered: set[Any] = set()
    depth, deepest = 0, 0

    def note(frame: FrameType, event: str, argument: object) -> None:
        nonlocal depth, deepest
        code = frame.f_code
        if not code.co_filename.startswith(str(PACKAGE)) or code.co_name.startswith("<"):
            return
        if event == "call":
            entered.add(code)
            depth += 1
            deepest = max(deepest, depth)
        elif event == "return":
            depth -= 1

    sys.setprofile(note)
    try:
        plain_fit()
    finally:
        sys.setprofile(None)
    return len(entered), len({code.co_filename for code in entered}), deepest


def complexity(function: ast.AST) -> int:
    """Of a function, without the functions inside it."""
    total, open_nodes = 1, list(ast.iter_child_nodes(function))
    while open_nodes:
        node = open_nodes.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        total += isinstance(node, BRANCHES)
        total += len(node.values) - 1 if isinstance(node, ast.BoolOp) else 0
        total += len(node.ifs) if isinstance(node, ast.comprehension) else 0
        open_nodes += ast.iter_child_nodes(node)
    return total


def functions() -> Iterator[tuple[int, str]]:
    """Complexity and place of every function of the library."""
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield complexity(node), f"{path.relative_to(PACKAGE)}:{node.lineno} {node.name}"


def lines() -> tuple[int, int]:
    """Lines of the library, and those of code among them."""
    total = code = 0
    for path in PACKAGE.rglob("*.py"):
        text = path.read_text(encoding="utf-8").splitlines()
        left_out = {k for k, line in enumerate(text, 1) if not line.strip() or line.lstrip().startswith("#")}
        for node in ast.walk(ast.parse("\n".join(text))):
            said = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
            if said or isinstance(node, ast.Import | ast.ImportFrom):
                left_out |= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
        total, code = total + len(text), code + len(text) - len(left_out)
    return total, code


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--worst", type=int, default=12, help="functions to list")
    given = parser.parse_args()
    entered, files, deepest = walk()
    print(f"a plain fit: {entered} functions in {files} files, depth {deepest}")
    total, code = lines()
    folders = Counter(path.parent.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py"))
    most = ", ".join(f"{folder} {number}" for folder, number in folders.most_common(3))
    print(f"{total:,} lines, {code:,} of them code; files by folder: {most}")
    for number, place in sorted(functions(), reverse=True)[: given.worst]:
        print(f"{number:4d}  {place}")


if __name__ == "__main__":
    main()
