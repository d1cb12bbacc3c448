"""What is not the solver: CPU around the solves of a fit by stage, and what a solve costs besides itself.

    python -m fewsolves_studies.measure.overhead [--json results/lighter/overhead.json] [--quick] [--seconds 0.01]
        [--methods staged gp-surrogate] [--rows 900] [--solves 4]

Two tables. *By stage*: a fit of kp-weights, 800 training rows and a linear predictor, whose solves take microseconds; a
stage's seconds are those of the trainer's CPU, without those of the stages that it calls. *Per solve*: solves that
sleep 0.1, 1, 10 and 100 ms, row by row in a bare loop, in this process, by one worker process and by two, in turns; the
figure is what each takes longer than its share of the bare loop. `wake` is the same for a process that reads a byte
from a pipe, sleeps and writes one: no code of ours, so what the machine itself needs to wake two processes. `cold` is
the time of one bit of work, a row made JSON and read again, right after so long a solve that computes: what was not
used meanwhile is no longer in a cache. A worker gets rows in chunks of 50 ms: at 1 ms fifty solves share one wake, at
100 ms each has its own.

The clock says nothing on a machine with other work, and the CPU of solves that sleep is all ours: `CPU here` is that of
this process and `CPU there` that of its workers, in milliseconds per solve beyond the bare loop, the least of all
turns. A worker's solves wait for what it computes itself; what this process computes meanwhile holds nothing up.
`--seconds` measures solves of these lengths only. `--rows` is the table that is fitted by stage, and `--solves` are
those per row after the labels; without it the default stops by itself.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import time
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import torch

import fewsolves as fs
from fewsolves.execution.processes import Processes
from fewsolves.execution.serial import Serial
from fewsolves.fitting import starts
from fewsolves.methods.gp_surrogate.gp.processes import GPs
from fewsolves.methods.staged.descent import Descent
from fewsolves.methods.staged.evidence import Judge
from fewsolves.methods.staged.pool import Pool
from fewsolves.methods.staged.stand_ins import STAND_INS
from fewsolves.oracle.account import Account
from fewsolves.problem import Array
from fewsolves.training.steps import Steps
from fewsolves_studies.benchmarks.catalogue import load

N_Y = 50
SOLVES = {0.0001: 1000, 0.001: 400, 0.01: 60, 0.1: 8}  # seconds of one: how many in a turn
STAGES: dict[str, list[tuple[Any, str]]] = {
    "start": [(starts, "start")],
    "labels, readings, counting": [(Account, "solve"), (Account, "cost")],
    "processes": [(GPs, "fit"), (GPs, "add"), (GPs, "posterior"), (GPs, "evaluated")],
    "gradient steps": [(Steps, "epoch"), (Descent, "run")],
    "known decisions": [(Pool, "learn"), (Pool, "regret"), (Pool, "nearest"), (Pool, "model_cost")],
    "stand-ins": [(one, name) for one in STAND_INS for name in ("refresh", "value", "slope") if name in vars(one)],
    "evidence": [(Judge, "read"), (Judge, "change")],
}
SOLVER, REST = "solver", "the rest"


class Stages:
    """Exclusive CPU seconds by stage: what a stage calls of another is the other's."""

    def __init__(self) -> None:
        self.seconds: Counter[str] = Counter()
        self._stack, self._last = [REST], time.thread_time()

    def _switch(self) -> None:
        now = time.thread_time()
        self.seconds[self._stack[-1]] += now - self._last
        self._last = now

    def timed(self, stage: str, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def call(*given: Any, **named: Any) -> Any:
            self._switch()
            self._stack.append(stage)
            try:
                return function(*given, **named)
            finally:
                self._switch()
                self._stack.pop()

        return call

    def watch(self) -> None:
        """Count all calls from now on."""
        for stage, functions in STAGES.items():
            for owner, name in functions:
                setattr(owner, name, self.timed(stage, getattr(owner, name)))


def by_stage(method: str, stages: Stages, rows: int = 900, solves: float | None = None) -> dict[str, Any]:
    """CPU milliseconds of a fit."""
    data = load("kp-weights", 0)
    problem, X, Y = data.problem, data.X[:rows], data.Y[:rows]
    timed = fs.Problem(
        solve_batch=stages.timed(SOLVER, problem.solve_batch), cost_batch=stages.timed(SOLVER, problem.cost_batch)
    )
    settings = {} if solves is None or method != "staged" else {"solves": solves}
    model = fs.DecisionRegressor(timed, method=method, settings=settings, predictor="linear", verbose=False)
    model.fit(X[:100], Y[:100])  # imports and machine code
    stages._switch()
    stages.seconds.clear()
    model.fit(X, Y)
    stages._switch()
    milliseconds = {stage: round(1e3 * stages.seconds[stage], 1) for stage in (*STAGES, REST, SOLVER)}
    around = sum(seconds for stage, seconds in stages.seconds.items() if stage != SOLVER)
    paid = model.calls_.total()
    return {"method": method, "rows": rows, "solves": paid, **milliseconds, "around": round(1e3 * around, 1),
            "share at 10 ms": round(around / (0.01 * paid), 4)}  # fmt: skip


@dataclass(frozen=True)
class Sleeping:
    """A solver that takes `seconds`."""

    seconds: float

    def __call__(self, y_hat: np.ndarray) -> np.ndarray:
        time.sleep(self.seconds)
        return y_hat


class Pinged:
    """A process that sleeps when it gets a byte, and answers with one."""

    def __init__(self, seconds: float) -> None:
        (there, self._send), (self._answer, back) = os.pipe(), os.pipe()
        self._process = os.fork()
        if not self._process:
            while byte := os.read(there, 1):
                if byte == b"0":
                    os._exit(0)
                time.sleep(seconds)
                os.write(back, byte)

    def once(self) -> None:
        os.write(self._send, b"1")
        os.read(self._answer, 1)

    def close(self) -> None:
        os.write(self._send, b"0")
        os.waitpid(self._process, 0)


def timed(function: Callable[[], object]) -> float:
    began = time.perf_counter()
    function()
    return time.perf_counter() - began


def cpu_seconds(process: int) -> float:
    """CPU seconds of a process and of all that it has started."""
    folder = Path(f"/proc/{process}")
    try:
        own = sum(int(one.read_text().split()[0]) for one in folder.glob("task/*/schedstat")) / 1e9
        started = [int(k) for one in folder.glob("task/*/children") for k in one.read_text().split()]
    except FileNotFoundError:  # it has ended
        return 0.0
    return own + sum(map(cpu_seconds, started))


def computed(function: Callable[[], object]) -> Array:
    """(2,): CPU seconds of this process, and of its workers."""
    before = time.process_time(), cpu_seconds(os.getpid())
    function()
    here, both = time.process_time() - before[0], cpu_seconds(os.getpid()) - before[1]
    return np.array([here, both - here])


def cold(seconds: float, n: int) -> float:
    """Seconds that a row takes to be made JSON and read again, once in the given seconds of computing."""
    row, taken = np.zeros(N_Y).tolist(), []
    for _ in range(n):
        busy_until = time.perf_counter() + seconds
        while time.perf_counter() < busy_until:
            pass
        taken.append(timed(lambda: json.loads(json.dumps(row))))
    return median(taken)


def per_solve(seconds: float, turns: int) -> dict[str, float]:
    """Milliseconds beyond the bare loop."""
    solve, n = Sleeping(seconds), SOLVES[seconds]
    problem = fs.Problem(solve=solve, cost=lambda y, z: 0.0)
    rows, Y = np.arange(n), np.random.default_rng(0).normal(size=(n, N_Y))
    pinged, ways = Pinged(seconds), {"in process": Serial(problem)}
    ways |= {"one worker": Processes(problem, 1), "two workers": Processes(problem, 2)}
    share = {"two workers": 2}
    for way in ways.values():
        list(way.solve(rows, Y))  # workers start, and learn how large a chunk should be
    taken: dict[str, list[float]] = {name: [] for name in ("bare", "wake", "cold", *ways)}
    cpu: dict[str, list[Array]] = {name: [] for name in ("bare", *ways)}
    for _ in range(turns):
        taken["cold"].append(cold(seconds, n))
        bare = timed(lambda: [solve(y.copy()) for y in Y]) / n
        taken["bare"].append(bare)
        taken["wake"].append(timed(lambda: [pinged.once() for _ in rows]) / n - bare)
        for name, way in ways.items():
            mine = timed(lambda way=way: list(way.solve(rows, Y))) / n
            taken[name].append(mine * share.get(name, 1) - bare)
        cpu["bare"].append(computed(lambda: [solve(y.copy()) for y in Y]) / n)
        for name, way in ways.items():
            cpu[name].append(computed(lambda way=way: list(way.solve(rows, Y))) / n)
    for way in (pinged, *ways.values()):
        way.close()
    found = {"solve": 1e3 * seconds} | {name: round(1e3 * median(values), 4) for name, values in taken.items()}
    least = {name: 1e3 * np.min(values, axis=0) for name, values in cpu.items()}
    for name in ways:
        bare = least["bare"][0] * np.array([1, 0] if name == "in process" else [0, 1])  # of the process that sleeps
        here, there = (least[name] - bare).round(4).tolist()
        found |= {f"CPU here, {name}": here, f"CPU there, {name}": there}
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--quick", action="store_true", help="two turns instead of seven")
    parser.add_argument("--seconds", type=float, nargs="*", choices=SOLVES, default=[*SOLVES])
    parser.add_argument("--rows", type=int, default=900)
    parser.add_argument("--solves", type=float)
    parser.add_argument("--methods", nargs="*", default=["staged", "gp-surrogate"])
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    figures: dict[str, Any] = {
        "load before": os.getloadavg()[0],
        "cores": os.cpu_count(),
        "per solve": [],
        "by stage": [],
    }
    for seconds in given.seconds:
        figures["per solve"].append(per_solve(seconds, 2 if given.quick else 7))
        print(figures["per solve"][-1], flush=True)
    stages = Stages()
    stages.watch()
    for method in given.methods:
        figures["by stage"].append(by_stage(method, stages, given.rows, given.solves))
        print(figures["by stage"][-1], flush=True)
    figures["load after"] = os.getloadavg()[0]
    if given.json:
        given.json.parent.mkdir(parents=True, exist_ok=True)
        given.json.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
