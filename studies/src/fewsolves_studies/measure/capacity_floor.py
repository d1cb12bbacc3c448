"""The least regret of any linear predictor on kp-capacity, found on the very rows that it is measured on.

    python -m fewsolves_studies.measure.capacity_floor > results/capacity_floor.md

One output and five inputs are six weights: a random search over them ends where no method can be better on these rows.
Beside it, as ratios to PFL: the same search on the training rows, measured on the fresh ones, which is what perfect
training would give; and the default's runs on record (results/frontier).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from fewsolves.data import Scale, split_rows
from fewsolves.oracle import Oracle
from fewsolves.problem import Array, Problem
from fewsolves_studies.benchmarks.catalogue import load
from fewsolves_studies.benchmarks.study import Study

CASE, DATASETS, FRESH, STEPS = "kp-capacity", range(5), 2000, 400
HEADS = ("dataset", "least on the fresh rows", "trained to the end", "default @ 0", "@ 1", "@ 16")


class Rows:
    """Regret of weights w (1 + n_x,), constant first, between standardised x and standardised y."""

    def __init__(self, problem: Problem, X: Array, Y: Array, x: Scale, y: Scale) -> None:
        self.oracle, self.y = Oracle(problem, Y), y
        self.Z = np.c_[np.ones(len(X)), (X - x.mean) / x.std]

    def regret(self, w: Array) -> float:
        y_hat = self.y.mean + self.y.std * (self.Z @ w)[:, None]
        return float(self.oracle.regret(np.arange(len(y_hat)), y_hat, phase="test").mean())

    def searched(self, start: Array, rng: np.random.Generator) -> Array:
        """Weights of little regret: a grid over the constant, then random steps whose length adapts."""
        grid = [start + np.r_[shift, np.zeros(len(start) - 1)] for shift in np.linspace(-2, 2, 21)]
        best = min([start, *grid], key=self.regret)
        least, width = self.regret(best), 0.3
        for _ in range(STEPS):
            tried = best + width * rng.choice([1.0, 0.3, 0.1]) * rng.standard_normal(len(best))
            found = self.regret(tried)
            if found < least:
                best, least, width = tried, found, min(0.5, 1.3 * width)
            else:
                width = max(0.01, 0.97 * width)
        return best


def ratios(dataset: int, runs: Mapping[str, Any]) -> list[float]:
    """To PFL on the fresh rows, in the order of the columns."""
    data = load(CASE, dataset)
    split, more = split_rows(len(data.X), rng=np.random.default_rng(dataset)), data.fresh(FRESH)
    X, Y = data.X[split.train], data.Y[split.train]
    scales = Scale.of(X), Scale.of(Y)
    train, fresh = Rows(data.problem, X, Y, *scales), Rows(more.problem, more.X, more.Y, *scales)
    start = np.linalg.lstsq(train.Z, ((Y - scales[1].mean) / scales[1].std)[:, 0], rcond=None)[0]
    found = [fresh.regret(rows.searched(start, np.random.default_rng(0))) for rows in (fresh, train)]
    record = [runs[f"{CASE}/staged@{budget}.{dataset}"]["regret"] for budget in (0, 1, 16)]
    return [regret / runs[f"{CASE}/pfl@own.{dataset}"]["regret"] for regret in (*found, *record)]


def main() -> None:
    runs = Study(Path("results/frontier")).read()
    print(
        "Made by `python -m fewsolves_studies.measure.capacity_floor`: regret of linear predictors on kp-capacity, "
        "ratio to PFL.\n"
    )
    print(f"| {' | '.join(HEADS)} |\n|{len(HEADS) * '---|'}")
    table = {str(dataset): ratios(dataset, runs) for dataset in DATASETS}
    table["mean"] = list(np.mean(list(table.values()), axis=0))
    for name, values in table.items():
        print(f"| {name} | " + " | ".join(f"{value:.3f}" for value in values) + " |")


if __name__ == "__main__":
    main()
