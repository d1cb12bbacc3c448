"""Every method on four benchmarks, one dataset: `python -m fewsolves_studies.measure.methods --jobs 2`.

Methods with presets run in both, the one that is not the default as METHOD@PRESET. Runs are lines of RUNS/runs.jsonl,
shared with `fewsolves paper`: what is there is not run again. The last row of a benchmark, "floor", is no method: what
knowing the true distribution of y given x leaves.

With `--dataset-seed 100`, `101`, ... the same on datasets kept for choosing: the default preset of a method is the one
with the lower validation regret over the benchmarks (last column).
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from fewsolves.methods.registry import METHODS
from fewsolves_studies.benchmarks.catalogue import load
from fewsolves_studies.benchmarks.study import Study
from fewsolves_studies.measure.over_datasets import complete
from fewsolves_studies.paper.experiment import FOUR, Size
from fewsolves_studies.paper.tables import evaluations
from fewsolves_studies.paper.trial import FLOOR, Results, Trial

PRESETS = ("paper", "robust")
ALL = Size()


def trials(benchmark: str, dataset: int) -> Iterator[Trial]:
    """The floor, every method that fits, and the other preset of those that have two."""
    yield ALL.trial(benchmark, FLOOR, dataset)
    problem = load(benchmark, dataset).problem
    for name, method in METHODS.items():
        if method.refuse(problem) is not None:
            continue
        yield ALL.trial(benchmark, name, dataset)
        default = getattr(method.settings, "preset", None)
        if default is not None:
            (other,) = set(PRESETS) - {default}
            yield ALL.trial(benchmark, name, dataset, label=f"{name}@{other}", settings={"preset": other})


def rows(results: Results, benchmark: str) -> Iterator[dict[str, str]]:
    """The table of one benchmark, by the regret on fresh rows; of equal ones the method that paid less comes first."""

    def rank(one: tuple[str, dict[str, Any]]) -> tuple[float, float]:
        return float(one[1]["fresh_regret"]), float(one[1]["solves_per_instance"])

    found = {trial.name: result for trial, result in results.found.items() if trial.benchmark == benchmark}
    floor, pfl = found.pop(FLOOR)["absolute"], found["pfl"]
    for label, result in sorted(found.items(), key=rank):
        fresh = result["fresh_regret"]
        yield {
            "benchmark": benchmark,
            "method": label,
            "regret, 100 test rows": number(result["test_regret"]),
            "regret, 2,000 fresh rows": number(fresh),
            "relative": number(result["fresh_relative_regret"]),
            "ratio to pfl, test": number(result["test_regret"] / pfl["test_regret"]),
            "ratio to pfl, fresh": number(fresh / pfl["fresh_regret"]),
            "gap closed": number((pfl["fresh_regret"] - fresh) / (pfl["fresh_regret"] - floor)),
            "evaluations per row": number(evaluations(result)),
            "solves per row": number(result["solves_per_instance"]),
            "seconds": number(result["seconds"]["total"]),
            "validation, ratio to pfl": number(result["best_validation_regret"] / pfl["best_validation_regret"]),
        }
    closing = {"benchmark": benchmark, "method": "floor", "regret, 2,000 fresh rows": number(floor)}
    yield closing | {"ratio to pfl, fresh": number(floor / pfl["fresh_regret"]), "gap closed": "1"}


def number(value: Any) -> str:
    return "" if value is None else f"{value:.4g}" if abs(value) < 1e5 else f"{value:,.0f}"


@click.command()
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), default=Path("results/methods"))
@click.option("--runs", type=click.Path(path_type=Path, file_okay=False), default=Path("results/paper"))
@click.option("--dataset-seed", default=0)
@click.option("--benchmark", "benchmarks", multiple=True, default=FOUR)
@click.option("--jobs", default=1)
def main(out: Path, runs: Path, dataset_seed: int, benchmarks: tuple[str, ...], jobs: int) -> None:
    planned = [trial for benchmark in benchmarks for trial in trials(benchmark, dataset_seed)]
    results, fine = complete(planned, Study(runs), jobs)
    table = [row for benchmark in benchmarks for row in rows(results, benchmark)]
    heads = list(table[0])
    out.mkdir(parents=True, exist_ok=True)
    with (out / "methods.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, heads)
        writer.writeheader()
        writer.writerows(table)
    lines = [heads, ["---"] * len(heads), *([row.get(head, "") for head in heads] for row in table)]
    command = " ".join(["python", "-m", "fewsolves_studies.measure.methods", *sys.argv[1:]])
    text = f"Made by `{command}` at {', '.join(results.commits())}.\n\n"
    text += "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"
    (out / "methods.md").write_text(text)
    print(text)
    sys.exit(0 if fine else 1)


if __name__ == "__main__":
    main()
