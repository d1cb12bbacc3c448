"""How quick is this checkout beside another commit: to import, to begin, around the solver, as the table grows?

    python -m fewsolves_studies.measure.speed --against e118d38 [--cases import fit] [--rounds 5] [--json
        results/lighter/speed.json]

Each case is a process of its own, with the package of either version; the two take turns, so that both see the same
machine, and the medians of the rounds are compared. CPU seconds are those of the process and of its children. What is
waited for (`wall`) depends on who else computes. OMP_NUM_THREADS is 1, but for cases that end in "all threads", where
it is as here. Cases, in `CASES`, use names that both versions have.
"""

from __future__ import annotations

import argparse
import contextlib
import copy
import inspect
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from statistics import median
from typing import Any

HERE = Path(__file__).resolve()
KEPT = HERE.parents[4] / "runs" / "speed"  # machine code that numba keeps, by version
BATCH = 32


def cpu() -> float:
    """Seconds of this process and of its children."""
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


def package() -> dict[str, float]:
    """`import fewsolves`, from the start of Python on."""
    import fewsolves  # noqa: F401

    return {"cpu": cpu()}


def imports() -> dict[str, float]:
    """What a fit imports, from the start of Python on."""
    import fewsolves as fs

    fs.DecisionRegressor  # noqa: B018
    return {"cpu": cpu()}


def help_text() -> dict[str, float]:
    """`fewsolves --help`, from the start of Python on."""
    from fewsolves.cli import main

    main(["--help"], standalone_mode=False)
    return {"cpu": cpu()}


def cost_of_orders() -> Callable[[Any, Any], float]:
    """The cost of the example that the README of 0.1.0 begins with."""
    import numpy as np

    return lambda demand, ordered: float(np.sum(1.0 * ordered + 9.0 * np.maximum(demand - ordered, 0.0)))


def orders(**settings: Any) -> dict[str, float]:
    """The example of the README of 0.1.0: 300 rows, 3 parameters, a solver that takes no time."""
    import numpy as np

    import fewsolves as fs

    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    Y = rng.poisson(20 + 5 * X[:, :3] ** 2).astype(float)
    problem = fs.Problem(solve=np.ceil, cost=cost_of_orders())
    model = fs.DecisionRegressor(problem, verbose=False, **settings).fit(X, Y)
    return {"cpu": cpu(), "wall": time.clock_gettime(time.CLOCK_BOOTTIME) - started(), "solves": model.calls_.total()}


def knapsack(**settings: Any) -> dict[str, float]:
    """A fit of kp-weights, 800 training rows, linear predictor; its solves take microseconds. Without imports."""
    import fewsolves as fs

    X, Y, problem = benchmark()
    model = fs.DecisionRegressor(problem, predictor="linear", verbose=False, **settings)
    model.fit(X[:100], Y[:100])  # imports and machine code
    before = cpu()
    model = fs.DecisionRegressor(problem, predictor="linear", verbose=False, **settings).fit(X, Y)
    return {"cpu": cpu() - before, "solves": model.calls_.total()}


def epoch() -> dict[str, float]:
    """One epoch of the surrogate on 800 rows in steps of 32, where it is trusted and nothing is paid."""
    import numpy as np
    import torch

    from fewsolves.data import Scale
    from fewsolves.training.steps import Steps

    try:
        from fewsolves.predictors.predictor import Predictor, linear
    except ImportError:  # as it was before 0.2.0
        from fewsolves.predictor import Predictor, linear
    try:
        from fewsolves.methods.base import TrainConfig
    except ImportError:  # as it was in 0.1.0
        from fewsolves.training.loop import TrainConfig
    X, Y, problem = benchmark()
    X, Y = X[:800], Y[:800]
    predictor = Predictor(linear(X.shape[1], Y.shape[1], seed=0), Scale.of(X), Scale.of(Y))
    x, loss = rows_of(X), surrogate_loss(problem, Y, beta=1e9)
    loss.start(predictor(torch.as_tensor(X)).detach())
    loss = loss_of(loss)
    means = [copy.deepcopy(predictor)] if "kept" in inspect.signature(Steps).parameters else []  # 0.1.0 asks for it
    steps, taken = Steps(predictor, *means, loss, x, TrainConfig(), np.random.default_rng(0)), []
    for number in range(30):
        loss.begin_epoch(getattr(steps, "predict", lambda: predictor(x).detach()))
        before = time.thread_time()
        steps.epoch(number)
        taken.append(time.thread_time() - before)
    return {"cpu": median(taken[5:])}


def rows_of(X: Any) -> Any:
    """Rows as the steps of either version take them: since torch is an extra, arrays."""
    import torch

    return X if hasattr(import_module("fewsolves.methods.loss"), "ArrayLoss") else torch.as_tensor(X)


def loss_of(loss: Any) -> Any:
    """A torch loss as the steps of either version take it."""
    if hasattr(loss, "arrays"):  # of the surrogate, since 0.2.0: what the steps of a fit minimise
        return loss.arrays
    bridged = getattr(import_module("fewsolves.methods.loss"), "as_array_loss", None)
    return loss if bridged is None else bridged(loss)


def network_steps() -> dict[str, float]:
    """CPU seconds, of all threads, of a step of the network's prediction-focused start: 32 rows, 3 parameters."""
    import numpy as np

    from fewsolves.data import Scale
    from fewsolves.training.steps import Steps

    try:
        from fewsolves.predictors.predictor import Predictor, network
    except ImportError:  # as it was before 0.2.0
        from fewsolves.predictor import Predictor, network
    try:
        from fewsolves.methods.base import TrainConfig
        from fewsolves.methods.pfl import PFLLoss
    except ImportError:  # as it was in 0.1.0
        from fewsolves.losses.pfl import PFLLoss
        from fewsolves.training.loop import TrainConfig
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(320, 4)), rng.normal(size=(320, 3))
    predictor = Predictor(network(4, 3, seed=0), Scale.of(X), Scale.of(Y))
    means = [copy.deepcopy(predictor)] if "kept" in inspect.signature(Steps).parameters else []
    steps = Steps(predictor, *means, PFLLoss(Y), rows_of(X), TrainConfig(), rng)
    steps.epoch(0)
    before = time.process_time()
    for number in range(1, 21):
        steps.epoch(number)
    return {"cpu": (time.process_time() - before) / 200}


def append(rows: int) -> dict[str, float]:
    """Seconds per point that the surrogate learns, 32 at a time, by the number of rows in the table."""
    import numpy as np
    import torch

    import fewsolves as fs

    rng = np.random.default_rng(0)
    Y, everyone = rng.normal(size=(rows, 10)), np.arange(rows)
    problem = fs.Problem(solve_batch=lambda y: y, cost_batch=lambda y, z: np.abs(y - z).sum(axis=1))
    loss = surrogate_loss(problem, Y)
    loss.start(torch.as_tensor(Y + rng.normal(size=Y.shape)))
    surrogate, taken = loss.surrogate, []
    for _ in range(300):
        index = rng.choice(everyone, BATCH, replace=False)
        points = rng.normal(size=(BATCH, 10))
        before = time.thread_time()
        surrogate.samples.add(index, points, rng.normal(size=BATCH), points, np.ones(10))
        surrogate.learn()
        surrogate.prior_std(index)
        surrogate.posterior(torch.as_tensor(points), index)
        taken.append((time.thread_time() - before) / BATCH)
    return {"cpu": sum(taken[20:]) / len(taken[20:])}


def known_decisions(*, recorded: bool = False) -> dict[str, float]:
    """Seconds of a cost call of the README's example, by itself (`bare`) and asked for as known decisions are.

    `recorded`: with a ledger, which has each charge on disk before the call begins.
    """
    import numpy as np

    import fewsolves as fs
    from fewsolves.ledger.ledger import open_ledger

    rng, rows = np.random.default_rng(0), np.arange(20_000)
    Y, decisions = rng.random((len(rows), 3)), np.ceil(rng.random((len(rows), 3)))
    cost, taken = cost_of_orders(), []
    problem, folder = fs.Problem(solve=np.ceil, cost=cost), Path("ledger")  # in the folder of the round
    ledger = open_ledger(folder, problem, Y, identity="speed") if recorded else None
    oracle = fs.Oracle(problem, Y, ledger=ledger)
    for _ in range(5):
        began = time.process_time()
        for y, z in zip(Y, decisions, strict=True):
            cost(y, z)
        bare = time.process_time()
        oracle.cost_at(rows, Y, decisions)
        taken.append((time.process_time() - bare, bare - began))
    return {
        name: median(part) / len(rows) for name, part in zip(("cpu", "bare"), zip(*taken, strict=True), strict=True)
    }


# of the benchmarks: now, before the studies were a package of their own, and in 0.1.0
PLACES = ("fewsolves_studies.benchmarks.catalogue", "fewsolves.benchmarks.catalogue", "fewsolves.problems.benchmark")


def benchmark() -> tuple[Any, Any, Any]:
    """900 rows of kp-weights, of which 800 are trained on."""
    for module in PLACES:
        with contextlib.suppress(ImportError):
            load = import_module(module).load
            break
    data = load("kp-weights", 0)
    return data.X[:900], data.Y[:900], data.problem


def surrogate_loss(problem: Any, Y: Any, **settings: Any) -> Any:
    import fewsolves as fs

    return fs.GPSurrogateLoss(problem, Y, fs.GPSurrogateConfig(**settings))


def started() -> float:
    """When this process began, in seconds since the machine did."""
    ticks = float(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
    return ticks / os.sysconf("SC_CLK_TCK")


CASES: dict[str, Callable[[], dict[str, float]]] = {
    "import": package,
    "imports of a fit": imports,
    "help": help_text,
    "fit, all threads": orders,
    "first fit": orders,  # nothing is compiled yet
    "fit": orders,
    "first fit, gp-surrogate": lambda: orders(method="gp-surrogate"),
    "fit, gp-surrogate": lambda: orders(method="gp-surrogate"),
    "around the solver": knapsack,
    "around the solver, gp-surrogate": lambda: knapsack(method="gp-surrogate"),
    "around the solver, all threads": knapsack,
    "epoch": epoch,
    "step of the network": network_steps,
    "step of the network, all threads": network_steps,
    "known decisions": known_decisions,  # which 0.1.0 has none of
    "known decisions, ledger": lambda: known_decisions(recorded=True),
    "append, 1000 rows": lambda: append(1_000),
    "append, 10000 rows": lambda: append(10_000),
    "append, 100000 rows": lambda: append(100_000),
}


def run(case: str, tree: Path) -> dict[str, float]:
    """One round of a case with the packages in a checkout."""
    from fewsolves_studies.measure.identity import sources

    with tempfile.TemporaryDirectory() as empty:
        kept = empty if case.startswith("first") else str(KEPT / tree.name)
        variables = {"PYTHONPATH": sources(tree), "NUMBA_CACHE_DIR": kept}
        variables |= {} if case.endswith("all threads") else {"OMP_NUM_THREADS": "1"}
        command = [sys.executable, str(HERE), "--case", case]
        done = subprocess.run(command, capture_output=True, text=True, env=os.environ | variables, cwd=empty)
    if done.returncode:
        raise RuntimeError(f"{case}, {tree}: {done.stderr[-2000:]}")
    return dict(json.loads(done.stdout.splitlines()[-1]))


def compare(case: str, before: Path, after: Path, rounds: int) -> dict[str, Any]:
    """Medians of both, and their ratios."""
    found: dict[str, list[dict[str, float]]] = {"before": [], "after": []}
    if not case.startswith("first"):
        for source in (before, after):  # imports are compiled to bytes, kernels to machine code
            run(case, source)
    for _ in range(rounds):
        found["before"].append(run(case, before))
        found["after"].append(run(case, after))
    compared: dict[str, Any] = {"case": case, "rounds": rounds}
    for figure in found["after"][0]:
        old, new = (median(one[figure] for one in found[which]) for which in ("before", "after"))
        compared |= {f"{figure} before": round(old, 7), f"{figure} after": round(new, 7)}
        compared[f"{figure} ratio"] = round(new / old, 3)
    return compared


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--against", default="e118d38", help="the commit to compare with")
    parser.add_argument("--cases", nargs="+", choices=CASES, default=list(CASES))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path, help="the file to write; cases that are there already are kept")
    parser.add_argument("--case", help="run one in this process, and print its figures")
    given = parser.parse_args()
    if given.case:
        warnings.simplefilter("ignore")
        print(json.dumps(CASES[given.case]()))
        return
    from fewsolves_studies.measure.identity import ROOT, checkout

    figures = json.loads(given.json.read_text()) if given.json and given.json.exists() else {}
    for case in given.cases:
        figures[case] = compare(case, checkout(given.against), ROOT, given.rounds)
        print(json.dumps(figures[case]), flush=True)
        if given.json:
            given.json.parent.mkdir(parents=True, exist_ok=True)
            given.json.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
