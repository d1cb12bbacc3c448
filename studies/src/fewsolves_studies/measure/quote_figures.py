"""What `fewsolves quote` expects of each method: means over measured runs, written into the package.

    python -m fewsolves_studies.measure.quote_figures  # reads results/gp-surrogate, results/other-methods,
        results/staged
    python -m fewsolves_studies.measure.quote_figures --memory  # what each method stores, by the peak of a process of
        its own
    python -m fewsolves_studies.measure.quote_figures --check    # quotes against runs on other datasets, of 200 rows

For each method: solves and cost calls per training row while it trains ("online"), the range of the solves over the
benchmarks, and readings: validation solves per validation row, with the audit of the surrogate.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import numpy as np

from fewsolves_studies.benchmarks.study import Study

ROOT = Path(__file__).parents[4]
SOURCES = ("results/gp-surrogate", "results/other-methods", "results/staged")
SIZES = {"lodl-mse": (100, 400), "egl-mse": (100, 400), "gp-surrogate": (300, 1000), "memo": (300, 2000)}


def measured() -> dict[str, dict[str, object]]:
    """By method, from every run of the studies."""
    runs: dict[str, dict[str, list[tuple[float, ...]]]] = defaultdict(lambda: defaultdict(list))
    for result in (result for source in SOURCES for result in Study(ROOT / source).read().values()):
        n = result["config"]["data"]["n"]
        n_train, n_valid = n - 2 * round(0.1 * n), round(0.1 * n)
        solves, costs = result["calls"]["solve"], result["calls"]["cost"]
        one = solves["online"] / n_train, costs["online"] / n_train, solves["validation"] / n_valid
        runs[result["method"]][result["benchmark"]].append(one)
    figures = {}
    for method, by_benchmark in sorted(runs.items()):
        means = np.array([np.mean(values, axis=0) for values in by_benchmark.values()])
        online, costs_online, readings = means.mean(axis=0).round(2).tolist()
        figures[method] = {
            "online_solves": online,
            "online_solves_range": [round(float(bound), 2) for bound in (means[:, 0].min(), means[:, 0].max())],
            "online_cost_calls": costs_online,
            "readings": readings,
            "benchmarks": sorted(by_benchmark),
        }
    return figures


def memory_of(method: str, n: int, n_y: int) -> float:
    """Bytes that a method takes for each number of each point of each example, in this process."""
    import torch

    import fewsolves as fs
    from fewsolves.data import Scale, Split
    from fewsolves.methods.base import Context, GradientTrainer
    from fewsolves.methods.registry import METHODS
    from fewsolves.oracle import Oracle
    from fewsolves.predictors.inputs import Inputs
    from fewsolves.predictors.predictor import Predictor, linear

    torch.set_num_threads(1)
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(n, 3)), rng.normal(size=(n, n_y))
    first = fs.Problem(
        solve_batch=lambda y_hat: y_hat[:, :1] * 1.0, cost_batch=lambda y, z: np.abs(z - y[:, :1]).sum(axis=1)
    )
    recipe = METHODS[method].with_settings({})
    predictor = Predictor(linear(3, n_y, seed=0), Scale.of(X), Scale.of(Y))
    oracle = Oracle(first, Y)
    assert isinstance(recipe, GradientTrainer)
    everyone = np.arange(n)
    split = Split(train=everyone, valid=everyone[:1], test=everyone[:0])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    parts = {"inputs": Inputs(X), "predictor": predictor, "settings": recipe.settings, "rng": rng}
    loss = recipe.loss(Context(oracle=oracle, split=split, **parts))
    y_hat = torch.as_tensor(Y + 0.1)
    loss.start(y_hat)
    for _ in range(5):
        loss.begin_epoch(lambda: y_hat)
        for index in torch.arange(n).split(32):
            moved = (y_hat[index] + torch.as_tensor(rng.normal(size=(len(index), n_y)))).requires_grad_()
            loss(moved, index).backward()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    points = oracle.calls.training_evaluations() / n
    return (peak - before) * 1024 / (n * n_y * points)


def check() -> None:
    """Print paid and quoted solves."""
    import torch

    from fewsolves.data import split_rows
    from fewsolves.quoting.price import Workload
    from fewsolves.quoting.quote import quote_workload
    from fewsolves_studies.benchmarks.catalogue import load
    from fewsolves_studies.benchmarks.run import run

    torch.set_num_threads(1)
    for name in ("kp-values", "wsmc-10-50", "kp-capacity"):
        dataset = load(name, 7, n=200)
        split = split_rows(200, rng=np.random.default_rng(dataset.seed))
        quoted = quote_workload(Workload(dataset.problem, dataset.Y, split), workers=1, budget=None)
        for method in ("pfl", "gp-surrogate", "sfge", "egl-mse", "memo"):
            paid, expected = run(dataset, method).fit.oracle.calls.total(), quoted[method].total_solves
            print(f"{name} {method}: paid {paid:,}, quoted {expected:,.0f}, ratio {paid / expected:.2f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--memory", action="store_true")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--of", nargs=3, metavar=("METHOD", "N", "N_Y"), help="one method, in this process")
    given = parser.parse_args()
    if given.of:
        print(f"{memory_of(given.of[0], int(given.of[1]), int(given.of[2])):.0f}")
    elif given.check:
        check()
    elif given.memory:
        for method, size in SIZES.items():
            command = [sys.executable, __file__, "--of", method, *map(str, size)]
            print(method, size, subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip())
    else:
        note = f"Made by fewsolves_studies.measure.quote_figures from {', '.join(SOURCES)}; means over benchmarks "
        note += "of 1,000 rows."
        path = ROOT / "src/fewsolves/quoting/measured.json"
        path.write_text(json.dumps({"note": note, "methods": measured()}, indent=1) + "\n")
        print(path.read_text())


if __name__ == "__main__":
    main()
