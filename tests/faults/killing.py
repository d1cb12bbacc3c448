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

from fewsolves.benchmarks.catalogue import load
from fewsolves.data import split_rows
from fewsolves.errors import LedgerError
from fewsolves.execution.serial import Serial
from fewsolves.ledger.file import FILE, LedgerFile
from fewsolves.oracle import config as solving
from fewsolves.oracle import recheck
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


def train(benchmark, method, folder, log, digest, seconds=0.002, settings=None):
    """One run; the digest of its weights and counts goes to a file."""
    torch.set_num_threads(1)
    recheck.CHECKED = 0  # each start would make up to three calls to see whether the ledger still holds
    solving.Serial = partial(Serial, hand_on=0.0)  # every answer at once
    given = load(benchmark, 0, n=40)
    solve, cost = Logged(given.problem.solve, str(log), seconds), given.problem.cost
    problem = dataclasses.replace(given.problem, solve=solve, cost=cost, solve_batch=None, cost_batch=None)
    quick = {"max_epochs": 6, "start_epochs": 5, "guard": -1e9} | (settings or {})
    split = split_rows(len(given.X), rng=np.random.default_rng(0), test=0.0)
    done = fit(Plan(problem, given.X, given.Y, split, method=method, predictor="linear", settings=quick, folder=folder))
    assert not done.interrupted
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
    folder, log, in_flight = place / "run", place / "log", []
    while True:
        child, paid_before = forked(lambda: run(folder, log, place / "digest")), lines(log)
        if len(in_flight) < most:
            delay = rng.uniform(0.0, until) if rng.random() < 0.8 else rng.uniform(0.0, 0.2 * until)
            time.sleep(delay)
            os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        if os.WIFSIGNALED(status):
            in_flight.append(lines(log) - durable(folder) - sum(in_flight))
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
    parser.add_argument("--checkpoints", type=float, default=0.0, help="seconds between two of them")
    given = parser.parse_args()
    checkpoint.SHORTEST, checkpoint.SHARE = given.checkpoints, 1e9
    torch.optim.Adam([torch.zeros(1)])  # its first use imports half of torch: here, before the forks
    rng, place = np.random.default_rng(given.seed), Path(tempfile.mkdtemp())

    def run(folder, log, digest):
        train(given.benchmark, given.method, folder, log, digest)

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
            differ += (here / "digest").read_text() != expected
            wrong += lines(here / "log") != solves + sum(killed)  # only what was in flight is paid twice
            in_flight += killed
            shutil.rmtree(here)
        print(
            json.dumps(
                {
                    "benchmark": given.benchmark,
                    "method": given.method,
                    "kills": len(in_flight),
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
