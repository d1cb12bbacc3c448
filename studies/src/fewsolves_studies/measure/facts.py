"""The figures that README and guide state, from the files of results/.

    python -m fewsolves_studies.measure.facts       writes results/facts.json, and the figures into the pages

A page marks a figure by its key. Readers do not see the marks:

    The default has <!-- fact: luck.ratio -->0.78<!-- end --> of the regret of prediction-focused learning.

A whole table stands between two comments, <!-- table: peers.table --> and <!-- end table -->, each on its own line.

`studies/tests/measure/test_facts.py` fails where a page states another figure than facts.json, or facts.json another
one than the files that it is made from.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from fewsolves_studies.benchmarks.study import Result, Study
from fewsolves_studies.measure import luck
from fewsolves_studies.measure.frontier_tables import DEFAULT, Entry
from fewsolves_studies.measure.headline import CASES, curves
from fewsolves_studies.measure.peer_facts import peer_facts, pyepo_facts

ROOT = Path(__file__).parents[4]
RESULTS = ROOT / "results"
FILE = RESULTS / "facts.json"
MARK = re.compile(r"<!-- fact: (?P<key>[\w.-]+) -->(?P<stated>.*?)<!-- end -->")
TABLE = re.compile(r"<!-- table: (?P<key>[\w.-]+) -->\n(?P<stated>.*?)<!-- end table -->", re.DOTALL)
FEW = 6.0  # solves per row, labels and validation included, for "with few solves"


def pages() -> list[Path]:
    """README, the guide, and the page of a study whose figures change with the default."""
    named = ("README.md", "examples/README.md", "results/beside-pyepo.md")
    return [*(ROOT / name for name in named), *sorted((ROOT / "docs").rglob("*.md"))]


def facts(results: Path = RESULTS) -> dict[str, str]:
    """All figures by key, as they are printed."""
    every = (_luck, _headline, _speed, _growth, _hours, _examples, peer_facts, pyepo_facts)
    return {key: text for some in every for key, text in some(results)}


def _luck(results: Path) -> Iterator[tuple[str, str]]:
    """The default under several random states, on the development tables that are on record."""
    runs = Study(results / "luck").read()
    names = {case: [luck.name_of(luck.OWN, case, seed) for seed in range(luck.SEEDS)] for case in luck.CASES}
    cases = [case for case, listed in names.items() if all(name in runs for name in listed)]
    by_case = [[runs[name] for name in names[case]] for case in cases]
    ratio = np.array([[one["ratio"] / found[0]["pfl"] for one in found] for found in by_case])
    for problem in CASES:
        large = max(n for name, n, _ in cases if name == problem)
        own = [k for k, (name, n, _) in enumerate(cases) if (name, n) == (problem, large)]
        yield f"luck.{problem}", f"{ratio[own].mean():.2f}"
    yield "luck.tables", str(len(by_case))
    yield "luck.states", str(luck.SEEDS)
    yield "luck.rows", f"{min(n for _, n, _ in cases)} to {max(n for _, n, _ in cases)}"
    yield "luck.solves", f"{_mean(by_case, 'solves_in_all'):.2g}"
    yield "luck.ratio", f"{ratio.mean():.2f}"
    yield "luck.cut", f"{1 - ratio.mean():.0%}".replace("%", " %")
    yield "luck.best", f"{ratio.mean(axis=1).min():.2f}"
    yield "luck.worst", f"{ratio.mean(axis=1).max():.2f}"
    yield "luck.sd", f"{np.mean([_spread(found) for found in by_case]):.3f}"
    yield "luck.milliseconds", f"{1e3 * np.median([_median(found) for found in by_case]):.0f}"


def _spread(found: list[Result]) -> float:
    return float(np.std([one["ratio"] for one in found], ddof=1))


def _median(found: list[Result]) -> float:
    return float(np.median([one["seconds_per_row"] for one in found]))


def _mean(by_case: list[list[Result]], key: str) -> float:
    return float(np.mean([one[key] for found in by_case for one in found]))


def _headline(results: Path) -> Iterator[tuple[str, str]]:
    """The problems of the picture: the default with few solves, and what another method pays for the same regret."""
    for case, by_method in curves(results).items():
        few = max((entry for entry in by_method[DEFAULT] if entry.solves_in_all <= FEW), key=lambda e: e.solves_in_all)
        yield f"headline.{case}.ratio", f"{few.mean:.2f}"
        yield f"headline.{case}.solves", f"{few.solves_in_all:.2g}"
        others = [entry for method, curve in by_method.items() if method != DEFAULT for entry in curve]
        yield f"headline.{case}.next", _needed(few, others)


def _needed(few: Entry, others: list[Entry]) -> str:
    """The fewest solves with which another method is as good."""
    as_good = [entry.solves_in_all for entry in others if entry.mean <= few.mean]
    return f"{min(as_good):.0f}" if as_good else "more than any that was measured"


def _speed(results: Path) -> Iterator[tuple[str, str]]:
    overhead = _json(results / "lighter/overhead.json")
    by_length = {one["solve"]: one["one worker"] for one in overhead["per solve"]}
    yield "worker.short", f"{by_length[1.0]:.2f}"
    yield "worker.long", f"{by_length[100.0]:.1f}"


def _growth(results: Path) -> Iterator[tuple[str, str]]:
    """CPU per row and memory of a fit of a large table by the default."""
    fits = {(one["case"], one["rows"], one["n_y"]): one for one in _json(results / "lighter/growth-present.json")}
    smaller, larger = (fits["staged", rows, 50] for rows in (10_000, 100_000))
    yield "growth.smaller", f"{smaller['us per row'] / 1e3:.1f}"
    yield "growth.larger", f"{larger['us per row'] / 1e3:.1f}"
    yield "growth.memory", f"{larger['most GB']:.1f}"
    sample = fits["staged, a fiftieth of a solve per row", 1_000_000, 10]
    yield "growth.million", f"{sample['us per row']:.0f}"


def _hours(results: Path) -> Iterator[tuple[str, str]]:
    """The default's time to the best other method's regret, as a part of that method's, where solves take a second."""
    lines = [line for line in _json(results / "lighter/hours.json") if line["solve"] == 1.0]
    yield "hours.problems", str(len({line["problem"] for line in lines}))
    for name, workers in (("one", 1), ("eight", 8)):
        for key, of in (("ratio", name), ("ratio within 1 %", f"{name}.nearly")):
            ratios = [line[key] for line in lines if line["workers"] == workers]
            yield f"hours.{of}", f"{min(ratios):.2f} to {max(ratios):.2f}"


def _examples(results: Path) -> Iterator[tuple[str, str]]:
    """How far the regret of each worked example fell on new rows, as a share of that of prediction alone."""
    for name, one in _json(results / "examples.json").items():
        share, low, high = (-one[key] / one["before"] for key in ("difference", "high", "low"))
        yield f"example.{name[:2]}", f"{share:.0%} ({low:.0%} to {high:.0%})".replace("%", " %")


def _json(file: Path) -> Any:
    return json.loads(file.read_text())


def with_facts(text: str, found: Mapping[str, str]) -> str:
    """A page with every marked figure and table as it is in `found`."""
    text = TABLE.sub(lambda mark: f"<!-- table: {mark['key']} -->\n\n{found[mark['key']]}\n\n<!-- end table -->", text)
    return MARK.sub(lambda mark: f"<!-- fact: {mark['key']} -->{found[mark['key']]}<!-- end -->", text)


def main() -> None:
    found = facts()
    FILE.write_text(json.dumps(found, indent=1) + "\n")
    for page in pages():
        text = page.read_text()
        if (new := with_facts(text, found)) != text:
            page.write_text(new)
            print(f"changed {page.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
