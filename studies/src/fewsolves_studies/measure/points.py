"""How many points does a process need? Regret and CPU of `gp-surrogate` with `most_points` 50, 100, 150, and with all.

    python -m fewsolves_studies.measure.points [--benchmarks kp-weights] [--datasets 0 1 2] [--json
        results/lighter/points.json]

`beta` is so small that each row pays in most epochs, and no run ends early, so that a process would get some hundred
points; by default it gets about twenty. Regret is that of fresh rows, relative to the start's. CPU seconds are those of
a fit whose solves take microseconds. A run that is in the file is not made again.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from pathlib import Path
from typing import Any

import torch

from fewsolves.fitting.fit import fit
from fewsolves.fitting.plan import Plan
from fewsolves_studies.benchmarks.catalogue import load
from fewsolves_studies.benchmarks.run import benchmark_result

BOUNDS = (None, 150, 100, 50)
SETTINGS = {"beta": 0.01, "max_epochs": 200, "patience": 200}
ROWS = 40


def measured(benchmark: str, dataset: int, most: int | None) -> dict[str, Any]:
    """One fit."""
    data = load(benchmark, dataset, n=ROWS)
    began = time.process_time()
    plan = Plan(data.problem, data.X, data.Y, method="gp-surrogate", predictor="linear",
                settings=SETTINGS | {"most_points": most}, seed=dataset)  # fmt: skip
    fitted = fit(plan)
    seconds = time.process_time() - began
    start = fit(Plan(data.problem, data.X, data.Y, method="pfl", predictor="linear", seed=dataset))
    ours, theirs = (benchmark_result(data, one) for one in (fitted, start))
    return {
        "benchmark": benchmark,
        "dataset": dataset,
        "most_points": most,
        "regret": round(ours["fresh_regret"] / theirs["fresh_regret"], 4),
        "solves": fitted.oracle.calls.total("solve"),
        "seconds": round(seconds, 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--benchmarks", nargs="+", default=["kp-weights", "wsmc-10-50"])
    parser.add_argument("--datasets", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    figures = json.loads(given.json.read_text()) if given.json and given.json.exists() else []
    there = {(one["benchmark"], one["dataset"], one["most_points"]) for one in figures}
    for dataset in given.datasets:
        for benchmark in given.benchmarks:
            for most in BOUNDS:
                if (benchmark, dataset, most) in there:
                    continue
                figures.append(measured(benchmark, dataset, most))
                print(json.dumps(figures[-1]), flush=True)
                if given.json:
                    given.json.parent.mkdir(parents=True, exist_ok=True)
                    given.json.write_text("[\n" + ",\n".join(map(json.dumps, figures)) + "\n]\n")


if __name__ == "__main__":
    main()
