"""The limits of the benchmarks: prediction-focused learning, and a policy that knows the true distribution.

    python -m fewsolves_studies.measure.floors --datasets 5

Per benchmark, mean +- std over datasets: regret of the linear predictor on the 100 test rows and on 2,000 fresh rows,
and the floor on fresh rows, absolute and relative to the mean optimal cost. No predictor is expected to beat the floor.
"""

from __future__ import annotations

import argparse

import numpy as np
import torch

from fewsolves_studies.benchmarks.catalogue import floor, load
from fewsolves_studies.benchmarks.run import run
from fewsolves_studies.measure.over_datasets import FOUR


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--benchmarks", default=FOUR)
    parser.add_argument("--datasets", type=int, default=5)
    given = parser.parse_args()
    torch.set_num_threads(1)
    print("| benchmark | PFL test | PFL fresh | floor | floor, relative |\n|---|---|---|---|---|")
    for name in given.benchmarks.split(","):
        rows = []
        for seed in range(given.datasets):
            dataset = load(name, seed)
            result, limit = run(dataset, "pfl").result, floor(dataset)
            rows.append((result["test_regret"], result["fresh_regret"], limit.absolute, limit.relative))
        cells = [f"{column.mean():.4g} +- {column.std():.2g}" for column in np.array(rows).T]
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
