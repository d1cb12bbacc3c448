"""What a first use takes: megabytes that are installed, the import, and the README's example, in CPU seconds.

    python -m fewsolves_studies.measure.first_use [--against 5e10b34] [--rounds 3] [--json results/lighter/first.json]

Sizes are those of the files of each distribution that `pip install fewsolves` brings, by the requirements of what is
installed here, and of those that the extra torch adds. Times are cases of `measure.speed`, each in a process of its
own, in turns with another commit.
"""

from __future__ import annotations

import argparse
import json
import re
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

from fewsolves_studies.measure.identity import ROOT, checkout
from fewsolves_studies.measure.speed import compare

CASES = ("import", "imports of a fit", "first fit", "fit")
EXTRA = re.compile(r";.*extra\s*==\s*['\"](?P<extra>[\w-]+)['\"]")
NAME = re.compile(r"[A-Za-z0-9._-]+")


def requirements(name: str, extra: str | None = None) -> list[str]:
    """Names of the distributions that one needs by itself, or for an extra."""
    needed = []
    for line in distribution(name).requires or ():
        found = EXTRA.search(line)
        wanted = extra is None if found is None else found["extra"] == extra
        if wanted and (match := NAME.match(line)) and not re.search(r"sys_platform\s*==\s*['\"]win", line):
            needed.append(match[0])
    return needed


def closure(names: list[str], known: frozenset[str] = frozenset()) -> dict[str, float]:
    """Megabytes of these and all that they need, without those that are known."""
    sizes: dict[str, float] = {}
    left = list(names)
    while left:
        name = left.pop().lower().replace("_", "-")
        if name in sizes or name in known:
            continue
        try:
            files = distribution(name).files or ()
        except PackageNotFoundError:  # of another platform
            continue
        paths = [Path(str(one.locate())) for one in files]
        sizes[name] = sum(path.stat().st_size for path in paths if path.is_file()) / 1e6
        left += requirements(name)
    return sizes


def from_pyproject(extra: str | None = None) -> list[str]:
    """Names that the project asks for, by itself or for an extra."""
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lines = project["dependencies"] if extra is None else project["optional-dependencies"][extra]
    return [match[0] for line in lines if (match := NAME.match(line))]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--against", default="5e10b34", help="the commit to compare with")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--sizes", action="store_true", help="sizes alone")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    core = closure(from_pyproject())
    extra = closure(from_pyproject("torch"), frozenset(core))
    found: dict[str, Any] = {"core MB": core, "torch MB": extra, "times": {}}
    for title, sizes in (("core", core), ("extra torch", extra)):
        listed = ", ".join(f"{name} {size:.0f}" for name, size in sorted(sizes.items(), key=lambda one: -one[1]))
        print(f"{title}: {sum(sizes.values()):.0f} MB ({listed})", flush=True)
    for case in () if given.sizes else CASES:
        found["times"][case] = compare(case, checkout(given.against), ROOT, given.rounds)
        print(json.dumps(found["times"][case]), flush=True)
    if given.json:
        given.json.parent.mkdir(parents=True, exist_ok=True)
        given.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
