"""Where rows share no decision: pairs alone, the default and `gp-surrogate` at equal solves.

    python -m fewsolves_studies.measure.alone --jobs 2

Problems of the panel with known data by row, in two variants in which no known decision is of use for another row:

feasible    no row may take the decision of another: `Problem(feasible=)` is always False
random      the solver sees the prediction plus noise of 5 % of each parameter's standard deviation: `noisy="solve"`

Development datasets (100, 101), 300 rows, a linear predictor. Ratios are those of the mean regret on 2,000 fresh rows
to that of least squares; solves are per row after the labels. `pairs` is the default with settings={"cost_calls": 0}.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

import fewsolves as fs
from fewsolves.problem import Array, Problem
from fewsolves_studies.benchmarks.study import Result
from fewsolves_studies.measure import fresh_ratio
from fewsolves_studies.measure.resumable import Group, complete, parser_of, write

PROBLEMS, DATASETS, ROWS = ("charging", "blending", "loading"), (100, 101), 300
VARIANTS, METHODS, SOLVES, SEEDS = ("feasible", "random"), ("pairs", "default", "gp-surrogate"), (4,), 2
NOISE = 0.05  # of a random solver, in standard deviations of each parameter


def alone(variant: str, problem: Problem, Y: Array) -> Problem:
    """The problem, such that rows share no decision."""
    if variant == "feasible":
        return dataclasses.replace(problem, feasible=lambda z, instance: False)
    rng, solve_batch = np.random.default_rng(0), problem.solve_batch
    assert solve_batch is not None

    def solve_noisily(y_hat: Array, *known: object) -> object:
        return solve_batch(y_hat + NOISE * Y.std(axis=0) * rng.standard_normal(np.shape(y_hat)), *known)

    return dataclasses.replace(problem, solve=None, solve_batch=solve_noisily, noisy="solve")


def measure(group: Group) -> Iterator[Result]:
    """The runs of one table."""
    for variant, problem, dataset, n, method, solves, seed in group.values():
        table = fresh_ratio.Table(problem, dataset, n)
        table.problem = alone(variant, table.problem, table.Y)
        if method == "gp-surrogate":
            yield table.measure(method, seed=seed, budget=fs.Budget(solves=(solves + 1) * n))
        else:
            settings = {"solves": solves} | ({"cost_calls": 0} if method == "pairs" else {})
            yield table.measure(seed=seed, settings=settings)


def rows(runs: Mapping[str, Result], tables: Sequence[str]) -> list[dict[str, str]]:
    """One row per table and number of solves: mean and standard deviation over seeds."""
    facts = []
    for table in tables:
        row = {"table": table}
        for method in METHODS:
            ratio = [one["ratio"] for name, one in runs.items() if name.startswith(f"{table}/{method}/")]
            paid = [one["solves_after_labels"] for name, one in runs.items() if name.startswith(f"{table}/{method}/")]
            row[method] = f"{np.mean(ratio):.3f} ± {np.std(ratio):.3f}" if ratio else ""
            row[f"solves, {method}"] = f"{np.mean(paid):.1f}" if paid else ""
        facts.append(row)
    return facts


def main(arguments: Sequence[str] | None = None) -> None:
    parser = parser_of(__doc__, "alone")
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--problems", default=",".join(PROBLEMS))
    parser.add_argument("--solves", default=",".join(map(str, SOLVES)), help="per row after the labels")
    given = parser.parse_args(arguments)
    problems, solves, seeds, n = given.problems.split(","), given.solves.split(","), given.seeds, ROWS
    datasets, methods = DATASETS, METHODS
    if given.quick:
        problems, solves, seeds, n, datasets, methods = ["blending"], ["2"], 1, 40, (100,), METHODS[:2]
    groups, tables = [], []
    for each in map(int, solves):
        for variant in VARIANTS:
            for problem, dataset in ((problem, dataset) for problem in problems for dataset in datasets):
                table = f"{variant}/{problem}-{n}.{dataset}@{each}"
                tables.append(table)
                groups.append(
                    {
                        f"{table}/{method}/seed-{seed}": (variant, problem, dataset, n, method, each, seed)
                        for method in methods
                        for seed in range(seeds)
                    }
                )
    runs = complete(groups, measure, given)
    write(given, runs, [rows(runs, tables)])


if __name__ == "__main__":
    main()
