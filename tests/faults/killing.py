"""Runs that are killed with kill -9 at random times and started again until they end; prints what happened as JSON.

    python tests/faults/killing.py --benchmark toy-64 --method sfge --kills 20

The solver itself writes down each call in a file opened with O_APPEND, so that paid calls are counted outside the
library. Every kill is followed by a look into the ledger: what is not there yet was in flight. When to kill is drawn by
how far the run has come, in solves or in its own processor time, so that a busy machine changes nothing.

A process of its own, because it forks: one run without a folder, never interrupted, tells what is expected, and leaves
everything imported and compiled for those that follow. Folders are in memory where the machine has a place for that: a
kill takes no page from a file system, synced or not. What syncs are for is tried by test_power.py and test_storage.py.
"""

import argparse
import ctypes
import dataclasses
import json
import os
import shutil
import signal
import sys
import tempfile
import time
import traceback
from functools import partial
from hashlib import blake2b, sha256
from pathlib import Path

import numpy as np

import fewsolves as fs
from fewsolves.data import split_rows
from fewsolves.errors import LedgerError
from fewsolves.execution.serial import Serial
from fewsolves.fitting import checkpoint
from fewsolves.fitting.fit import fit
from fewsolves.fitting.plan import Plan
from fewsolves.ledger.sqlite.file import LEDGER_FILE, LedgerFile
from fewsolves.methods.registry import find_method
from fewsolves.oracle import SolveConfig, config, recheck
from fewsolves.testing.methods import known_settings
from fewsolves_studies.benchmarks.catalogue import load

MEMORY = Path("/dev/shm")


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
        return float((self.price * z + self.penalty * np.maximum(y - z, 0.0)).sum())


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
    found = find_method(method)
    if (torch := sys.modules.get("torch")) is not None:  # some methods bring it
        torch.set_num_threads(1)
    recheck.CHECKED = 0  # else each start would make up to three calls to see whether the ledger still holds
    config.Serial = partial(Serial, hand_on=0.0)  # every answer at once
    given = loaded(benchmark)
    solve, cost = Logged(given.problem.solve, str(log), seconds), given.problem.cost
    problem = dataclasses.replace(given.problem, solve=solve, cost=cost, solve_batch=None, cost_batch=None)
    rate = {"user": 0.05}.get(benchmark, 0.005)  # at which six epochs gain something
    quick = {"max_epochs": 6, "start_epochs": 5, "guard": -1e9, "learning_rate": rate} | (settings or {})
    split = split_rows(len(given.X), rng=np.random.default_rng(0), test=0.0)
    if found.cross_fits:  # it splits the rows itself
        split, quick = None, quick | {"solves": 4, "cost_calls": 100}
    quick = known_settings(found, quick)
    options = {"predictor": "linear", "settings": quick, "folder": folder, "solving": solving}
    done = fit(Plan(problem, given.X, given.Y, split, method=method, **options))
    assert not done.interrupted
    weights = b"".join(values.tobytes() for values in done.predictor.state_dict().values())
    course = [done.oracle.calls.counts, done.best.mean, [(r.train_loss, r.validation_regret) for r in done.history]]
    digest.write_text(sha256(weights + json.dumps(course, sort_keys=True).encode()).hexdigest())
    return done


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
    return log.read_bytes().count(b"\n") if log.exists() else 0


def on_record(folder):
    """Solves that the ledger has: row numbers and checksums."""
    try:
        file = LedgerFile(folder / LEDGER_FILE, write=False)
    except LedgerError:
        return set()  # killed before there was one
    try:
        return set(file.query("SELECT seq, checksum FROM calls WHERE kind = 'solve' AND status = 'ok'"))
    finally:
        file.close()


def seconds_of(child):
    """Processor time of a process."""
    fields = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def kill_somewhere(child, log, base, rng):
    """Kill the run at a random place of what is left of it; its status."""
    share = rng.uniform(0.0, 1.0) if rng.random() < 0.8 else rng.uniform(0.0, 0.2)
    began, by_solves, wait = lines(log), rng.random() < 0.5, rng.uniform(0.0, 0.01)
    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return status
        if by_solves:
            reached = lines(log) - began >= share * max(0, base.solves - began)
        else:
            reached = seconds_of(child) >= share * base.seconds
        if reached:
            time.sleep(wait)
            os.kill(child, signal.SIGKILL)
            return os.waitpid(child, 0)[1]
        time.sleep(0.002)


def wait_for_its_workers(seconds=10.0):
    """Workers and solvers of a dead run come to this process, and must end by themselves; how many did not."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        try:
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                time.sleep(0.005)
        except ChildProcessError:
            return 0
    return 1


def kill_until_done(place, run, base, rng, most):
    """(in flight at each kill, acknowledged and lost, survivors) of one run that is killed up to `most` times."""
    folder, log, in_flight, acknowledged, lost, survivors = place / "run", place / "log", [], set(), 0, 0
    while True:
        child = forked(lambda: run(folder, log, place / "digest"))
        status = kill_somewhere(child, log, base, rng) if len(in_flight) < most else os.waitpid(child, 0)[1]
        survivors += wait_for_its_workers()
        if os.WIFSIGNALED(status):
            now = on_record(folder)
            lost += len(acknowledged - now)
            acknowledged = now
            in_flight.append(lines(log) - len(now) - sum(in_flight))
            continue
        assert os.WEXITSTATUS(status) == 0, "the run ended with an error"
        return in_flight, lost, survivors


@dataclasses.dataclass(frozen=True)
class Base:
    """The run that is not interrupted."""

    digest: str
    solves: int
    seconds: float  # of the processor
    start: float  # regret
    best: float


def uninterrupted(place, run):
    for turn in (0, 1):  # the first one compiles
        began, here = time.process_time(), place / f"base-{turn}"
        here.mkdir()
        done = run(None, here / "log", here / "digest")
        spent = time.process_time() - began
    return Base((here / "digest").read_text(), lines(here / "log"), spent, done.start.mean, done.best.mean)


def new_place():
    return Path(tempfile.mkdtemp(dir=MEMORY if os.access(MEMORY, os.W_OK) else None))


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
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER: see wait_for_its_workers
    rng, place, began = np.random.default_rng(given.seed), new_place(), time.monotonic()

    def run(folder, log, digest, workers=given.workers, asynchronous=given.asynchronous):
        solving = SolveConfig(workers=workers, asynchronous=asynchronous)
        return train(given.benchmark, given.method, folder, log, digest, solving=solving)

    try:
        base = uninterrupted(place, partial(run, workers=1, asynchronous=False))  # wherever solves run: the same
        assert base.best < base.start, "a run that gains nothing shows nothing"
        in_flight, turn, differ, wrong, lost, survivors = [], 0, 0, 0, 0, 0
        while len(in_flight) < given.kills:
            turn += 1
            here = place / str(turn)
            here.mkdir()
            killed, gone, left = kill_until_done(here, run, base, rng, min(5, given.kills - len(in_flight)))
            lost, survivors, in_flight = lost + gone, survivors + left, in_flight + killed
            if not given.asynchronous:
                differ += (here / "digest").read_text() != base.digest
                wrong += lines(here / "log") != base.solves + sum(killed)  # only what was in flight is paid twice
            shutil.rmtree(here)
        print(
            json.dumps(
                {
                    "benchmark": given.benchmark,
                    "method": given.method,
                    "workers": given.workers,
                    "asynchronous": given.asynchronous,
                    "kills": len(in_flight),
                    "runs": turn,
                    "acknowledged_and_lost": lost,
                    "differing_results": differ,
                    "runs_that_paid_for_more_than_what_was_in_flight": wrong,
                    "survivors": survivors,
                    "in_flight_at_the_most": max(in_flight),
                    "in_flight_on_average": round(sum(in_flight) / len(in_flight), 2),
                    "solves": base.solves,
                    "regret_of_the_start": base.start,
                    "regret_of_the_best": base.best,
                    "seconds": round(time.monotonic() - began),
                }
            )
        )
    finally:
        shutil.rmtree(place, ignore_errors=True)


if __name__ == "__main__":
    main()
