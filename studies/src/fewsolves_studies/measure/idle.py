"""How long workers wait: the idle share of 8 workers whose solves differ by a factor of ten in length.

    python -m fewsolves_studies.measure.idle [--workers 8] [--rows 100] [--solves 8] [--json results/lighter/idle.json]
    python -m fewsolves_studies.measure.idle --simulated --rows 300 --json results/lighter/idle-simulated.json

A fit by the default, whose solver sleeps between 20 and 200 ms. `by row`: a row takes about as long each time, as a
large plant does beside a small one. `at random`: each solve has a length of its own. The idle share is that of the time
in which solves are requested: 1 - (seconds in `solve`) / (workers x seconds of requests). `per request` is the number
of solves that are requested together: those of a step, or, under `at once`, as many as `--at-once` sets. The result
must be that of a fit in one process, to the last bit. `whole table` is the idle share where all rows are requested at
once, as for labels and evidence: the first time, and later.

With `--simulated` no solve sleeps: the library hands out rows to workers that have a clock of their own, so that the
figures are the same on every machine. `too few` and `at the end` are the parts of the idle share in requests of fewer
solves than workers, and in larger ones: there workers wait for the last solves, since the next request depends on them.
"""

from __future__ import annotations

import argparse
import heapq
import json
import os
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np

import fewsolves as fs
from fewsolves.execution import registry
from fewsolves.execution.base import Answers
from fewsolves.execution.dispatch import Chunk, Event, Landed, Ready, WorkerExecution
from fewsolves.execution.processes import CHUNK_SECONDS, Processes
from fewsolves.execution.serial import Serial

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


class Request(NamedTuple):
    """What was requested together."""

    solves: int
    busy: float  # seconds of its solves
    taken: float  # seconds until the last has landed


class Watched(Processes):
    """Counts what is requested, and how long that takes."""

    requests: ClassVar[list[Request]] = []

    def solve(self, rows: np.ndarray, y_hat: np.ndarray, hints: Any = None) -> Iterator[Answers]:
        began, inside = time.perf_counter(), 0.0
        for answers in super().solve(rows, y_hat, hints):
            inside += sum(answers.seconds)
            yield answers
        self.requests.append(Request(len(rows), inside, time.perf_counter() - began))


class Clocked(WorkerExecution[int]):
    """Workers with a simulated clock: a solve takes the seconds that it would sleep."""

    def __init__(self, problem: fs.Problem, workers: int) -> None:
        super().__init__(problem, workers, CHUNK_SECONDS)
        self.here, self.clock, self._events = Serial(problem), 0.0, list[tuple[float, int, Event]]()
        assert isinstance(problem.solve, Sleeping)
        self.seconds = problem.solve.seconds
        self._number = 0  # of an event or a worker: which one is first where times are the same

    def start_worker(self) -> int:
        self._add(self.clock, Ready(self._number))
        return self._number - 1

    def send(self, worker: int, chunk: Chunk) -> None:
        at, (y_hat, *_) = self.clock, chunk.columns
        decisions = [z for answers in self.here.solve(chunk.rows, y_hat) for z in answers.values]
        for number, row, y, z in zip(chunk.numbers, chunk.rows.tolist(), y_hat, decisions, strict=True):
            seconds = self.seconds(y, row)
            at += seconds
            self._add(at, Landed(worker, number, z, seconds))

    def wait(self) -> Iterator[Event]:
        self.clock, _, event = heapq.heappop(self._events)
        yield event
        while self._events and self._events[0][0] <= self.clock:
            yield heapq.heappop(self._events)[2]

    def stop_workers(self, workers: Sequence[int]) -> None:
        """There is no process."""

    def solve(self, rows: np.ndarray, y_hat: np.ndarray, hints: Any = None) -> Iterator[Answers]:
        began, inside = self.clock, 0.0
        for answers in super().solve(rows, y_hat, hints):
            inside += sum(answers.seconds)
            yield answers
        Watched.requests.append(Request(len(rows), inside, self.clock - began))

    def cost(self, rows: np.ndarray, y: np.ndarray, z: Sequence[Any], seeds: Any = None) -> Iterator[Answers]:
        return self.here.cost(rows, y, z, seeds)

    def _add(self, at: float, event: Event) -> None:
        heapq.heappush(self._events, (at, self._number, event))
        self._number += 1


registry.register("watched", lambda problem, resources: Watched(problem, resources.workers))
registry.register("clocked", lambda problem, resources: Clocked(problem, resources.workers))


def figures(
    seconds: Callable[[np.ndarray, int], float],
    workers: int,
    rows: int,
    solves: float,
    at_once: int | None,
    simulated: bool,
) -> dict[str, Any]:
    """Of one fit with workers, and whether one process has the same result."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, 4))
    Y = 20.0 + 3.0 * X @ rng.normal(size=(4, 3)) + rng.gamma(2.0, 2.0, size=(rows, 3))
    with_workers: dict[str, Any] = {"execution": "clocked" if simulated else "watched", "workers": workers}
    fits: list[np.ndarray] = []
    for awake, options in ((simulated, with_workers), (True, {})):
        problem = fs.Problem(solve=Sleeping(seconds, awake), cost=cost, instances=list(range(rows)))
        model = fs.DecisionRegressor(
            problem,
            predictor="linear",
            settings={"solves": solves, "solves_at_once": at_once},
            verbose=False,
            **options,
        ).fit(X, Y)
        fits.append(model.predict(X))
    requests = Watched.requests[0 if simulated else 1 :]  # workers start in the first
    Watched.requests.clear()
    all_of_them = workers * sum(one.taken for one in requests)
    idle = {few: sum(workers * one.taken - one.busy for one in requests if (one.solves < workers) is few)
            for few in (True, False)}  # fmt: skip
    return {
        "solves": sum(one.solves for one in requests),
        "requests": len(requests),
        "per request": float(np.median([one.solves for one in requests])),
        "idle": round(sum(idle.values()) / all_of_them, 4),
        "too few": round(idle[True] / all_of_them, 4),
        "at the end": round(idle[False] / all_of_them, 4),
        "same as in one process": bool(np.array_equal(fits[0], fits[1])),
    }


def whole_table(seconds: Callable[[np.ndarray, int], float], workers: int, rows: int, simulated: bool) -> list[float]:
    """The idle share of three requests of all rows."""
    problem = fs.Problem(solve=Sleeping(seconds, simulated), cost=cost, instances=list(range(rows)))
    everyone, y_hat = np.arange(rows), np.random.default_rng(1).random((3, rows, 3))
    watched = (Clocked if simulated else Watched)(problem, workers)
    try:
        list(watched.solve(everyone[: 4 * workers], y_hat[0, : 4 * workers]))  # workers start
        Watched.requests.clear()
        for points in y_hat:
            list(watched.solve(everyone, points))
    finally:
        watched.close()
    idle = [round(1.0 - one.busy / (workers * one.taken), 4) for one in Watched.requests]
    Watched.requests.clear()
    return idle


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--rows", type=int, default=100)
    parser.add_argument("--solves", type=float, default=8.0, help="per row, after the labels")
    parser.add_argument("--at-once", type=int, default=128, help="solves that training requests together, as a setting")
    parser.add_argument("--simulated", action="store_true", help="by a clock of the workers, which do not sleep")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    found: dict[str, Any] = {"simulated": True} if given.simulated else {"load": os.getloadavg()[0]}
    found |= {"rows": given.rows, "solves per row": given.solves, "workers": given.workers, "at once": given.at_once}
    for name, seconds in (("by row", by_row), ("at random", at_random)):
        found[name] = figures(seconds, given.workers, given.rows, given.solves, None, given.simulated)
        found[name]["at once"] = figures(
            seconds, given.workers, given.rows, given.solves, given.at_once, given.simulated
        )
        found[name]["whole table"] = whole_table(seconds, given.workers, given.rows, given.simulated)
        print(name, found[name], flush=True)
    if given.json:
        given.json.parent.mkdir(parents=True, exist_ok=True)
        given.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
