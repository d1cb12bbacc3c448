"""Each constant of the default, changed in turn: what it does to the regret, and to how far that depends on luck.

    python -m fewsolves_studies.measure.ablation --jobs 2
    python -m fewsolves_studies.measure.ablation --fields folds,residual

Every field of `fewsolves.methods.staged.tuning.Tuning` is halved and doubled, and where that has a meaning it is put
out of action as well (`OFF`). Development problems only, datasets from 100 on, `settings={"solves": 4}`, a linear
predictor. Ratios are to least squares on all rows, on 2,000 fresh rows; a change is the mean over tables of the mean
over seeds, less that of the constants as they stand, with its standard error over tables. A constant may have no part
in a run (`residual` where no pairs are paid, `holdout_rows` in small tables): the table tells how many runs differ at
all, and where none does nothing is known of the constant.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from fewsolves.methods.base import Context, Outcome
from fewsolves.methods.staged.cross_fitting import CrossFitting
from fewsolves.methods.staged.method import Staged
from fewsolves.methods.staged.tuning import Tuning
from fewsolves_studies.benchmarks.study import Result
from fewsolves_studies.measure import fresh_ratio
from fewsolves_studies.measure.resumable import Group, complete, parser_of, write

PROBLEMS = ("tour", "scheduling", "loading", "dispatching", "inventory", "wsmc-10-50")
ROWS, SOLVES, SEEDS, DATASETS = 200, 4, 3, (100, 101)
AS_IT_STANDS = "as it stands"
OFF: dict[str, Any] = {
    "holdout_rows": 0,  # always a holdout, one model
    "refuted": math.inf,  # no stand-in is given up
    "steps_rows": 1,  # no more steps where rows are few
    "lowest_rate": 1.0,  # a constant rate
    "residual": 0.0,  # slopes of the stand-in alone
    "offset": 0.0,  # no search for an offset
    "later_rate": 1.0,  # all stages begin at the same rate
}
LARGEST = {"tail": 1.0, "lowest_rate": 1.0, "evidence": 1.0, "evidence_most": 1.0}  # shares


class Tuned(Staged):
    """The default with other constants: there is no option for them."""

    def __init__(self, tuning: Tuning) -> None:
        self.tuning = tuning

    def train(self, context: Context) -> Outcome:
        return CrossFitting(context, context.settings, self.tuning).run()


def variants(fields: Sequence[str] | None = None) -> dict[str, dict[str, Any]]:
    """Changes of the constants by name: none, then of each field in turn."""
    found: dict[str, dict[str, Any]] = {AS_IT_STANDS: {}}
    for field in dataclasses.fields(Tuning):
        if fields is not None and field.name not in fields:
            continue
        now = getattr(Tuning(), field.name)
        for factor in (0.5, 2.0):
            changed = min(factor * now, LARGEST.get(field.name, math.inf))
            value = max(1, round(changed)) if isinstance(now, int) else changed
            if value != now:
                found[f"{field.name}={value:.4g}"] = {field.name: value}
        if field.name in OFF:
            found[f"{field.name}={OFF[field.name]:.4g} (off)"] = {field.name: OFF[field.name]}
    return found


def name_of(variant: str, problem: str, dataset: int, seed: int) -> str:
    """Of a run in the study."""
    return f"{problem}.{dataset}/{variant}/seed-{seed}"


def measure(group: Group) -> Iterator[Result]:
    """All runs on one table."""
    for problem, dataset, n, n_fresh, changed, seed in group.values():
        method = Tuned(dataclasses.replace(Tuning(), **changed))
        table = fresh_ratio.table(problem, dataset, n, n_fresh)
        yield table.measure(method, seed=seed, settings={"solves": SOLVES})


def rows(runs: Mapping[str, Result], plan: Mapping[str, tuple[str, tuple[str, int], int]]) -> list[dict[str, str]]:
    """One row per variant; `plan` has variant, table and seed by the name of the run."""
    ratios: dict[str, dict[tuple[str, int], list[float]]] = {}
    for name, (variant, table, _) in plan.items():
        if name in runs:
            ratios.setdefault(variant, {}).setdefault(table, []).append(runs[name]["ratio"])
    base, facts = ratios.get(AS_IT_STANDS, {}), []
    for variant, by_table in ratios.items():
        tables = [table for table in by_table if len(by_table[table]) == len(base.get(table, ()))]
        if not tables:
            continue
        change = np.array([np.mean(by_table[table]) - np.mean(base[table]) for table in tables])
        spread = [_spread(by_table[table]) for table in tables]
        before = [_spread(base[table]) for table in tables]
        differ = sum(a != b for table in tables for a, b in zip(by_table[table], base[table], strict=True))
        error = change.std(ddof=1) / math.sqrt(len(change)) if len(change) > 1 else 0.0
        facts.append(
            {
                "constant": variant,
                "tables": str(len(tables)),
                "mean ratio": f"{np.mean([np.mean(by_table[table]) for table in tables]):.4f}",
                "change": f"{change.mean():+.4f} ± {error:.4f}",
                "runs that differ": f"{differ} of {sum(len(by_table[table]) for table in tables)}",
                "clear": ("better" if change.mean() < 0 else "worse") if abs(change.mean()) > 2 * error > 0 else "",
                "mean sd over seeds": f"{np.mean(spread):.4f}",
                "change of it": f"{np.mean(spread) - np.mean(before):+.4f}",
            }
        )
    return facts


def _spread(values: Sequence[float]) -> float:
    return float(np.std(values, ddof=1)) if len(values) > 1 else 0.0


def main(arguments: Sequence[str] | None = None) -> None:
    parser = parser_of(__doc__, "ablation")
    parser.add_argument("--fields", help="of Tuning, separated by commas; all by default")
    parser.add_argument("--problems", default=",".join(PROBLEMS))
    parser.add_argument("--seeds", type=int, default=SEEDS)
    given = parser.parse_args(arguments)
    problems, seeds, size, datasets = given.problems.split(","), given.seeds, (ROWS, fresh_ratio.FRESH), DATASETS
    chosen = None if given.fields is None else given.fields.split(",")
    if given.quick:
        problems, seeds, size, datasets, chosen = ["fleet"], 2, (60, 100), (100,), chosen or ["folds"]
    groups, plan = [], {}
    for variant, changed in variants(chosen).items():
        for problem in problems:
            for dataset in datasets:
                names = {name_of(variant, problem, dataset, seed): seed for seed in range(seeds)}
                plan |= {name: (variant, (problem, dataset), seed) for name, seed in names.items()}
                groups.append({name: (problem, dataset, *size, changed, seed) for name, seed in names.items()})
    runs = complete(groups, measure, given)
    write(given, runs, [rows(runs, plan)])


if __name__ == "__main__":
    main()
