"""Keep words without a clear meaning out of identifiers: `python .ci/words.py`, called by `make lint`.

Python files of the package, the studies, the tests and the tools are tokenised, so text in strings and comments is
free: names on disk, such as the column `told` of a ledger, stay. An identifier is split at underscores and capitals.
"""

from __future__ import annotations

import re
import sys
import tokenize
from collections.abc import Iterable, Iterator
from pathlib import Path

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
PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


def main(paths: Iterable[Path] = CHECKED) -> int:
    """Print every identifier with such a word; the number of them is the exit code, at most 1."""
    files = [file for path in paths for file in sorted(path.rglob("*.py")) if file.name not in FORMER]
    found = [line for file in files for line in faults(file)]
    print("\n".join(found) or "identifiers: no unclear words")
    return min(1, len(found))


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
