"""One factorisation for all rows, where rows share their inputs, beside one for each row.

    python -m fewsolves_studies.measure.shared_inputs [--rows 300] [--points 50 100 200 400] [--json FILE]

Known decisions have a regret for every row, so the Gaussian processes of all rows that `staged` asks have the same
points: one kernel matrix, one factor, and a solve of it for each row. `gp-surrogate` pays at points of each row's own,
so each of its processes has a factor. Both learn the same regrets here, with hyperparameters that are given, and tell
the regret of each row at one point. In turns; CPU microseconds per row, medians.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import torch

import fewsolves as fs
from fewsolves.methods.gp_surrogate.gp.processes import GPs
from fewsolves.methods.staged.pool import Pool
from fewsolves.methods.staged.rows import TrainingRows
from fewsolves.methods.staged.stand_ins import SharedGP, shared_gp
from fewsolves.methods.staged.tuning import Tuning
from fewsolves.oracle import Oracle

N_Y, TURNS = 10, 5


def pool_of(rows: int, points: int) -> Pool:
    """A table, and as many known decisions as points, with their regrets for all rows."""
    rng = np.random.default_rng(0)
    problem = fs.Problem(solve_batch=lambda y: y, cost_batch=lambda y, z: np.abs(y - z).sum(axis=1))
    table = TrainingRows(Oracle(problem, rng.normal(size=(rows, N_Y))), rng)
    pool = Pool(table, math.inf)
    while len(pool) < points:
        index = rng.integers(rows, size=points - len(pool))
        u = rng.normal(size=(len(index), N_Y))
        pool.learn(index, u, table.pay(index, u))
    pool.regret(np.arange(rows)[:, None], np.arange(len(pool))[None])
    return pool


def measure(rows: int, points: int) -> dict[str, Any]:
    pool, everyone = pool_of(rows, points), np.arange(rows)
    shared_gp.POINTS = points
    at = np.random.default_rng(1).normal(size=(rows, N_Y))
    last = np.arange(len(pool) - points, len(pool))
    regret = pool.regret(everyone[:, None], last[None])

    def one_for_all() -> np.ndarray:
        shared = SharedGP(pool, Tuning())
        shared.refresh()
        return shared.value(everyone, at, at[:, None])[:, 0]

    def one_each() -> np.ndarray:
        gps = GPs(rows, N_Y)
        gps.add(np.repeat(everyone, points), np.tile(pool.points[last], (rows, 1)), regret.ravel())
        return gps.posterior(torch.as_tensor(at), everyone)[0].numpy()

    ways = {"one for all": one_for_all, "one each": one_each}
    taken: dict[str, list[float]] = {name: [] for name in ways}
    for way in ways.values():
        way()  # machine code
    for _ in range(TURNS):
        for name, way in ways.items():
            began = time.process_time()
            way()
            taken[name].append(1e6 * (time.process_time() - began) / rows)
    found = {name: round(median(values), 1) for name, values in taken.items()}
    return {"rows": rows, "points": points, **found, "ratio": round(found["one for all"] / found["one each"], 3)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=300)
    parser.add_argument("--points", nargs="+", type=int, default=[50, 100, 200, 400])
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    torch.set_num_threads(1)
    figures = []
    for points in given.points:
        figures.append(measure(given.rows, points))
        print(figures[-1], flush=True)
    if given.json:
        given.json.parent.mkdir(parents=True, exist_ok=True)
        given.json.write_text("[\n" + ",\n".join(map(json.dumps, figures)) + "\n]\n")


if __name__ == "__main__":
    main()
