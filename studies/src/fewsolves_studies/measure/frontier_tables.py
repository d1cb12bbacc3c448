"""What the runs of frontier.py say: the default beside the best other method at the same number of solves.

An entry is one method under one budget on one case, over datasets; regrets are ratios to PFL's on the same dataset. At
a budget b a method counts with its run of the largest setting up to b, where it paid no more than b. The error of a
difference is the larger of two standard errors: over datasets, and over fresh rows.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from fewsolves_studies.benchmarks.study import Result, Study

Count = Literal["solves", "solves_after_labels", "solves_in_all"]
BUDGETS = (0, 1, 2, 4, 8, 16, 32, 64, 128)
OWN = "own"  # as many solves as the method takes by itself
DEFAULT = "staged"
FOUR = ("kp-weights", "kp-values", "kp-capacity", "wsmc-10-50")
SLACK = 1.05  # an epoch ends a little later than the budget
GOALS = {
    "kp-weights": (0.76, 0.66, 0.57, 0.50),
    "kp-values": (0.19, 0.15, 0.14, 0.13),
    "kp-capacity": (0.42, 0.41, 0.41, 0.40),
    "wsmc-10-50": (0.29, 0.27, 0.255, 0.24),
}
GOAL_BUDGETS = (1, 4, 16, 64)
CHOSEN_ON = (
    "tour", "scheduling", "loading", "dispatching", "staffing", "assignment",
    "blending", "charging", "drift", "recourse",
)  # fmt: skip
NOT_BLACK_BOX = ("spo+", "pg", "perturbed-fy", "floor", "pfl", "shift")
PAPER = Path(__file__).parents[4] / "results" / "paper"


@dataclass(frozen=True)
class Entry:
    """One method under one budget on one case."""

    method: str
    budget: str
    ratio: Mapping[int, float]  # by dataset, to PFL
    blocks: Mapping[int, np.ndarray]  # the same of blocks of fresh rows; empty where they are not on record
    solves: float  # training solves per row
    solves_in_all: float
    cost_calls: float = 0.0
    solves_after_labels: float = math.nan  # not on record of older runs

    @property
    def setting(self) -> float:
        """The budget as a number; a method without one takes its place before all others."""
        return float(self.budget) if self.budget.isdigit() else -1.0

    @property
    def mean(self) -> float:
        return float(np.mean([*self.ratio.values()]))

    @property
    def error(self) -> float:
        """Of the mean ratio, over datasets."""
        return _error([*self.ratio.values()])


class Difference(NamedTuple):
    """Of two mean ratios, the first less the second."""

    mean: float
    error: float


def _error(values: Sequence[float]) -> float:
    return float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0


def difference(one: Entry, other: Entry) -> Difference:
    """Over the datasets that both have, row by row and dataset by dataset."""
    datasets = sorted(one.ratio.keys() & other.ratio.keys())
    off = [one.ratio[k] - other.ratio[k] for k in datasets]
    both = [k for k in datasets if k in one.blocks and k in other.blocks]
    rows = [_error(list(one.blocks[k] - other.blocks[k])) for k in both]
    over_rows = float(np.sqrt(np.sum(np.square(rows)))) / len(both) if both else 0.0
    return Difference(float(np.mean(off)), max(_error(off), over_rows))


def entries(runs: Mapping[str, Result]) -> dict[str, list[Entry]]:
    """By case, in the order of the runs."""
    found: dict[str, dict[tuple[str, str], dict[int, Result]]] = {}
    for run, result in runs.items():
        match = re.fullmatch(r"(.+)/(.+)@(\w+)\.(\d+)", run)
        assert match is not None, run
        case, method, budget, dataset = match.groups()
        found.setdefault(case, {}).setdefault((method, budget), {})[int(dataset)] = result
    return {
        case: [
            _entry(method, budget, by, of["pfl", OWN])
            for (method, budget), by in of.items()
            if len(by) == max(len(any_of) for (which, _), any_of in of.items() if which == method)  # else half run
        ]
        for case, of in found.items()
        if ("pfl", OWN) in of
    }


def _entry(method: str, budget: str, results: Mapping[int, Result], pfl: Mapping[int, Result]) -> Entry:
    results = {k: result for k, result in results.items() if k in pfl}
    return Entry(
        method,
        budget,
        {k: result["regret"] / pfl[k]["regret"] for k, result in results.items()},
        {k: np.array(result["blocks"]) / pfl[k]["regret"] for k, result in results.items()},
        *(
            float(np.mean([r.get(key, math.nan) for r in results.values()]))
            for key in ("solves", "solves_in_all", "cost_calls", "solves_after_labels")
        ),
    )


def of_the_paper(runs: Mapping[str, Result], case: str, datasets: Sequence[int]) -> list[Entry]:
    """The black-box methods that have no runs here, at their own cost, where `fewsolves paper` has run them."""
    benchmark, predictor = problem_of(case), "network" if case.endswith("-network") else "linear"
    pfl = {k: runs.get(f"{benchmark}/pfl.{predictor}.{k}") for k in datasets}
    found: dict[str, dict[int, Result]] = {}
    for run, result in runs.items():
        match = re.fullmatch(rf"{re.escape(benchmark)}/([a-z+-]+)\.{predictor}\.(\d+)", run)
        if match and match[1] not in (*NOT_BLACK_BOX, "pairs", DEFAULT) and pfl.get(int(match[2])):
            found.setdefault(match[1], {})[int(match[2])] = result
    return [
        Entry(
            method,
            "paper",
            {k: result["fresh_regret"] / pfl[k]["fresh_regret"] for k, result in by.items()},
            {},
            float(np.mean([result["solves_per_instance"] for result in by.values()])),
            float(np.mean([result["total_solves_per_instance"] for result in by.values()])),
        )
        for method, by in found.items()
        if len(by) == len(datasets)
    ]


def at(of_case: Sequence[Entry], budget: float, count: Count) -> dict[str, Entry]:
    """The result of each method within a budget of solves per row."""
    fits: dict[str, Entry] = {}
    for entry in sorted(of_case, key=lambda entry: entry.setting):
        own_end = entry.method == DEFAULT and entry.budget == OWN
        if not own_end and entry.setting <= budget and getattr(entry, count) <= SLACK * budget:
            key = entry.method if entry.budget != "paper" else f"{entry.method} to its end"
            fits[key] = entry
    return fits


class Comparison(NamedTuple):
    """The default at one budget on one case."""

    case: str
    budget: float
    default: Entry
    best: Entry  # of the other methods that paid no more
    to_best: Difference
    to_pfl: Difference
    to_shift: Difference | None  # None where shift pays more than the budget


def compare(by_case: Mapping[str, Sequence[Entry]], count: Count) -> list[Comparison]:
    """Every budget on every case that the default has run on."""
    found = []
    for case, of_case in by_case.items():
        budgets = {entry.setting for entry in of_case if entry.method == DEFAULT}
        for budget in (budget for budget in BUDGETS if budget in budgets):
            fits = at(of_case, budget, count)
            default = fits.pop(DEFAULT, None)
            if default is None:
                continue
            others = [entry for entry in fits.values() if default.ratio.keys() <= entry.ratio.keys()]
            if not others:
                continue
            best = min(others, key=lambda other: -difference(default, other).mean)
            shift = fits.get("shift")
            found.append(
                Comparison(
                    case,
                    budget,
                    default,
                    best,
                    difference(default, best),
                    difference(default, fits["pfl"]),
                    None if shift is None else difference(default, shift),
                )
            )
    return found


def problem_of(case: str) -> str:
    """The problem of a case: kp-values-network, staffing-frozen and lot-sizing-1000 are variants."""
    return re.sub(r"(-network|-frozen|-1000)+$", "", case)


GROUPS: dict[str, Callable[[str], bool]] = {
    "reported half of the panel": lambda case: problem_of(case) not in (*CHOSEN_ON, *FOUR),
    "half that settings were chosen on": lambda case: problem_of(case) in CHOSEN_ON,
    "the paper's four, linear": lambda case: case in FOUR,
    "the paper's four, network": lambda case: case.endswith("-network"),
    "all": lambda case: True,
}


def clearly_above(gap: Difference | None) -> bool:
    """More than one standard error."""
    return gap is not None and gap.mean > gap.error + 1e-12


def by_budget(comparisons: Sequence[Comparison]) -> list[dict[str, str]]:
    """How often the default is within one standard error of the best, and how far from it, by group and budget."""
    rows = []
    for group, belongs in GROUPS.items():
        mine = [one for one in comparisons if belongs(one.case)]
        for budget in (*BUDGETS, None):
            some = [one for one in mine if budget is None or one.budget == budget]
            if some:
                rows.append({"problems": group, "solves per row": "all budgets" if budget is None else str(budget)})
                rows[-1] |= _counted(some)
    return rows


def _counted(some: Sequence[Comparison]) -> dict[str, str]:
    with_shift = [one for one in some if one.to_shift is not None]
    behind = [one for one in some if clearly_above(one.to_best)]
    within = len(some) - len(behind)
    return {
        "compared": str(len(some)),
        "within 1 s.e. of the best other": f"{within} ({within / len(some):.0%})",
        "not, and 1 % of PFL's regret behind": str(sum(one.to_best.mean > 0.01 for one in behind)),
        "mean distance from it": f"{np.mean([one.to_best.mean for one in some]):+.3f}",
        "largest distance": f"{max(one.to_best.mean for one in some):+.3f}",
        "more than 1 s.e. above PFL": str(sum(clearly_above(one.to_pfl) for one in some)),
        "above shift": f"{sum(clearly_above(one.to_shift) for one in with_shift)} of {len(with_shift)}",
    }


def by_case(comparisons: Sequence[Comparison]) -> list[dict[str, str]]:
    """One row per case: the default's ratio to PFL at each budget, with the best other method under it."""
    rows = []
    for case in dict.fromkeys(one.case for one in comparisons):
        mine = {one.budget: one for one in comparisons if one.case == case}
        datasets = len(next(iter(mine.values())).default.ratio)
        row = {"case": case, "datasets": str(datasets)}
        for budget in BUDGETS:
            row[f"@ {budget}"] = _cell(mine[budget]) if budget in mine else ""
        rows.append(row)
    return rows


def _cell(one: Comparison) -> str:
    clear = "**" if clearly_above(one.to_best) else ""
    return f"{clear}{one.default.mean:.3f}{clear} / {one.best.mean:.3f} {one.best.method}"


def alone(by_case: Mapping[str, Sequence[Entry]]) -> list[dict[str, str]]:
    """Solves and results of the default without a budget."""
    rows = []
    for case, of_case in by_case.items():
        mine = next((entry for entry in of_case if (entry.method, entry.budget) == (DEFAULT, OWN)), None)
        if mine is None:
            continue
        pfl = next(entry for entry in of_case if entry.method == "pfl")
        rows.append(
            {
                "case": case,
                "training solves per row": f"{mine.solves:.1f}",
                "in all": f"{mine.solves_in_all:.1f}",
                "cost calls per row": f"{mine.cost_calls:,.0f}",
                "ratio to PFL": f"{mine.mean:.3f} ± {difference(mine, pfl).error:.3f}",
            }
        )
    return rows


def must_show(by_case: Mapping[str, Sequence[Entry]]) -> list[dict[str, str]]:
    """The paper's four with a linear predictor beside the goals."""
    rows = []
    for case, goals in GOALS.items():
        mine = {entry.setting: entry for entry in by_case.get(case, ()) if entry.method == DEFAULT}
        row = {"benchmark": case} | {f"@ {budget}": "" for budget in GOAL_BUDGETS}
        for budget, goal in zip(GOAL_BUDGETS, goals, strict=True):
            entry = mine.get(budget)
            if entry is not None:
                error = f" ± {entry.error:.3f}" if len(entry.ratio) > 1 else ""
                row[f"@ {budget}"] = f"{entry.mean:.3f}{error} ({goal})"
        rows.append(row)
    return rows


def markdown(rows: Sequence[Mapping[str, str]]) -> str:
    heads = list(dict.fromkeys(head for row in rows for head in row))
    lines = [heads, ["---"] * len(heads), *([row.get(head, "") for head in heads] for row in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


HEADINGS = {
    "must-show": (
        "The paper's four, linear predictor: the default's ratio to PFL on fresh rows at so many training solves per "
        "row, ± its standard error over datasets (in brackets: the goal)"
    ),
    "by-budget": (
        "The default at the same number of training solves per row as the best other method. Distances are in PFL's "
        "regret; below 0 the default is better"
    ),
    "by-budget-after-labels": "The same with all solves counted but the labels: validation and evidence, training",
    "by-case-after-labels": "By case with all solves counted but the labels",
    "by-budget-in-all": "The same with all solves counted: labels, validation, training",
    "by-case": (
        "The default's ratio to PFL / that of the best other method that paid no more training solves; bold where the "
        "default is more than one standard error worse"
    ),
    "alone": "The default without a budget: it ends by itself",
}


def tables(runs: Mapping[str, Result]) -> tuple[dict[str, list[Entry]], dict[str, list[dict[str, str]]]]:
    """What is on record by case, the methods of the paper's study among it, and all tables by name."""
    found, paper = entries(runs), Study(PAPER).read()
    for case, of_case in found.items():
        datasets = sorted(next(entry for entry in of_case if entry.method == "pfl").ratio)
        of_case += of_the_paper(paper, case, datasets)
    comparisons, after_labels = compare(found, "solves"), compare(found, "solves_after_labels")
    return found, {
        "must-show": must_show(found),
        "by-budget": by_budget(comparisons),
        "by-budget-after-labels": by_budget(after_labels),
        "by-case-after-labels": by_case(after_labels),
        "by-budget-in-all": by_budget(compare(found, "solves_in_all")),
        "by-case": by_case(comparisons),
        "alone": alone(found),
    }


def write(out: Path, runs: Mapping[str, Result]) -> None:
    """Tables as Markdown in one file and as CSV each, and the pictures."""
    from fewsolves_studies.measure.frontier_pictures import draw

    found, by_name = tables(runs)
    out.mkdir(parents=True, exist_ok=True)
    commits = sorted({str(result.get("commit")) for result in runs.values()})
    minutes = sum(result["seconds"] for result in runs.values()) / 60
    head = (
        f"Made by `python -m fewsolves_studies.measure.frontier` at {', '.join(commits)}: {len(runs)} runs, "
        f"{minutes:.0f} minutes of "
    )
    text = [head + "the processor."]
    for name, rows in by_name.items():
        if rows:
            text += [f"## {HEADINGS[name]}", markdown(rows)]
            with (out / f"{name}.csv").open("w", newline="") as file:
                writer = csv.DictWriter(file, list(dict.fromkeys(head for row in rows for head in row)))
                writer.writeheader()
                writer.writerows(rows)
    (out / "tables.md").write_text("\n\n".join(text) + "\n")
    draw(out, found)
