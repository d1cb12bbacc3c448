"""How long workers wait: the idle share of 8 workers whose solves differ by a factor of ten in length.

    python -m fewsolves_studies.measure.idle [--workers 8] [--rows 100] [--solves 8] [--json results/lighter/idle.json]

A fit by the default, whose solver sleeps between 20 and 200 ms. `by row`: a row takes about as long each time, as a
large plant does beside a small one. `at random`: each solve has a length of its own. The idle share is that of the time
in which solves are requested: 1 - (seconds in `solve`) / (workers x seconds of requests). `per request` is the number
of solves that are requested together: those of a step, or, under `at once`, as many as `--at-once` sets. The result
must be that of a fit in one process, to the last bit. `whole table` is the idle share where all rows are requested at
once, as for labels and evidence: the first time, and later.
"""

from __future__ import annotations

import argparse
import json
import os
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

import fewsolves as fs
from fewsolves.execution.base import Answers
from fewsolves.execution.processes import Processes

SHORTEST, FACTOR = 0.02, 10.0


class Sleeping:
    """A newsvendor whose solves take time; `seconds` is a function of prediction and row."""

    def __init__(self, seconds: Callable[[np.ndarray, int], float], awake: bool = False) -> None:
        self.seconds, self.awake = seconds, awake

    def __call__(self, y_hat: np.ndarray, row: int) -> np.ndarray:
        if not self.awake:
            time.sleep(self.seconds(y_hat, row))
        return np.ceil(y_hat)


def by_row(y_hat: np.ndarray, row: int) -> float:
    return float(SHORTEST * FACTOR ** np.random.default_rng(row).random())


def at_random(y_hat: np.ndarray, row: int) -> float:
    return float(SHORTEST * FACTOR ** np.random.default_rng(int(1e9 * abs(y_hat[0]))).random())


def cost(y: np.ndarray, z: np.ndarray, row: int) -> float:
    return float(np.maximum(y - z, 0.0) @ [9.0, 5.0, 7.0] + np.maximum(z - y, 0.0).sum())


class Watched(Processes):
    """Counts what is requested, and how long that takes."""

    requests: ClassVar[list[tuple[int, float, float]]] = []  # solves, their seconds, seconds of the request

    def solve(self, rows: np.ndarray, y_hat: np.ndarray, hints: Any = None) -> Iterator[Answers]:
        began, inside = time.perf_counter(), 0.0
        for answers in super().solve(rows, y_hat, hints):
            inside += sum(answers.seconds)
            yield answers
        self.requests.append((len(rows), inside, time.perf_counter() - began))


def figures(
    seconds: Callable[[np.ndarray, int], float], workers: int, rows: int, solves: int, at_once: int | None
) -> dict[str, Any]:
    """Of one fit with workers, and whether one process has the same result."""
    from fewsolves.execution import registry

    registry.register("watched", lambda problem, resources: Watched(problem, resources.workers))
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, 4))
    Y = 20.0 + 3.0 * X @ rng.normal(size=(4, 3)) + rng.gamma(2.0, 2.0, size=(rows, 3))
    fits = []
    for awake, options in ((False, {"execution": "watched", "workers": workers}), (True, {})):
        problem = fs.Problem(solve=Sleeping(seconds, awake), cost=cost, instances=list(range(rows)))
        model = fs.DecisionRegressor(
            problem,
            predictor="linear",
            settings={"solves": solves, "solves_at_once": at_once},
            verbose=False,
            **options,
        ).fit(X, Y)
        fits.append(model.predict(X))
    _, *requests = Watched.requests[:]  # workers start in the first
    Watched.requests.clear()
    busy, taken = (sum(part) for part in list(zip(*requests, strict=True))[1:])
    number = [request[0] for request in requests]
    return {
        "solves": sum(number),
        "requests": len(number),
        "per request": float(np.median(number)),
        "idle": round(1.0 - busy / (workers * taken), 4),
        "same as in one process": bool(np.array_equal(*fits)),
    }


def whole_table(seconds: Callable[[np.ndarray, int], float], workers: int, rows: int) -> list[float]:
    """The idle share of three requests of all rows."""
    problem = fs.Problem(solve=Sleeping(seconds), cost=cost, instances=list(range(rows)))
    everyone, y_hat = np.arange(rows), np.random.default_rng(1).random((3, rows, 3))
    watched = Watched(problem, workers)
    try:
        list(watched.solve(everyone[: 4 * workers], y_hat[0, : 4 * workers]))  # workers start
        Watched.requests.clear()
        for points in y_hat:
            list(watched.solve(everyone, points))
    finally:
        watched.close()
    idle = [round(1.0 - busy / (workers * taken), 4) for _, busy, taken in Watched.requests]
    Watched.requests.clear()
    return idle


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--rows", type=int, default=100)
    parser.add_argument("--solves", type=int, default=8, help="per row, after the labels")
    parser.add_argument("--at-once", type=int, default=128, help="solves that training requests together, as a setting")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    found: dict[str, Any] = {"load": os.getloadavg()[0]}
    for name, seconds in (("by row", by_row), ("at random", at_random)):
        found[name] = figures(seconds, given.workers, given.rows, given.solves, None)
        found[name]["at once"] = figures(seconds, given.workers, given.rows, given.solves, given.at_once)
        found[name]["whole table"] = whole_table(seconds, given.workers, given.rows)
        print(name, found[name], flush=True)
    if given.json:
        given.json.parent.mkdir(parents=True, exist_ok=True)
        given.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
