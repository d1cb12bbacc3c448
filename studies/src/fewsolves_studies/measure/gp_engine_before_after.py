"""The Gaussian process engine beside an earlier commit, and beside GPyTorch.

    python -m fewsolves_studies.measure.gp_engine_before_after --before CHECKOUT [--rounds 5] [--json FILE]

Every measurement is a process of its own, with the package of either version on PYTHONPATH; the two take turns, so that
both see the same machine. CPU seconds of one thread.

fit: `gp-surrogate` on kp-weights and wsmc-10-50, 800 rows, linear predictor, after a small fit that compiles. The
table gives the ratio of medians, and whether solves and regrets are the same.
engine: all points added to 800 processes on 50 inputs, and fitted; beside 50 Adam steps of GPyTorch, from 2 of them.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
import warnings
from pathlib import Path
from statistics import median
from typing import Any

HERE = Path(__file__).resolve()
BENCHMARKS, POINTS, STEPS = ("kp-weights", "wsmc-10-50"), (5, 10, 20), 2


def fit(name: str) -> dict[str, float]:
    """CPU seconds, solves and mean regret on fresh rows of one fit."""
    import numpy as np

    import fewsolves as fs

    try:
        from fewsolves.benchmarks.catalogue import load  # before the studies were a package of their own
    except ImportError:
        from fewsolves_studies.benchmarks.catalogue import load
    warnings.simplefilter("ignore")
    data = load(name, seed=0)
    X, Y, new = data.X[:800], data.Y[:800], slice(800, 1000)
    settings: dict[str, Any] = {"method": "gp-surrogate", "predictor": "linear", "verbose": False}
    fs.DecisionRegressor(data.problem, **settings).fit(X[:60], Y[:60])
    before = time.process_time()
    model = fs.DecisionRegressor(data.problem, **settings).fit(X, Y)
    used = time.process_time() - before
    solve, cost = data.problem.solve, data.problem.cost
    pairs = zip(data.Y[new], model.predict(data.X[new]), strict=True)
    regrets = [cost(y, solve(y_hat)) - cost(y, solve(y)) for y, y_hat in pairs]
    return {"cpu": used, "solves": model.calls_.total(), "regret": float(np.mean(regrets))}


def engine(n_points: int) -> dict[str, float]:
    """CPU seconds of the engine and of GPyTorch, in turns; medians of 5."""
    import torch

    try:
        from gp_engine import ADAM_STEPS, GPyTorchBatch, filled, regret_like, timed
    except ImportError:
        from fewsolves_studies.measure.gp_engine import ADAM_STEPS, GPyTorchBatch, filled, regret_like, timed

    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    points, targets = regret_like(800, n_points, 50)
    filled(points, targets).fit()
    batch = GPyTorchBatch(points, targets)
    batch.steps(1)
    ours, theirs = [], []
    for _ in range(5):
        ours.append(timed(lambda: filled(points, targets).fit(), 3)[0])
        theirs.append(timed(lambda: batch.steps(STEPS))[0] * ADAM_STEPS / STEPS)
    return {"cpu": median(ours), "gpytorch": median(theirs)}


def measured(checkout: Path, case: str) -> dict[str, float]:
    source = os.pathsep.join(str(checkout / part) for part in ("src", "studies/src", "benchmarks"))
    environment = os.environ | {"PYTHONPATH": source, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-P", HERE, "--case", case]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stderr)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def compared(before: Path, case: str, rounds: int) -> dict[str, Any]:
    """Medians of both versions, in turns, and their ratio."""
    turns = [(measured(before, case), measured(HERE.parents[4], case)) for _ in range(rounds)]
    old, new = ({key: median(turn[k][key] for turn in turns) for key in turns[0][0]} for k in (0, 1))
    return {"before": old, "after": new, "cpu_ratio": new["cpu"] / old["cpu"]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", type=Path, help="a checkout of the earlier commit")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path, help="write the numbers here")
    parser.add_argument("--case", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.case:
        kind, _, what = options.case.partition(" ")
        print(json.dumps(fit(what) if kind == "fit" else engine(int(what))))
        return
    results: dict[str, Any] = {}
    for name in BENCHMARKS:
        results[name] = row = compared(options.before, f"fit {name}", options.rounds)
        change = row["after"]["regret"] / row["before"]["regret"] - 1
        counts = f"{row['before']['solves']:.0f} and {row['after']['solves']:.0f} solves"
        print(f"{name:12s} CPU {row['cpu_ratio']:.2f} times that of before; {counts}, regret {change:+.1e}", flush=True)
    for n in POINTS:
        results[f"{n} points"] = row = compared(options.before, f"engine {n}", options.rounds)
        leads = [row[which]["gpytorch"] / row[which]["cpu"] for which in ("before", "after")]
        print(f"{n:3d} points    {leads[1]:.0f} times as fast as GPyTorch, before {leads[0]:.0f} times", flush=True)
    if options.json:
        options.json.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
