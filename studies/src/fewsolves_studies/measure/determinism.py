"""Is a fit the same on a busy machine? The same one many times while other processes take the processor.

    python -m fewsolves_studies.measure.determinism

Cost functions of 20 microseconds to 1 ms, without `cost_batch`, so that what a cost call takes would matter if anything
were decided by the clock. Other processes compute for spells of random length meanwhile. The fits are run in this
process, by two workers, and with a ledger in a folder, in turns. Counted are different models, by all their weights,
different courses of training, by losses, regrets and counts of all epochs, and different numbers of solves and cost
calls: each must be 1. A start that is kept is the same model whatever training did, so the problem is one where
training gains; where the start is kept nevertheless, only the courses show anything, and the table says so.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import multiprocessing
import os
import random
import tempfile
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

import fewsolves as fs
from fewsolves_studies.benchmarks.study import Result
from fewsolves_studies.measure.resumable import Group, complete, parser_of, write

FITS, ROWS, SOLVES = 20, 40, 2
COSTS = {20: None, 60: None, 200: None, 1000: 100.0}  # microseconds of a call: the setting `cost_calls`
WAYS = ("plain", "plain", "two workers", "ledger")  # in turns
STORE = 80
SPELL = 0.05  # seconds that a burning process computes or rests, at most


@dataclass(frozen=True)
class Slow:
    """Orders of two goods that share a store; a cost call takes `seconds` by the clock."""

    seconds: float

    def solve(self, y_hat: np.ndarray) -> np.ndarray:
        """Whole units, and fewer of each where the store is full."""
        z = np.round(np.maximum(0.0, y_hat))
        return np.asarray(np.floor(z * min(1.0, STORE / max(1.0, z.sum()))))

    def cost(self, y: np.ndarray, z: np.ndarray) -> float:
        """What is missing is dearer than what is left."""
        end = time.perf_counter() + self.seconds
        while time.perf_counter() < end:
            pass
        return float(9.0 * np.maximum(0.0, y - z).sum() + np.maximum(0.0, z - y).sum())


def table(n: int) -> tuple[np.ndarray, np.ndarray]:
    """X, Y."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    Y = 20 + X @ np.array([[4.0, 0.0], [0.0, 3.0], [2.0, 2.0]]) + rng.gamma(2.0, 2.0, size=(n, 2))
    return X, Y


def burn() -> None:
    """Compute and rest, for as long as the process that began it lives."""
    parent = os.getppid()
    while os.getppid() == parent:
        end = time.perf_counter() + random.uniform(0, SPELL)
        while time.perf_counter() < end:
            pass
        time.sleep(random.uniform(0, SPELL / 2))


@contextlib.contextmanager
def load(processes: int) -> Iterator[None]:
    """So many other processes that compute."""
    context = multiprocessing.get_context("spawn")
    burning = [context.Process(target=burn, daemon=True) for _ in range(processes)]
    for process in burning:
        process.start()
    try:
        yield
    finally:
        for process in burning:
            process.terminate()
            process.join()


def measure(group: Group) -> Iterator[Result]:
    """Fits under load, each with the digest of its model."""
    burning = next(iter(group.values()))[-1]
    with load(burning):
        for microseconds, calls, way, n, _ in group.values():
            yield fit(microseconds, calls, way, n)


def fit(microseconds: int, cost_calls: float | None, way: str, n: int) -> Result:
    """One fit, and what tells it from another."""
    slow, (X, Y) = Slow(1e-6 * microseconds), table(n)
    settings = {"solves": SOLVES} | ({} if cost_calls is None else {"cost_calls": cost_calls})
    problem, began = fs.Problem(solve=slow.solve, cost=slow.cost), time.monotonic()
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings(action="ignore"):
        options = {"two workers": {"workers": 2}, "ledger": {"folder": folder}}.get(way, {})
        model = fs.DecisionRegressor(problem, predictor="linear", settings=settings, verbose=False, **options).fit(X, Y)
    digest = hashlib.sha256()
    for name, weights in sorted(model.predictor_.state_dict().items()):
        digest.update(name.encode() + weights.tobytes())
    clock = ("seconds", "solver_seconds")
    course = json.dumps([{k: v for k, v in one.row().items() if k not in clock} for one in model.history_])
    return {
        "model": digest.hexdigest()[:16],
        "course": hashlib.sha256(course.encode()).hexdigest()[:16],
        "solves": model.calls_.total("solve"),
        "cost_calls": model.calls_.total("cost"),
        "kept_start": bool(model.kept_start_),
        "validation_regret": model.validation_regret_,
        "seconds": round(time.monotonic() - began, 2),
    }


def rows(runs: Mapping[str, Result], plan: Mapping[str, tuple[int, str]]) -> list[dict[str, str]]:
    """One row per price of a cost call; `plan` has price and way by the name of the run."""
    facts = []
    for price in dict.fromkeys(price for price, _ in plan.values()):
        found = [(way, runs[name]) for name, (of, way) in plan.items() if of == price and name in runs]
        if not found:
            continue
        models, kept = {one["model"] for _, one in found}, sum(one["kept_start"] for _, one in found)
        plain = {one["model"] for way, one in found if way == "plain"}
        facts.append(
            {
                "cost call": f"{price} µs",
                "fits": str(len(found)),
                "different models": str(len(models)),
                "different courses": str(len({one["course"] for _, one in found})),
                "among plain fits": str(len(plain)),
                "by workers": _same({one["model"] for way, one in found if way == "two workers"}, plain),
                "with a ledger": _same({one["model"] for way, one in found if way == "ledger"}, plain),
                "numbers of solves": ", ".join(map(str, sorted({one["solves"] for _, one in found}))),
                "numbers of cost calls": ", ".join(map(str, sorted({one["cost_calls"] for _, one in found}))),
                "start kept": str(kept) + (" **models say nothing**" if kept == len(found) else ""),
                "seconds of a fit": f"{min(o['seconds'] for _, o in found)} to {max(o['seconds'] for _, o in found)}",
            }
        )
    return facts


def _same(models: set[str], plain: set[str]) -> str:
    if not models or not plain:
        return ""
    return "the same" if models == plain else "**another**"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = parser_of(__doc__, "determinism")
    parser.add_argument("--fits", type=int, default=FITS)
    parser.add_argument("--burning", type=int, default=2 * (os.cpu_count() or 1), help="processes that compute")
    given = parser.parse_args(arguments)
    costs, fits, n, burning = COSTS, given.fits, ROWS, given.burning
    if given.quick:
        costs, fits, n, burning = {20: 100.0}, 4, 40, 1
    groups, plan = [], {}
    for price, calls in costs.items():
        ways = {f"{price}/fit-{k}": WAYS[k % len(WAYS)] for k in range(fits)}
        plan |= {name: (price, way) for name, way in ways.items()}
        groups.append({name: (price, calls, way, n, burning) for name, way in ways.items()})
    runs = complete(groups, measure, given)
    write(given, runs, [rows(runs, plan)])


if __name__ == "__main__":
    from fewsolves_studies.measure.determinism import main as imported  # workers find the problem by this name

    imported()
