"""Methods x benchmarks x datasets: regret, ratio to PFL, solves and seconds, as CSV and Markdown.

    python benchmarks/over_datasets.py --out results/gp-surrogate --datasets 5 --jobs 2 --methods pfl,sfge,gp-surrogate

One folder per run; what is there already is not run again, so a stopped command goes on where it stopped. A run that
fails is reported and does not stop the others. Ratios are means over datasets of (method / PFL on the same dataset);
"+-" is half of the 95 % interval of that mean (Student).
"""

from __future__ import annotations

import argparse
import csv
import json
import multiprocessing
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

import numpy as np
from scipy.stats import t

from fewsolves.benchmarks.catalogue import load
from fewsolves.benchmarks.run import run
from fewsolves.errors import NotApplicableError
from fewsolves.methods.registry import METHODS

FOUR = "kp-weights,kp-values,kp-capacity,wsmc-10-50"


def folder_of(out: Path, benchmark: str, method: str, dataset: int, predictor: str) -> Path:
    return out / f"{benchmark}.{method}.{predictor}.{dataset}"


def one(out: Path, benchmark: str, method: str, dataset: int, predictor: str, settings: dict[str, object]) -> str:
    """Run and write, or say why not."""
    import torch

    torch.set_num_threads(1)
    folder = folder_of(out, benchmark, method, dataset, predictor)
    try:
        run(load(benchmark, dataset), method, predictor=predictor, settings=settings).write(folder)
    except NotApplicableError:
        return f"{folder.name}: does not apply"
    except Exception as error:
        return f"{folder.name}: FAILED, {type(error).__name__}: {error}"
    return f"{folder.name}: done"


def run_missing(out: Path, jobs: list[tuple[str, str, int, str]], settings: dict[str, object], workers: int) -> bool:
    missing = [job for job in jobs if not (folder_of(out, *job) / "result.json").exists()]
    with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as pool:
        futures = [pool.submit(one, out, *job, settings) for job in missing]
        messages = []
        for k, future in enumerate(as_completed(futures), 1):
            messages.append(future.result())
            print(f"[{k}/{len(missing)}] {messages[-1]}", flush=True)
    return not any("FAILED" in message for message in messages)


def rows(out: Path, jobs: list[tuple[str, str, int, str]]) -> Iterator[dict[str, object]]:
    """One row per benchmark and method."""
    found = {
        job: json.loads(path.read_text()) for job in jobs if (path := folder_of(out, *job) / "result.json").exists()
    }
    for benchmark, method, predictor in dict.fromkeys((b, m, p) for b, m, _, p in found):
        datasets = [d for b, m, d, p in found if (b, m, p) == (benchmark, method, predictor)]
        mine = [found[benchmark, method, d, predictor] for d in datasets]
        pfl = [found.get((benchmark, "pfl", d, predictor)) for d in datasets]
        row: dict[str, object] = {"benchmark": benchmark, "method": method, "datasets": len(datasets)}
        for part in ("test", "fresh"):
            values = np.array([result[f"{part}_regret"] for result in mine])
            row[f"{part}_regret"] = f"{values.mean():.4g}"
            if all(pfl):
                ratios = values / np.array([result[f"{part}_regret"] for result in pfl if result])
                row[f"{part}_ratio"] = f"{ratios.mean():.3f}"
                row[f"{part}_+-"] = f"{half_interval(ratios):.3f}" if len(ratios) > 1 else ""
        for name in ("solves_per_instance", "cost_calls_per_instance", "total_solves_per_instance"):
            row[name] = f"{np.mean([result[name] for result in mine]):.2f}"
        for name in ("total", "solver"):
            row[f"seconds_{name}"] = f"{np.mean([result['seconds'][name] for result in mine]):.1f}"
        row["kept_its_start"] = sum("kept its start" in result["stopped"] for result in mine)
        row["commit"] = ",".join(sorted({str(result["commit"]) for result in mine}))
        yield row


def half_interval(values: np.ndarray) -> float:
    return float(t.ppf(0.975, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values)))


def write(out: Path, table: list[dict[str, object]], command: str) -> None:
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
    given.out.mkdir(parents=True, exist_ok=True)
    jobs = [
        (benchmark, method, dataset, given.predictor)
        for benchmark in given.benchmarks.split(",")
        for method in given.methods.split(",")
        for dataset in range(given.first, given.first + given.datasets)
        if METHODS[method].refuse(load(benchmark, dataset).problem) is None
    ]
    fine = run_missing(given.out, jobs, json.loads(given.set), given.jobs)
    write(given.out, list(rows(given.out, jobs)), "python benchmarks/over_datasets.py " + " ".join(sys.argv[1:]))
    sys.exit(0 if fine else 1)


if __name__ == "__main__":
    main()
