"""Runs that are killed with kill -9 at random times and started again until they end; prints what happened as JSON.

    python tests/faults/killing.py --benchmark toy-64 --method sfge --kills 20

The solver itself writes down each call in a file opened with O_APPEND, so that paid calls are counted outside the
library. Every kill is followed by a look into the ledger: what is not there yet was in flight. A process of its own,
because it forks: each run starts from imported libraries.
"""

import argparse
import dataclasses
import json
import os
import shutil
import signal
import tempfile
import time
import traceback
from functools import partial
from hashlib import blake2b, sha256
from pathlib import Path

import numpy as np
import torch

import fewsolves as fs
from fewsolves.benchmarks.catalogue import load
from fewsolves.data import split_rows
from fewsolves.errors import LedgerError
from fewsolves.execution.serial import Serial
from fewsolves.ledger.file import FILE, LedgerFile
from fewsolves.oracle import SolveConfig, config, recheck
from fewsolves.runs import checkpoint
from fewsolves.runs.fit import fit
from fewsolves.runs.plan import Plan


@dataclasses.dataclass(frozen=True)
class Logged:
    """A function that writes each of its calls to a file, and takes its time."""

    function: object
    path: str
    seconds: float

    def __call__(self, *arguments):
        name = blake2b(b"".join(np.asarray(a).tobytes() for a in arguments), digest_size=12).hexdigest()
        file = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        os.write(file, f"{name}\n".encode())
        os.close(file)
        time.sleep(self.seconds)
        return self.function(*arguments)


class Shortage:
    """A problem as a user has it, in an object: what is ordered must cover a demand that the forecast misses."""

    def __init__(self):
        self.price, self.penalty = 1.0, 9.0

    def solve(self, y_hat):
        return np.ceil(y_hat)

    def cost(self, y, z):
        return float(np.sum(self.price * z + self.penalty * np.maximum(y - z, 0.0)))


@dataclasses.dataclass(frozen=True)
class Given:
    problem: fs.Problem
    X: np.ndarray
    Y: np.ndarray


def loaded(benchmark):
    if benchmark != "user":
        return load(benchmark, 0, n=40)
    rng, shortage = np.random.default_rng(0), Shortage()
    X = rng.normal(size=(40, 4))
    problem = fs.Problem(solve=shortage.solve, cost=shortage.cost)
    return Given(problem, X, rng.poisson(20 + 5 * X[:, :3] ** 2).astype(float))


def train(benchmark, method, folder, log, digest, seconds=0.002, settings=None, solving=None):
    """One run; the digest of its weights and counts goes to a file."""
    torch.set_num_threads(1)
    recheck.CHECKED = 0  # else each start would make up to three calls to see whether the ledger still holds
    config.Serial = partial(Serial, hand_on=0.0)  # every answer at once
    given = loaded(benchmark)
    solve, cost = Logged(given.problem.solve, str(log), seconds), given.problem.cost
    problem = dataclasses.replace(given.problem, solve=solve, cost=cost, solve_batch=None, cost_batch=None)
    rate = {"user": 0.05}.get(benchmark, 0.005)  # at which six epochs gain something
    quick = {"max_epochs": 6, "start_epochs": 5, "guard": -1e9, "learning_rate": rate} | (settings or {})
    split = split_rows(len(given.X), rng=np.random.default_rng(0), test=0.0)
    options = {"predictor": "linear", "settings": quick, "folder": folder, "solving": solving}
    done = fit(Plan(problem, given.X, given.Y, split, method=method, **options))
    assert not done.interrupted
    assert "kept its start" not in done.stopped
    weights = b"".join(values.numpy().tobytes() for values in done.predictor.state_dict().values())
    told = [done.oracle.calls.counts, done.best.mean, [(r.train_loss, r.validation_regret) for r in done.history]]
    digest.write_text(sha256(weights + json.dumps(told, sort_keys=True).encode()).hexdigest())


def forked(run):
    child = os.fork()
    if child == 0:
        code = 1
        try:
            run()
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    return child


def lines(log):
    return len(log.read_text().splitlines()) if log.exists() else 0


def durable(folder):
    """Solves on record."""
    try:
        file = LedgerFile(folder / FILE, write=False)
    except LedgerError:
        return 0  # killed before there was one
    try:
        return file.query("SELECT count(*) FROM calls WHERE kind = 'solve' AND status = 'ok'")[0][0]
    finally:
        file.close()


def kill_until_done(place, run, until, rng, most):
    """(kills, in flight at each) of one run that is killed up to `most` times."""
    folder, log, in_flight, acknowledged = place / "run", place / "log", [], 0
    while True:
        child, paid_before = forked(lambda: run(folder, log, place / "digest")), lines(log)
        if len(in_flight) < most:
            delay = rng.uniform(0.0, until) if rng.random() < 0.8 else rng.uniform(0.0, 0.2 * until)
            time.sleep(delay)
            os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        if os.WIFSIGNALED(status):
            assert durable(folder) >= acknowledged, "what was on record is on record"
            acknowledged = durable(folder)
            in_flight.append(lines(log) - acknowledged - sum(in_flight))
            assert lines(log) >= paid_before
            continue
        assert os.WEXITSTATUS(status) == 0, "the run ended with an error"
        return in_flight


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--benchmark", default="toy-64")
    parser.add_argument("--method", default="sfge")
    parser.add_argument("--kills", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--asynchronous", action="store_true", help="then results may differ, and are not compared")
    parser.add_argument("--checkpoints", type=float, default=0.0, help="seconds between two of them")
    given = parser.parse_args()
    checkpoint.SHORTEST, checkpoint.SHARE = given.checkpoints, 1e9
    torch.optim.Adam([torch.zeros(1)])  # its first use imports half of torch: here, before the forks
    rng, place = np.random.default_rng(given.seed), Path(tempfile.mkdtemp())

    solving = SolveConfig(workers=given.workers, asynchronous=given.asynchronous)

    def run(folder, log, digest):
        train(given.benchmark, given.method, folder, log, digest, solving=solving)

    try:
        began = time.monotonic()
        child = forked(lambda: run(None, place / "log", place / "digest"))  # without a folder, never interrupted
        assert os.waitpid(child, 0)[1] == 0
        until, expected = 1.2 * (time.monotonic() - began), (place / "digest").read_text()
        solves, in_flight, differ, wrong = lines(place / "log"), [], 0, 0
        turn = 0
        while len(in_flight) < given.kills:
            turn += 1
            here = place / str(turn)
            here.mkdir()
            killed = kill_until_done(here, run, until, rng, min(3, given.kills - len(in_flight)))
            if not given.asynchronous:
                differ += (here / "digest").read_text() != expected
                wrong += lines(here / "log") != solves + sum(killed)  # only what was in flight is paid twice
            in_flight += killed
            shutil.rmtree(here)
        print(
            json.dumps(
                {
                    "benchmark": given.benchmark,
                    "method": given.method,
                    "workers": given.workers,
                    "asynchronous": given.asynchronous,
                    "kills": len(in_flight),
                    "acknowledged_and_lost": 0,
                    "runs": turn,
                    "solves": solves,
                    "seconds": round(until, 2),
                    "differing_results": differ,
                    "runs_that_paid_for_more_than_what_was_in_flight": wrong,
                    "in_flight_at_the_most": max(in_flight),
                    "in_flight_on_average": round(sum(in_flight) / len(in_flight), 2),
                }
            )
        )
    finally:
        shutil.rmtree(place, ignore_errors=True)


if __name__ == "__main__":
    main()
