"""More solves, less regret? The default at 1, 4, 16 and 64 solves per row on every problem of the panel.

    python -m fewsolves_studies.measure.monotone --jobs 2
    python -m fewsolves_studies.measure.monotone --problems fleet,tour --budgets 1,4

Ratios are to least squares on all rows, on 2,000 fresh rows, a linear predictor. A step to four times the solves is
marked where the regret is more than one standard error above that of the smaller budget: the error of the paired
difference, the larger of that over datasets and that over ten blocks of fresh rows, as on the frontier.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from fewsolves_studies.benchmarks.catalogue import PANEL
from fewsolves_studies.benchmarks.study import Result
from fewsolves_studies.measure import fresh_ratio
from fewsolves_studies.measure.frontier_tables import Entry, clearly_above, difference
from fewsolves_studies.measure.resumable import Group, complete, parser_of, write

BUDGETS = (1, 4, 16, 64)
FIRST, DATASETS = 100, 3


def name_of(problem: str, budget: int, dataset: int) -> str:
    """Of a run in the study."""
    return f"{problem}/{budget}.{dataset}"


def measure(group: Group) -> Iterator[Result]:
    """All budgets on one table."""
    for problem, dataset, n, n_fresh, budget in group.values():
        table = fresh_ratio.table(problem, dataset, n, n_fresh)
        yield table.measure(settings={"solves": budget})


def entry(runs: Mapping[str, Result], problem: str, budget: int, datasets: Sequence[int]) -> Entry | None:
    """The runs with one budget on one problem; None where there are none."""
    found = {k: runs[name] for k in datasets if (name := name_of(problem, budget, k)) in runs}
    if not found:
        return None
    counts = [float(np.mean([one[key] for one in found.values()])) for key in ("solves_after_labels", "solves_in_all")]
    ratios = {k: one["ratio"] for k, one in found.items()}
    return Entry("staged", str(budget), ratios, {k: np.array(one["blocks"]) for k, one in found.items()}, *counts)


def rows(
    runs: Mapping[str, Result], problems: Sequence[str], budgets: Sequence[int], datasets: Sequence[int]
) -> tuple[list[dict[str, str]], int, int]:
    """One row per problem; how many steps there are, and how many are marked."""
    facts, steps, marked = [], 0, 0
    for problem in problems:
        entries = [entry(runs, problem, budget, datasets) for budget in budgets]
        row, before = {"problem": problem}, None
        for budget, one in zip(budgets, entries, strict=True):
            if one is None:
                row[f"@ {budget}"] = ""
                continue
            row[f"@ {budget}"] = f"{one.mean:.3f} ({one.solves:.1f})"
            if before is not None:
                gap = difference(one, before)
                worse = clearly_above(gap)
                steps, marked = steps + 1, marked + worse
                if worse:
                    row[f"@ {budget}"] = f"**{one.mean:.3f}** ({one.solves:.1f}), {gap.mean:+.3f} ± {gap.error:.3f}"
            before = one
        facts.append(row)
    return facts, steps, marked


def main(arguments: Sequence[str] | None = None) -> None:
    parser = parser_of(__doc__, "monotone")
    parser.add_argument("--problems", default=",".join(PANEL))
    parser.add_argument("--budgets", default=",".join(map(str, BUDGETS)))
    parser.add_argument("--first", type=int, default=FIRST, help="dataset")
    parser.add_argument("--datasets", type=int, default=DATASETS, help="how many")
    given = parser.parse_args(arguments)
    problems, budgets = given.problems.split(","), [int(one) for one in given.budgets.split(",")]
    datasets, size = range(given.first, given.first + given.datasets), (None, fresh_ratio.FRESH)
    if given.quick:
        problems, budgets, datasets, size = ["fleet"], [1, 4], range(100, 101), (60, 100)
    groups = [
        {name_of(problem, budget, dataset): (problem, dataset, *size, budget) for budget in budgets}
        for dataset in datasets
        for problem in problems
    ]
    runs = complete(groups, measure, given)
    table, steps, marked = rows(runs, problems, budgets, datasets)
    said = (
        "Mean ratio to least squares, in brackets the solves per row that were paid after the labels; bold where it is "
        f"more than one standard error above that with fewer solves: {marked} of {steps} steps."
    )
    write(given, runs, [said, table])


if __name__ == "__main__":
    main()
