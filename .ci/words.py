"""Keep unclear words out of identifiers, and constants to one meaning: `python .ci/words.py`, part of `make lint`.

Python files of the package, the studies, the tests and the tools are tokenised, so text in strings and comments is
free: names on disk, such as the column `told` of a ledger, stay. An identifier is split at underscores and capitals.
Within a folder of the package no two files have a constant of one name and different values.
"""

from __future__ import annotations

import ast
import re
import sys
import tokenize
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TypeGuard

ROOT = Path(__file__).parents[1]
CHECKED = tuple(ROOT / name for name in ("src", "studies", "tests", "examples", "docs/site", ".ci"))
FORMER = {"test_renamed.py"}  # checks that former names still work
WORDS = {
    "told": "message, reason, description or facts",
    "tell": "report, show, log or describe",
    "fly": "run",
    "anew": "recompute or replace",
    "asked": "requested, queried or called",
    "dear": "expensive",
    "nobody": "the negative of what happens, such as no_charge",
    "somebody": "the noun: user, process, run",
    "whoever": "the noun: user, caller, run",
    "whose": "the noun: owner, predictor_name",
}
REGISTERED = {"FAMILY", "METHOD", "METHODS", "OPTIONS"}  # of one meaning, with a value in each file
PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


def main(paths: Iterable[Path] = CHECKED, package: Path = ROOT / "src") -> int:
    """Print identifiers with such a word and constants with two values; the exit code is 1 where there are any."""
    files = [file for path in paths for file in sorted(path.rglob("*.py")) if file.name not in FORMER]
    found = [line for file in files for line in faults(file)]
    found += [line for folder in sorted({file.parent for file in package.rglob("*.py")}) for line in ambiguous(folder)]
    print("\n".join(found) or "identifiers: no unclear words, no constant with two values")
    return min(1, len(found))


def ambiguous(folder: Path) -> Iterator[str]:
    """One line for each constant that two files of a folder define with different values."""
    known: dict[str, tuple[str, str]] = {}
    for file in sorted(folder.glob("*.py")):
        for name, value in constants(file):
            before, other = known.setdefault(name, (value, file.name))
            if value != before and name not in REGISTERED:
                yield f"{file}: {name} is {value} here and {before} in {other}; give each a name of its own"


def constants(file: Path) -> Iterator[tuple[str, str]]:
    """The names in capitals that a module assigns, with the code of their values."""
    for line in ast.parse(file.read_text(encoding="utf-8")).body:
        if not isinstance(line, ast.Assign):
            continue
        for target in line.targets:
            pairs = [(target, line.value)]
            if isinstance(target, ast.Tuple) and isinstance(line.value, ast.Tuple):
                pairs = list(zip(target.elts, line.value.elts, strict=True))
            yield from ((one.id, ast.unparse(value)) for one, value in pairs if _is_constant(one))


def _is_constant(target: ast.expr) -> TypeGuard[ast.Name]:
    return isinstance(target, ast.Name) and target.id.isupper() and len(target.id) > 1


def faults(file: Path) -> Iterator[str]:
    """One line for each identifier in `file` with an unclear word."""
    for name, line in identifiers(file):
        for part in PART.findall(name):
            if better := WORDS.get(part.lower()):
                yield f"{file}:{line}: {name!r} has the word {part.lower()!r}; use {better}"


def identifiers(file: Path) -> Iterator[tuple[str, int]]:
    """Names in the code of `file`, without text; those inside of f-strings from Python 3.12 on."""
    with tokenize.open(file) as opened:
        for token in tokenize.generate_tokens(opened.readline):
            if token.type == tokenize.NAME and "renamed_attribute(" not in token.line:  # an alias for one release
                yield token.string, token.start[0]


if __name__ == "__main__":
    sys.exit(main())
