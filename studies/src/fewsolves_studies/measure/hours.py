"""What the default buys in hours: the time until its regret is that of the best other method, by length of a solve.

    python -m fewsolves_studies.measure.hours                     from results/frontier-present/runs.jsonl
    python -m fewsolves_studies.measure.frontier --out DIR ... && python -m fewsolves_studies.measure.hours --runs DIR

The runs are those of `measure.frontier`: a method at a budget, over several datasets. Their solves take microseconds,
so the clock is simulated: all solves of a run, labels and validation too, at so many seconds each, shared out evenly to
the workers, and the CPU that the run took. The goal of a problem is the lowest mean regret of the other methods (pairs,
SFGE, SPO+, shift) at any budget; each method's time is that of its quickest budget that has reached the goal. A method
that reaches it at no budget has no time.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import defaultdict
from pathlib import Path
from statistics import mean
from typing import Any, NamedTuple

from fewsolves_studies.measure.frontier import CASES, rows_of
from fewsolves_studies.measure.frontier_tables import DEFAULT

ROOT = Path(__file__).parents[4]
SIX = ("fleet", "inventory", "lot-sizing", "lot-sizing-stock", "portfolio", "kp-values")
OTHERS = ("pairs", "sfge", "spo+", "shift")
SOLVE_SECONDS, WORKERS = (0.01, 1.0, 60.0), (1, 8)
RUN = re.compile(r"(?P<case>[^/]+)/(?P<method>[^@]+)@(?P<budget>\w+)\.(?P<dataset>\d+)")


class Reached(NamedTuple):
    """A method at a budget, over datasets."""

    regret: float
    solves: float  # in all, of one run
    seconds: float  # of CPU


def read(path: Path, rows: dict[str, int]) -> dict[str, dict[str, list[Reached]]]:
    """By case and method."""
    found: dict[tuple[str, str, str], list[dict[str, Any]]] = defaultdict(list)
    for line in path.read_text().splitlines():
        run = json.loads(line)
        if (match := RUN.fullmatch(run["run"])) and match["case"] in rows:
            found[match["case"], match["method"], match["budget"]].append(run)
    reached: dict[str, dict[str, list[Reached]]] = defaultdict(lambda: defaultdict(list))
    for (case, method, _), runs in found.items():
        means = (mean(run[name] for run in runs) for name in ("regret", "solves_in_all", "seconds"))
        regret, per_row, seconds = means
        reached[case][method].append(Reached(regret, rows[case] * per_row, seconds))
    return reached


def hours(budgets: list[Reached], goal: float, solve_seconds: float, workers: int) -> float | None:
    """Of the quickest budget that has reached the goal."""
    taken = [one.solves * solve_seconds / workers + one.seconds for one in budgets if one.regret <= goal]
    return min(taken) / 3600 if taken else None


def table(reached: dict[str, dict[str, list[Reached]]]) -> list[dict[str, Any]]:
    """A row for each problem, length of a solve and number of workers."""
    lines = []
    for case, methods in reached.items():
        others = {method: methods[method] for method in OTHERS if method in methods}
        if not others or DEFAULT not in methods:
            continue
        best = min(others, key=lambda method: min(one.regret for one in others[method]))
        goal = min(one.regret for one in others[best])
        for solve_seconds in SOLVE_SECONDS:
            for workers in WORKERS:
                times = {m: hours(methods[m], goal, solve_seconds, workers) for m in (DEFAULT, *others)}
                theirs, ours = times[best], times[DEFAULT]
                ratio = None if ours is None or theirs is None else ours / theirs
                lines.append(
                    {"problem": case, "solve": solve_seconds, "workers": workers, "goal": goal, "best other": best}
                    | {"hours": times, "ratio": ratio}
                )
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    runs = ROOT / "results" / "frontier-present"
    parser.add_argument("--runs", type=Path, default=runs, help="the folder of the frontier")
    parser.add_argument("--cases", nargs="+", choices=CASES, default=list(SIX))
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    lines = table(read(given.runs / "runs.jsonl", {case: rows_of(CASES[case]) for case in given.cases}))
    heads = ("problem", "solve", "workers", "best other", "default", "best other's", "default / other")
    print(f"| {' | '.join(heads)} |\n|{'---|' * len(heads)}")
    for line in lines:
        ours, theirs = line["hours"][DEFAULT], line["hours"][line["best other"]]
        shown = [f"{h:.4g} h" if h is not None else "not reached" for h in (ours, theirs)]
        ratio = "-" if line["ratio"] is None else f"{line['ratio']:.2f}"
        print(f"| {line['problem']} | {line['solve']:g} s | {line['workers']} | {line['best other']} "
              f"| {shown[0]} | {shown[1]} | {ratio} |")  # fmt: skip
    if given.json:
        given.json.parent.mkdir(parents=True, exist_ok=True)
        given.json.write_text(json.dumps(lines, indent=1) + "\n")


if __name__ == "__main__":
    main()
