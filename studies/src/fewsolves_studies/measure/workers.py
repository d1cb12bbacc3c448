"""What a worker process, or a Ray worker, adds to the bare loop over `solve`.

    python -m fewsolves_studies.measure.workers          # about two minutes
    python -m fewsolves_studies.measure.workers --ray    # on a local Ray cluster as well; needs fewsolves[ray]

Bare loop and workers take turns in one process, so that both see the same machine; figures are medians over the turns.
The solver sleeps, in the bare loop and in the worker alike, so that the other side always has a core if the machine has
one to spare. Also: how long it takes until a worker that was killed by its time limit is replaced.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

import numpy as np

import fewsolves as fs
from fewsolves.execution.base import Execution
from fewsolves.execution.processes import Processes

N_Y = 50
PLANS = {0.5: (4, 8), 0.05: (10, 5), 0.005: (100, 5), 0.001: (400, 5), 0.0: (2000, 5)}  # seconds: solves, turns


@dataclass(frozen=True)
class Sleeping:
    """A solver that takes `seconds`."""

    seconds: float

    def __call__(self, y_hat: np.ndarray) -> np.ndarray:
        if self.seconds:
            time.sleep(self.seconds)
        return y_hat


@dataclass(frozen=True)
class Computing:
    """A solver that computes for `seconds`."""

    seconds: float

    def __call__(self, y_hat: np.ndarray) -> np.ndarray:
        until = time.perf_counter() + self.seconds
        while time.perf_counter() < until:
            pass
        return y_hat


def timed(function: Callable[[], object]) -> float:
    began = time.perf_counter()
    function()
    return time.perf_counter() - began


def overhead(name: str, execution: Execution, solve: Sleeping) -> None:
    """Print seconds per solve, bare and through the execution."""
    n, turns = PLANS[solve.seconds]
    rows, Y = np.arange(n), np.random.default_rng(0).normal(size=(n, N_Y))
    list(execution.solve(rows[:2], Y[:2]))  # start
    list(execution.solve(rows, Y)) if solve.seconds < 0.1 else None  # learn how large a chunk should be
    bare, through = [], []
    for _ in range(turns):
        bare.append(timed(lambda: [solve(y.copy()) for y in Y]))
        through.append(timed(lambda: list(execution.solve(rows, Y))))
    before, after = median(bare) / n, median(through) / n
    share = f"{100 * (after - before) / before:6.2f} %" if solve.seconds else " " * 8
    print(f"{name:10s} {solve.seconds:6.3f} s   bare {1e3 * before:9.4f} ms   through {1e3 * after:9.4f} ms   "
          f"overhead {1e3 * (after - before):8.4f} ms per solve {share}", flush=True)  # fmt: skip


def replaced() -> None:
    """Seconds from the time limit to the first answer of a fresh worker."""
    problem = fs.Problem(solve=lambda y: time.sleep(60) if y[0] else y, cost=lambda y, z: 0.0)
    workers, taken = Processes(problem, 1, time_limit=0.2), []
    for _ in range(5):
        list(workers.solve(np.arange(1), np.zeros((1, 1))))
        hung = timed(lambda: list(workers.solve(np.arange(1), np.ones((1, 1)))))
        again = timed(lambda: list(workers.solve(np.arange(1), np.zeros((1, 1)))))
        taken.append((hung - 0.2, again))
    workers.close()
    killed, back = (median(part) for part in zip(*taken, strict=True))
    print(f"time limit: killed with its children after {1e3 * killed:.0f} ms, a fresh worker answers "
          f"after {1e3 * back:.0f} ms more")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--ray", action="store_true")
    given = parser.parse_args()
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    for seconds in PLANS:
        solve = Sleeping(seconds)
        problem = fs.Problem(solve=solve, cost=lambda y, z: 0.0)
        executions: dict[str, Execution] = {"processes": Processes(problem, 1)}
        if given.ray:
            from fewsolves.execution.ray import Cluster

            executions["ray"] = Cluster(problem, 1, "ray")
        for name, execution in executions.items():
            overhead(name, execution, solve)
            execution.close()
    replaced()


if __name__ == "__main__":
    main()
