"""What Ray adds to a solve beside worker processes (`workers=`): milliseconds per solve and worker, at 1 to 500 ms.

    python -m fewsolves_studies.measure.ray_overhead [--workers 1] [--turns 3] [--json results/lighter/ray.json]  #
        fewsolves[ray]

A bare loop, worker processes and Ray on this machine take turns in one run, each with the same solves; the figure is
what a worker takes longer for a solve than the bare loop, the median over the turns. Solves compute, as a solver does,
or sleep, after which a machine takes longer to come back. `share` is that of Ray, as a part of the solve. Rows go to a
Ray worker in chunks; `chunks` says how many a turn took. `message` is the time of one call of a bare Ray actor that
does nothing: no code of ours, so what each chunk costs at the least.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

import fewsolves as fs
from fewsolves.execution.processes import Processes
from fewsolves.execution.ray import Cluster
from fewsolves_studies.measure.workers import N_Y, Computing, Sleeping, timed

SOLVERS = {"computes": Computing, "sleeps": Sleeping}
SOLVES = {0.001: 2000, 0.01: 300, 0.1: 30, 0.5: 8}  # seconds of one: how many of each worker in a turn


class Counted(Cluster):
    """Counts the chunks that are sent."""

    chunks = 0

    def send(self, worker: Any, chunk: Any) -> None:
        self.chunks += 1
        super().send(worker, chunk)


class Nothing:
    """A bare actor."""

    def call(self) -> None:
        pass


def message(ray: Any, turns: int) -> float:
    """Milliseconds of a call, while the workers of this run wait."""
    actor = ray.remote(Nothing).options(num_cpus=0).remote()
    ray.get(actor.call.remote())
    calls = [timed(lambda: ray.get(actor.call.remote())) for _ in range(20 * turns)]
    ray.kill(actor)
    return round(1e3 * sum(calls) / len(calls), 4)


def per_solve(solver: str, seconds: float, workers: int, turns: int) -> dict[str, Any]:
    """Milliseconds per solve and worker beyond the bare loop."""
    solve, each = SOLVERS[solver](seconds), SOLVES[seconds]
    problem = fs.Problem(solve=solve, cost=lambda y, z: 0.0)
    Y = np.random.default_rng(0).normal(size=(workers * each, N_Y))
    ways = {"processes": Processes(problem, workers), "ray": Counted(problem, workers)}
    for way in ways.values():
        for _ in range(2):  # workers start, and learn how large a chunk should be
            list(way.solve(np.arange(len(Y) // 2), Y[: len(Y) // 2]))
    taken: dict[str, list[float]] = {name: [] for name in ("bare", *ways)}
    ways["ray"].chunks = 0
    for _ in range(turns):
        bare = timed(lambda: [solve(y.copy()) for y in Y[:each]]) / each
        taken["bare"].append(bare)
        for name, way in ways.items():
            taken[name].append(timed(lambda way=way: list(way.solve(np.arange(len(Y)), Y))) / each - bare)
    chunks, alone = ways["ray"].chunks / turns, message(ways["ray"]._connected(), turns)
    for way in ways.values():
        way.close()
    medians = {name: round(1e3 * median(values), 4) for name, values in taken.items()}
    return {"solver": solver, "solve": 1e3 * seconds, "workers": workers, **medians,
            "share": round(medians["ray"] / medians["bare"], 4), "chunks": chunks, "message": alone}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", type=int, nargs="+", default=[1])
    parser.add_argument("--seconds", type=float, nargs="+", default=list(SOLVES), choices=SOLVES)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    figures: dict[str, Any] = {"cores": os.cpu_count(), "load before": os.getloadavg()[0], "per solve": []}
    for workers, solver, seconds in itertools.product(given.workers, SOLVERS, given.seconds):
        figures["per solve"].append(per_solve(solver, seconds, workers, given.turns))
        print(figures["per solve"][-1], flush=True)
    figures["load after"] = os.getloadavg()[0]
    if given.json:
        given.json.parent.mkdir(parents=True, exist_ok=True)
        given.json.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
