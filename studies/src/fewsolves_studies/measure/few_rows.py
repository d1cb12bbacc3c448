"""Small tables: the default with 30, 60 and 120 rows, and 1 and 4 solves per row.

    python -m fewsolves_studies.measure.few_rows --jobs 2

Six problems, datasets from 100 on, several seeds, a linear predictor. Ratios are to least squares on the same rows, on
2,000 fresh rows; `pfl` is the library's own prediction-focused learning by the same measure, which is regularised: with
so few rows that alone may be most of the gain. What was paid is counted after the labels and must not exceed what is
allowed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from fewsolves_studies.benchmarks.study import Result
from fewsolves_studies.measure import fresh_ratio
from fewsolves_studies.measure.resumable import Group, complete, parser_of, write

PROBLEMS = ("inventory", "fleet", "scheduling", "lot-sizing-stock", "loading", "wsmc-10-50")
ROWS, SOLVES, DATASETS, SEEDS = (30, 60, 120), (1, 4), (100, 101, 102), 4
SMALL = 0.01  # of PFL's regret


def name_of(problem: str, n: int, solves: int, dataset: int, seed: int) -> str:
    """Of a run in the study."""
    return f"{problem}-{n}/{solves}.{dataset}/seed-{seed}"


def measure(group: Group) -> Iterator[Result]:
    """All fits of one table."""
    for problem, n, n_fresh, dataset, solves, seed in group.values():
        table = fresh_ratio.table(problem, dataset, n, n_fresh)
        yield table.measure(seed=seed, settings={"solves": solves})


def row(found: Sequence[Sequence[Result]], solves: int) -> dict[str, str]:
    """What the runs of some tables say, the seeds of each in one sequence."""
    ratio = [np.array([one["ratio"] for one in seeds]) for seeds in found]
    to_pfl = [np.array([one["ratio"] / one["pfl"] for one in seeds]) for seeds in found]
    every, means = np.concatenate(to_pfl), np.array([one.mean() for one in to_pfl])
    paid = [one["solves_after_labels"] for seeds in found for one in seeds]
    error = means.std(ddof=1) / math.sqrt(len(means)) if len(means) > 1 else 0.0
    return {
        "runs": str(len(every)),
        "ratio": f"{np.mean([one.mean() for one in ratio]):.3f}",
        "pfl": f"{np.mean([one['pfl'] for seeds in found for one in seeds]):.3f}",
        "ratio to pfl": f"{means.mean():.3f} ± {error:.3f}",
        "sd over seeds": f"{np.mean([one.std(ddof=1) if len(one) > 1 else 0.0 for one in to_pfl]):.3f}",
        "worst": f"{every.max():.3f}",
        "worse than pfl": f"{np.mean(every > 1 + SMALL):.0%}",
        "start kept": str(sum(one["kept_start"] for seeds in found for one in seeds)),
        "paid per row, at most": f"{max(paid):.2f}" + (" **above**" if max(paid) > solves + 1e-6 else ""),
    }


def main(arguments: Sequence[str] | None = None) -> None:
    parser = parser_of(__doc__, "few_rows")
    parser.add_argument("--problems", default=",".join(PROBLEMS))
    parser.add_argument("--seeds", type=int, default=SEEDS)
    given = parser.parse_args(arguments)
    problems, sizes, datasets = given.problems.split(","), ROWS, DATASETS
    seeds, n_fresh = given.seeds, fresh_ratio.FRESH
    if given.quick:
        problems, sizes, datasets, seeds, n_fresh = ["fleet"], (30,), (100,), 2, 100
    groups = [
        {
            name_of(problem, n, solves, dataset, seed): (problem, n, n_fresh, dataset, solves, seed)
            for solves in SOLVES
            for seed in range(seeds)
        }
        for problem in problems
        for n in sizes
        for dataset in datasets
    ]
    runs = complete(groups, measure, given)
    write(given, runs, [rows(runs, problems, sizes, datasets, seeds)])


def rows(
    runs: Mapping[str, Result], problems: Sequence[str], sizes: Sequence[int], datasets: Sequence[int], seeds: int
) -> list[dict[str, str]]:
    """One row per problem, number of rows and allowance, then those of all problems."""
    facts, together = [], []
    for n in sizes:
        for solves in SOLVES:
            everything = []
            for problem in problems:
                names = [[name_of(problem, n, solves, d, seed) for seed in range(seeds)] for d in datasets]
                found = [some for of in names if (some := [runs[name] for name in of if name in runs])]
                if found:
                    facts.append({"problem": problem, "rows": str(n), "solves": str(solves)} | row(found, solves))
                    everything += found
            if everything:
                together.append({"problem": "all", "rows": str(n), "solves": str(solves)} | row(everything, solves))
    return sorted(facts, key=lambda one: problems.index(one["problem"])) + together


if __name__ == "__main__":
    main()
