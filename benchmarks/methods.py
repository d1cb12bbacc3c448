"""Every method on four benchmarks, one dataset: `python benchmarks/methods.py --out results/methods`.

One file per run, OUT/runs/BENCHMARK/METHOD.json; runs that have one are not repeated. At the end, and whenever it is
called again, the tables OUT/methods.csv and OUT/methods.md are written from these files and printed.

Methods with presets run in both, the one that is not the default as METHOD@PRESET. The last row of a benchmark, "saa",
is no method: what knowing the true distribution of y given x leaves.
"""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import torch

from fewsolves.methods import METHODS
from fewsolves.problems.benchmark import floor, load
from fewsolves.run import run

BENCHMARKS = ("kp-weights", "kp-values", "kp-capacity", "wsmc-10-50")
PRESETS = ("paper", "robust")
COLUMNS = {
    "benchmark": "benchmark",
    "method": "method",
    "test_regret": "regret, 100 test rows",
    "fresh_regret": "regret, 2,000 fresh rows",
    "fresh_relative_regret": "relative",
    "ratio": "ratio to pfl",
    "gap_closed": "gap closed",
    "solves": "solves per training row",
    "validation_solves": "validation solves",
    "seconds": "seconds",
}


def variants() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Label, method and settings of every run of a benchmark."""
    for name, method in METHODS.items():
        yield name, name, {}
        default = getattr(method.config, "preset", None)
        if default is not None:
            (other,) = set(PRESETS) - {default}
            yield f"{name}@{other}", name, {"preset": other}


def missing_runs(out: Path, benchmark: str, dataset_seed: int) -> None:
    """Run what has no file yet."""
    data = load(benchmark, dataset_seed)
    folder = out / "runs" / benchmark
    folder.mkdir(parents=True, exist_ok=True)
    for label, method, settings in variants():
        file = folder / f"{label}.json"
        if file.exists() or METHODS[method].refuse(data.problem) is not None:
            continue
        result = run(data, method, settings=settings).result
        write_whole(file, json.dumps(result, indent=1) + "\n")
        seconds, solves = result["seconds"]["total"], result["solves_per_instance"]
        told = f"{benchmark} {label}: {result['fresh_regret']:.4g}, {solves:.1f} solves, {seconds:.0f} s"
        print(told, file=sys.stderr)
    reference = folder / "saa.json"
    if not reference.exists():
        write_whole(reference, json.dumps(floor(data)._asdict()) + "\n")


def write_whole(path: Path, text: str) -> None:
    """All of it or nothing: a run that is cut short must not look finished."""
    draft = path.with_suffix(".part")
    draft.write_text(text)
    draft.replace(path)


def rows(out: Path, benchmark: str) -> Iterator[dict[str, Any]]:
    """The table of one benchmark, by the regret on fresh rows."""
    folder = out / "runs" / benchmark
    saa = json.loads((folder / "saa.json").read_text())["absolute"]
    results = {file.stem: json.loads(file.read_text()) for file in folder.glob("*.json") if file.stem != "saa"}
    pfl = results["pfl"]["fresh_regret"]
    for label, result in sorted(results.items(), key=lambda item: item[1]["fresh_regret"]):
        yield {
            "benchmark": benchmark,
            "method": label,
            "test_regret": result["test_regret"],
            "fresh_regret": result["fresh_regret"],
            "fresh_relative_regret": result["fresh_relative_regret"],
            "ratio": result["fresh_regret"] / pfl,
            "gap_closed": (pfl - result["fresh_regret"]) / (pfl - saa),
            "solves": result["solves_per_instance"],
            "validation_solves": result["calls"]["solve"]["validation"],
            "seconds": result["seconds"]["total"],
        }
    relative = results["pfl"]["fresh_relative_regret"] * saa / pfl
    known = {"fresh_regret": saa, "fresh_relative_regret": relative, "ratio": saa / pfl, "gap_closed": 1.0}
    yield dict.fromkeys(COLUMNS) | {"benchmark": benchmark, "method": "saa"} | known


def markdown(table: list[dict[str, Any]]) -> str:
    def cell(value: Any) -> str:
        if value is None:
            return "-"
        return value if isinstance(value, str) else f"{value:.4g}" if value < 1e5 else f"{value:,.0f}"

    lines = [" | ".join(COLUMNS.values()), " | ".join("---" for _ in COLUMNS)]
    lines += [" | ".join(cell(row[column]) for column in COLUMNS) for row in table]
    return "\n".join(f"| {line} |" for line in lines) + "\n"


@click.command()
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), default=Path("results/methods"))
@click.option("--dataset-seed", default=0)
@click.option("--benchmark", "benchmarks", multiple=True, default=BENCHMARKS)
def main(out: Path, dataset_seed: int, benchmarks: tuple[str, ...]) -> None:
    torch.set_num_threads(1)
    for benchmark in benchmarks:
        missing_runs(out, benchmark, dataset_seed)
    table = [row for benchmark in benchmarks for row in rows(out, benchmark)]
    with (out / "methods.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(COLUMNS))
        writer.writeheader()
        writer.writerows(table)
    text = markdown(table)
    (out / "methods.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
