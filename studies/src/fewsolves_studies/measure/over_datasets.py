"""Methods x benchmarks x datasets: regret, ratio to PFL, solves and seconds, as CSV and Markdown.

    python -m fewsolves_studies.measure.over_datasets --out results/gp-surrogate --datasets 5 --jobs 2 --methods
        pfl,sfge,gp-surrogate

The runs are in OUT/runs.jsonl, one line each; what is there already is not run again, so a stopped command goes on
where it stopped. A run that fails is reported and does not stop the others. Ratios are means over datasets of (method /
PFL on the same dataset); "+-" is half of the 95 % interval of that mean (Student). Seconds are processor time.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from fewsolves.methods.registry import METHODS
from fewsolves.training.start import EPOCHS
from fewsolves_studies.benchmarks.catalogue import load
from fewsolves_studies.benchmarks.study import Study
from fewsolves_studies.paper.run_trials import run_trials
from fewsolves_studies.paper.tables import summary
from fewsolves_studies.paper.trial import Results, Trial, options

FOUR = "kp-weights,kp-values,kp-capacity,wsmc-10-50"


def complete(planned: list[Trial], study: Study, jobs: int) -> tuple[Results, bool]:
    """Run what is missing; what is there then, and whether nothing failed."""
    done = run_trials(
        planned, study, jobs=jobs, show=lambda progress, news: print(f"{news}  [{progress.line()}]", file=sys.stderr)
    )
    return Results.among(planned, study.read()), not done.failed


def rows(results: Results) -> Iterator[dict[str, object]]:
    """One row per benchmark and method."""
    for benchmark, method, predictor in dict.fromkeys((o.benchmark, o.method, o.predictor) for o in results.found):
        found, start = (results.of(name, benchmark, predictor) for name in (method, "pfl"))
        mine, pfl = list(found.values()), [start.get(dataset) for dataset in found]
        row: dict[str, object] = {"benchmark": benchmark, "method": method, "datasets": len(mine)}
        for part in ("test", "fresh"):
            values = np.array([result[f"{part}_regret"] for result in mine])
            row[f"{part}_regret"] = f"{values.mean():.4g}"
            if all(pfl):
                ratio = summary([*(values / np.array([result[f"{part}_regret"] for result in pfl if result]))])
                row[f"{part}_ratio"] = f"{ratio.mean:.3f}"
                row[f"{part}_+-"] = "" if ratio.half is None else f"{ratio.half:.3f}"
        for name in ("solves_per_instance", "cost_calls_per_instance", "total_solves_per_instance"):
            row[name] = f"{np.mean([result[name] for result in mine]):.2f}"
        for name in ("total", "solver"):
            row[f"seconds_{name}"] = f"{np.mean([result['seconds'][name] for result in mine]):.1f}"
        row["kept_its_start"] = sum("kept its start" in result["stopped"] for result in mine)
        row["commit"] = ",".join(sorted({str(result["commit"]) for result in mine}))
        yield row


def write(out: Path, table: list[dict[str, object]], command: str) -> None:
    out.mkdir(parents=True, exist_ok=True)
    heads = list(dict.fromkeys(head for row in table for head in row))
    with (out / "table.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, heads)
        writer.writeheader()
        writer.writerows(table)
    lines = [" | ".join(heads), " | ".join("---" for _ in heads)]
    lines += [" | ".join(str(row.get(head, "")) for head in heads) for row in table]
    text = f"Made by `{command}`.\n\n" + "\n".join(f"| {line} |" for line in lines) + "\n"
    (out / "table.md").write_text(text)
    print(text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--benchmarks", default=FOUR)
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--datasets", type=int, default=1, help="how many dataset seeds, from --first on")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--predictor", default="linear")
    parser.add_argument("--set", default="{}", help="settings as JSON, for every method but pfl")
    parser.add_argument("--jobs", type=int, default=1)
    given = parser.parse_args()
    adam = {"start_epochs": EPOCHS}  # as the paper starts
    settings = options(adam | json.loads(given.set))
    planned = [
        Trial(
            benchmark=benchmark,
            method=method,
            dataset=dataset,
            predictor=given.predictor,
            settings=settings if method != "pfl" else options(adam),
        )
        for benchmark in given.benchmarks.split(",")
        for method in given.methods.split(",")
        for dataset in range(given.first, given.first + given.datasets)
        if METHODS[method].refuse(load(benchmark, dataset).problem) is None
    ]
    results, fine = complete(planned, Study(given.out), given.jobs)
    write(given.out, list(rows(results)), "python -m fewsolves_studies.measure.over_datasets " + " ".join(sys.argv[1:]))
    sys.exit(0 if fine else 1)


if __name__ == "__main__":
    main()
