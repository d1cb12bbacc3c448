"""The linear start in closed form beside the one by Adam: squared error and regret on fresh rows, and processor time.

    python -m fewsolves_studies.measure.start > results/start.md

Datasets 100 to 103 of the paper's four and of the panel, 1,000 fresh rows each; ratios are closed form / Adam.
"""

from __future__ import annotations

import subprocess
import time
from typing import Any

import numpy as np
import torch

from fewsolves.data import split_rows
from fewsolves.fitting.fit import fit
from fewsolves.fitting.plan import Plan
from fewsolves.oracle import Oracle
from fewsolves.training.start import EPOCHS
from fewsolves_studies.benchmarks.catalogue import PANEL, load, split_without_test
from fewsolves_studies.measure.frontier_tables import FOUR

DATASETS, FRESH = range(100, 104), 1000


def compared(problem: str, dataset: int) -> tuple[float, ...]:
    """Ratios of squared error and of regret, and the seconds of each."""
    data = load(problem, dataset)
    if problem in PANEL:
        split = split_without_test(data)
    else:
        split = split_rows(len(data.X), rng=np.random.default_rng(dataset))
    fresh = load(problem, dataset, **({"frozen": True} if problem == "staffing" else {})).fresh(FRESH)
    oracle, found = Oracle(fresh.problem, fresh.Y), []
    for settings in ({}, {"start_epochs": EPOCHS}):
        given: dict[str, Any] = {"method": "pfl", "predictor": "linear", "settings": settings}
        began = time.process_time()
        fitted = fit(Plan(data.problem, data.X, data.Y, split, **given))
        seconds = time.process_time() - began
        with torch.no_grad():
            y_hat = fitted.predictor(torch.as_tensor(fresh.X)).numpy()
        error = np.square((y_hat - fresh.Y) / data.Y.std(axis=0)).mean()
        found.append((error, oracle.regret(np.arange(FRESH), y_hat, phase="test").mean(), seconds))
    (error, regret, solved), (other_error, other_regret, trained) = found
    return error / other_error, regret / other_regret, solved, trained


def main() -> None:
    torch.set_num_threads(1)
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
    print(
        f"Made by `python -m fewsolves_studies.measure.start` at {commit}: closed form / Adam, mean of four datasets "
        "± its error.\n"
    )
    print("| | squared error | regret | seconds, closed form | seconds, Adam |\n|---|---|---|---|---|")
    for problem in (*FOUR, *PANEL):
        rows = np.array([compared(problem, dataset) for dataset in DATASETS])
        mean, error = rows.mean(axis=0), rows.std(axis=0, ddof=1) / np.sqrt(len(rows))
        cells = [f"{mean[k]:.3f} ± {error[k]:.3f}" for k in (0, 1)] + [f"{mean[k]:.2f}" for k in (2, 3)]
        print(f"| {problem} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
