"""What the default says that as many solves again would gain, beside what they do gain on fresh rows.

    python -m fewsolves_studies.measure.outlook > results/outlook.md

Datasets 100 to 102 of the panel; runs of 8 and of 16 training solves per row, 2,000 fresh rows.
"""

from __future__ import annotations

import math
import subprocess

import numpy as np
import torch

from fewsolves.fitting.fit import fit
from fewsolves.fitting.plan import Plan
from fewsolves.methods.staged import pool
from fewsolves.oracle import Oracle
from fewsolves_studies.benchmarks.catalogue import PANEL, load, split_without_test

DATASETS, SOLVES, FRESH = range(100, 103), (0, 8, 16), 2000


def gains(problem: str, dataset: int) -> tuple[float, float, float] | None:
    """As shares of the start's regret: said, at most, and true; None where the run ended by itself."""
    data = load(problem, dataset)
    split = split_without_test(data)
    fresh = load(problem, dataset, **({"frozen": True} if problem == "staffing" else {})).fresh(FRESH)
    oracle, regrets, said = Oracle(fresh.problem, fresh.Y), [], None
    for solves in SOLVES:
        plan = Plan(
            data.problem,
            data.X,
            data.Y,
            split,
            method="staged" if solves else "pfl",
            predictor="linear",
            settings={"solves": solves} if solves else {},
        )
        fitted = fit(plan)
        with torch.no_grad():
            y_hat = fitted.predictor(torch.as_tensor(fresh.X)).numpy()
        regrets.append(float(oracle.regret(np.arange(FRESH), y_hat, phase="test").mean()))
        if solves == SOLVES[1] and "gain_bound" not in fitted.report:
            said = fitted.report.get("as_many_again")
    start, once, twice = regrets
    return None if said is None else (said["gain"], said["most"], (once - twice) / start)


def main() -> None:
    torch.set_num_threads(1)
    pool.FREE = math.inf  # the problems are quick and stand for slow ones
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
    print(
        f"Made by `python -m fewsolves_studies.measure.outlook` at {commit}: gain of 16 solves per row over 8, in % "
        "of PFL's regret.\n"
    )
    print("| | said | at most | true |\n|---|---|---|---|")
    found = []
    for problem in PANEL:
        for dataset in DATASETS:
            gained = gains(problem, dataset)
            if gained is not None:
                found.append(gained)
                print(f"| {problem} {dataset} | " + " | ".join(f"{100 * g:.1f}" for g in gained) + " |", flush=True)
    said, most, true = np.array(found).T
    print(f"\nOn average {said.mean():.1%} was said and {true.mean():.1%} is true; ", end="")
    print(f"{(true > most).sum()} of {len(found)} gained more than what was said at most.")


if __name__ == "__main__":
    main()
