"""What the default buys in hours: the time until its regret is that of the best other method, by length of a solve.

    python -m fewsolves_studies.measure.hours [--json results/lighter/hours.json]
    python -m fewsolves_studies.measure.frontier --out DIR ... && python -m fewsolves_studies.measure.hours --runs DIR

The runs are those of `measure.frontier`: a method at a budget, over the datasets that all methods of a problem have.
Their solves take microseconds, so the clock is simulated: all solves of a run, labels and validation too, at so many
seconds each, and the CPU that the run took. Eight workers answer a request in rounds of eight, so they wait where a
method requests few solves at a time; where no run of a method and budget has counted its rounds, its solves are taken
as shared out evenly. The goal of a problem is the lowest mean
regret of the other methods (pairs, SFGE, SPO+, shift) at any budget; each method's time is that of its quickest budget
that has reached the goal. A method that reaches it at no budget has no time. Where a method creeps to its lowest
regret, the goal comes late, so the ratio is printed for a goal that is 1 % above it, too: the time of the default to
that of the quickest other method.
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
NEARLY = 1.01  # of the goal
SOLVE_SECONDS, WORKERS = (0.01, 1.0, 60.0), 8
RUN = re.compile(r"(?P<case>[^/]+)/(?P<method>[^@]+)@(?P<budget>\w+)\.(?P<dataset>\d+)")


class Reached(NamedTuple):
    """A method at a budget, over datasets."""

    regret: float
    solves: float  # in all, of one run
    rounds: float  # in which eight workers answer them
    seconds: float  # of CPU


def read(paths: list[Path], rows: dict[str, int]) -> dict[str, dict[str, list[Reached]]]:
    """By case and method, means over the datasets that all of these methods have."""
    found: dict[str, dict[tuple[str, str], dict[str, Any]]] = defaultdict(lambda: defaultdict(dict))
    for line in "".join(path.read_text() for path in paths).splitlines():
        run = json.loads(line)
        match = RUN.fullmatch(run["run"])
        if match and match["case"] in rows and match["method"] in (DEFAULT, *OTHERS):
            of_budget = found[match["case"]][match["method"], match["budget"]]
            of_budget[match["dataset"]] = run | of_budget.get(match["dataset"], {})
    reached: dict[str, dict[str, list[Reached]]] = defaultdict(lambda: defaultdict(list))
    for case, by_budget in found.items():
        common = set.intersection(*(set(runs) for runs in by_budget.values()))
        for (method, _), runs in by_budget.items():
            means = (mean(runs[k][name] for k in common) for name in ("regret", "solves_in_all", "seconds"))
            regret, per_row, seconds = means
            counted = [
                rows[case] * run["solves_in_all"] / run["rounds_of_8"] for run in runs.values() if "rounds_of_8" in run
            ]
            solves = rows[case] * per_row
            rounds = solves / (mean(counted) if counted else WORKERS)
            reached[case][method].append(Reached(regret, solves, rounds, seconds))
    return reached


def hours(budgets: list[Reached], goal: float, solve_seconds: float, workers: int) -> float | None:
    """Of the quickest budget that has reached the goal."""
    reached = [one for one in budgets if one.regret <= goal]
    taken = [(one.solves if workers == 1 else one.rounds) * solve_seconds + one.seconds for one in reached]
    return min(taken) / 3600 if taken else None


def ratio(times: dict[str, float | None]) -> float | None:
    """Of the default to the quickest other method."""
    ours, theirs = times[DEFAULT], [taken for one, taken in times.items() if one != DEFAULT and taken is not None]
    return None if ours is None or not theirs else ours / min(theirs)


def table(reached: dict[str, dict[str, list[Reached]]]) -> list[dict[str, Any]]:
    """A row for each problem, length of a solve and number of workers."""
    lines = []
    for case, methods in reached.items():
        others = [method for method in OTHERS if method in methods]
        best = min(others, key=lambda method: min(one.regret for one in methods[method]))
        goal = min(one.regret for one in methods[best])
        for solve_seconds in SOLVE_SECONDS:
            for workers in (1, WORKERS):
                times, nearly = (
                    {method: hours(methods[method], aim, solve_seconds, workers) for method in (DEFAULT, *others)}
                    for aim in (goal, NEARLY * goal)
                )
                lines.append(
                    {"problem": case, "solve": solve_seconds, "workers": workers, "goal": goal, "best other": best}
                    | {"hours": times, "ratio": ratio(times), "ratio within 1 %": ratio(nearly)}
                )
    return lines


def printed(value: float | None, form: str, none: str) -> str:
    return none if value is None else format(value, form)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    folders = [ROOT / "results" / name for name in ("frontier-present", "lighter/hours")]
    parser.add_argument("--runs", type=Path, nargs="+", default=folders, help="folders of the frontier")
    parser.add_argument("--cases", nargs="+", choices=CASES, default=list(SIX))
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    paths = [folder / "runs.jsonl" for folder in given.runs]
    lines = table(read(paths, {case: rows_of(CASES[case]) for case in given.cases}))
    heads = ("problem", "solve", "workers", "best other", "default", "best other's", "default / other", "within 1 %")
    print(f"| {' | '.join(heads)} |\n|{'---|' * len(heads)}")
    for line in lines:
        times = [printed(line["hours"][one], ".4g", "not reached") for one in (DEFAULT, line["best other"])]
        ratios = [printed(line[one], ".2f", "-") for one in ("ratio", "ratio within 1 %")]
        cells = (line["problem"], f"{line['solve']:g} s", line["workers"], line["best other"], *times, *ratios)
        print(f"| {' | '.join(map(str, cells))} |")
    if given.json:
        given.json.parent.mkdir(parents=True, exist_ok=True)
        given.json.write_text("[\n" + ",\n".join(map(json.dumps, lines)) + "\n]\n")


if __name__ == "__main__":
    main()
