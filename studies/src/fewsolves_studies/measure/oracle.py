"""What the oracle adds to the bare loop over the user's functions: counting, memory, ledger and worker processes.

    python -m fewsolves_studies.measure.oracle                 # some five minutes; writes results/oracle.json
    python -m fewsolves_studies.measure.oracle --quick         # fewer calls, writes nothing

Bare loop and oracle take turns in one process, so that both see the same machine. One call is an evaluation: a solve of
the stated length and a cost call. They come in batches of 32, as a training step asks for them (8 where a solve takes
0.5 s), and a batch ends when all of it is on disk. `ledger`: solves in this process, everything durable before it is
used. `ledger and worker`: the solves in a worker process with a time limit, too. Asynchronous training against
synchronous: the same number of epochs, solves of 20 ms on four workers.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import platform
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np
import torch

import fewsolves as fs
from fewsolves.data import split_rows
from fewsolves.demo.slow import slow
from fewsolves.fitting.fit import fit
from fewsolves.fitting.plan import Plan
from fewsolves.ledger.ledger import open_ledger
from fewsolves.oracle import Oracle, SolveConfig
from fewsolves_studies.benchmarks.catalogue import load

N_Y = 50
PLANS = {0.0: (32, 20), 0.001: (32, 10), 0.01: (32, 4), 0.5: (8, 3)}  # seconds of a solve: calls in a batch, batches
VARIANTS = {"ledger": SolveConfig(), "ledger and worker": SolveConfig(time_limit=60.0)}


@dataclasses.dataclass(frozen=True)
class Sleeping:
    """A solver that takes `seconds`."""

    seconds: float

    def __call__(self, y_hat: np.ndarray) -> np.ndarray:
        if self.seconds:
            time.sleep(self.seconds)
        return y_hat[:20]


def cost(y: np.ndarray, z: np.ndarray) -> float:
    return float(np.abs(y[:20] - z).sum())


@contextmanager
def oracle_with_ledger(problem: fs.Problem, Y: np.ndarray, solving: SolveConfig) -> Iterator[Oracle]:
    """Everything that `fit(..., folder=)` has, labels paid."""
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder:  # a disk, not a file system in memory
        ledger = open_ledger(Path(folder), problem, Y, identity="benchmark", about={})
        with closing(ledger), closing(Oracle(problem, Y, solving=solving, ledger=ledger)) as oracle:
            oracle.optimum(np.arange(len(Y)))
            yield oracle


def overheads(seconds: float, quick: bool) -> dict[str, dict[str, float]]:
    """Per call, of each variant against the bare loop in the same round; medians over rounds."""
    calls, batches = PLANS[seconds]
    rng = np.random.default_rng(0)
    Y = rng.normal(size=(calls, N_Y))
    solve = Sleeping(seconds)
    problem = fs.Problem(solve=solve, cost=cost)
    index, bare = np.arange(calls), []
    taken: dict[str, list[float]] = {name: [] for name in VARIANTS}
    with (
        oracle_with_ledger(problem, Y, VARIANTS["ledger"]) as here,
        oracle_with_ledger(problem, Y, VARIANTS["ledger and worker"]) as there,
    ):
        for _ in range(2 if quick else batches):
            y_hat = rng.normal(size=Y.shape)
            bare.append(timed(lambda y_hat=y_hat: [cost(y, solve(x)) for x, y in zip(y_hat, Y, strict=True)]))
            for name, oracle in zip(VARIANTS, (here, there), strict=True):
                call = lambda oracle=oracle, y_hat=y_hat: oracle.regret(index, y_hat, phase="online")  # noqa: E731
                taken[name].append(timed(call))
    figures = {}
    for name, times in taken.items():
        more = float(np.median(np.array(times) - bare))  # of the same round
        figures[name] = {"ms per call": 1e3 * more / calls, "percent": 100 * more / float(np.median(bare))}
    return figures


def timed(call: Callable[[], object]) -> float:
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def fsync_ms() -> float:
    """What this disk takes to make a small write durable, now."""
    with tempfile.NamedTemporaryFile(dir=Path.cwd()) as file:

        def write() -> None:
            file.write(b"x" * 4096)
            file.flush()
            os.fsync(file.fileno())

        return 1e3 * float(np.median([timed(write) for _ in range(50)]))


def durable_rows_per_second(n_y: int = 512, rows: int = 800, batches: int = 4) -> float:
    """Rows of the ledger, a solve and a cost call for each evaluation, in batches of 800 as a start asks for them."""
    rng = np.random.default_rng(0)
    Y = rng.normal(size=(rows, n_y))
    problem = fs.Problem(solve_batch=lambda y_hat: y_hat[:, :20], cost_batch=lambda y, z: np.abs(y[:, :20] - z).sum(1))
    with oracle_with_ledger(problem, Y, SolveConfig()) as oracle:
        points = [rng.normal(size=Y.shape) for _ in range(batches)]
        seconds = [timed(lambda p=p: oracle.regret(np.arange(rows), p, phase="online")) for p in points]
    return 2 * rows / float(np.median(seconds))


def asynchronous(epochs: int) -> dict[str, dict[str, float]]:
    """Wall time, solves and validation regret of the same number of epochs."""
    dataset = load("kp-weights", n=200)
    split = split_rows(200, rng=np.random.default_rng(0), test=0.0)
    figures = {}
    for name, mode in (("synchronous", False), ("asynchronous", True)):
        problem = slow(dataset.problem, 0.02)
        began: list[float] = []

        def note(record: object, began: list[float] = began) -> None:
            began.append(time.perf_counter())

        fitted = fit(
            Plan(
                problem,
                dataset.X,
                dataset.Y,
                split,
                method="gp-surrogate",
                predictor="linear",
                settings={"max_epochs": epochs, "patience": epochs, "start_epochs": 100},
                solving=SolveConfig(workers=4, asynchronous=mode),
            ),
            callbacks=[note],
        )
        train = [at for at, record in zip(began, fitted.history, strict=True) if record.stage == "train"]
        figures[name] = {
            "seconds of epochs 2 on": train[-1] - train[0],
            "solves in training": fitted.oracle.calls.training(),
            "regret relative to the start": fitted.best.mean / fitted.start.mean,
        }
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    given = parser.parse_args()
    torch.set_num_threads(1)
    result: dict[str, object] = {"python": platform.python_version(), "n_y": N_Y}
    result["fsync ms"], result["overhead"] = fsync_ms(), {}
    result["load"], result["cores"] = os.getloadavg()[0], os.cpu_count()
    print(f"an fsync takes {result['fsync ms']:.3g} ms; load {result['load']:.1f} on {result['cores']} cores")
    for seconds in PLANS:
        added = overheads(seconds, given.quick)
        result["overhead"][f"{seconds:g} s"] = added
        for name, figures in added.items():
            print(f"solve of {seconds:g} s, {name}: " + ", ".join(f"{v:.3g} {k}" for k, v in figures.items()))
    result["durable rows per second"] = durable_rows_per_second(batches=2 if given.quick else 4)
    print(f"durable rows per second at n_y = 512: {result['durable rows per second']:,.0f}")
    result["asynchronous"] = asynchronous(4 if given.quick else 20)
    for name, figures in result["asynchronous"].items():
        print(f"{name}: " + ", ".join(f"{value:.4g} {what}" for what, value in figures.items()))
    if not given.quick:
        Path("results/oracle.json").write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
