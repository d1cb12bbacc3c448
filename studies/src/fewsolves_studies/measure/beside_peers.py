"""Regret against all solves beside other methods, on the public shapes of `peer_problems`.

    python -m fewsolves_studies.measure.beside_peers                   what is missing, then the tables
    python -m fewsolves_studies.measure.beside_peers --again ours      our methods again: after a change of one of them
    python -m fewsolves_studies.measure.beside_peers --show            the tables of what is there

300 rows and 1,000 fresh ones to measure on; normalised regret is the sum of regrets over the sum of best objectives. A
budget is the number of *all* solves per row, labels and validation included; the solver itself counts. The predictor
is linear; on energy-C one layer is shared by all half-hours.

    ours       staged (the default), spo+ (rate 0.01, from least squares), pairs, sfge, gp-surrogate, lancer: as they
               are, with a budget
    PyEPO      SPO+, PFY, two ranking losses and CaVE from least squares, batches of 32, the last weights: `peer_pyepo`
    PyDFLT     SFGE and LANCER, where X is a table: `peer_pydflt`, in an environment of its own
    vertices   in the spirit of LAVA (arXiv 2505.22224): one solve per row, its label; the loss compares it with the
               vertices next to it. It was written for this study and is not the authors' code

        loss_i = mean_j max(0, margin + c_hat . (z_i - z_ij))      z_i the label, z_ij its neighbours, c to be minimised

The rate of all methods but ours is that of RATES which is best on fresh rows of dataset 100, by method, problem and
budget. Runs are lines of OUT/runs.jsonl: what is there, with the same rate, is not run again, unless `--again` names
the method and the run is of another commit. So a command that was stopped continues where it was. A method whose
package is missing is not run, and the command says what to install.
"""

from __future__ import annotations

import argparse
import importlib.util
import math
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

import fewsolves as fs
from fewsolves_studies.benchmarks.study import Result, Study
from fewsolves_studies.commit import code_commit
from fewsolves_studies.measure import peer_pydflt, peer_pyepo
from fewsolves_studies.measure.frontier_tables import markdown
from fewsolves_studies.measure.peer_problems import SHAPES, Shape, least_squares

START, VERTICES = "least squares", "vertices"
OURS = ("staged", "spo+", "pairs", "sfge", "gp-surrogate", "lancer")
THEIRS = (*peer_pyepo.METHODS, *peer_pydflt.METHODS)
NEEDS = {  # modules, and what to install where one is missing
    **dict.fromkeys(peer_pyepo.METHODS, (("pyepo.model.bases",), "pip install --editable 'studies[peers]'")),
    peer_pyepo.CAVE: (("pyepo.model.bases", "gurobipy", "clarabel"), "pip install --editable 'studies[peers]'"),
    **dict.fromkeys(peer_pydflt.METHODS, (("pydflt",), "the environment that peer_pydflt.py describes")),
}
SETTINGS = {"spo+": {"learning_rate": 0.01, "warm_start": True}}
BUDGETS = (2, 4, 8)
RATES = (0.001, 0.003, 0.01, 0.03, 0.1)
CHOOSING = 100
ROWS, FRESH = 300, 1000
FIRST_POINTS = 5  # solves per row that gp-surrogate needs before it trains
EPOCHS, MARGIN = 60, 0.1  # of `vertices`; in units of the mean absolute cost


class Task(NamedTuple):
    """One method under one budget on one dataset."""

    problem: str
    method: str
    budget: int
    dataset: int
    rate: float | None = None

    @property
    def run(self) -> str:
        tried = f"@{self.rate}" if self.dataset == CHOOSING else ""
        return f"{self.problem}/{self.method}@{self.budget}{tried}.{self.dataset}"


def methods_of(problem: str, budget: int) -> list[str]:
    """The methods that fit the problem and the budget."""
    methods = [*OURS, *THEIRS, VERTICES]
    if problem == "two-stage":  # it is not linear
        methods = [one for one in methods if one in (*OURS, *peer_pydflt.METHODS) and one != "spo+"]
    if problem.startswith("energy"):  # PyDFLT has no layer that items share
        methods = [one for one in methods if one not in peer_pydflt.METHODS]
    return [one for one in methods if one != "gp-surrogate" or budget >= FIRST_POINTS]


def tuned(method: str) -> bool:
    return method in THEIRS or method == VERTICES


def allowed(method: str, budget: int) -> int:
    """Solves per row: some methods need a fixed number."""
    return {START: 0, VERTICES: 1, peer_pyepo.CAVE: 1}.get(method, budget)


def missing(method: str) -> str | None:
    """What to install before the method can run; None where all is there."""
    modules, install = NEEDS.get(method, ((), ""))
    return None if all(_found(module) for module in modules) else install


def runnable(methods: Sequence[str]) -> list[str]:
    """Those whose packages are there; for each of the others, print what to install."""
    for method in methods:
        if install := missing(method):
            print(f"{method} is not run; it needs {install}", flush=True)
    return [method for method in methods if not missing(method)]


def _found(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # its package is missing
        return False


@cache
def shape_of(problem: str, dataset: int, rows: int = ROWS, fresh: int = FRESH) -> Shape:
    return SHAPES[problem](rows, fresh, dataset)


def measure(task: Task, shape: Shape | None = None) -> Result:
    """In another process: one run."""
    torch.set_num_threads(1)
    shape = shape or shape_of(task.problem, task.dataset)
    shape.solver.solves, began = 0, time.process_time()
    predict = trained(shape, task)
    solves, seconds = shape.solver.solves, time.process_time() - began
    assert solves <= task.budget * len(shape.Y) or task.method == START
    return {
        "regret": float(f"{normalised_regret(shape, predict(shape.X_fresh)):.6g}"),
        "solves": round(solves / len(shape.Y), 3),
        "rate": task.rate,
        "seconds": round(seconds, 2),
    }


def normalised_regret(shape: Shape, y_hat: np.ndarray) -> float:
    oracle, everyone = fs.Oracle(shape.problem, shape.Y_fresh), np.arange(len(shape.Y_fresh))
    regret = oracle.regret(everyone, y_hat, phase="test")
    return float(regret.sum() / np.abs(oracle.optimum(everyone, phase="test")).sum())


def trained(shape: Shape, task: Task) -> Callable[[np.ndarray], np.ndarray]:
    """The predictions of the trained model, as a function of x."""
    if task.method in OURS:
        return with_ours(shape, task)
    rate = task.rate or RATES[0]
    if task.method in peer_pydflt.METHODS:
        return peer_pydflt.train(shape, task.method, epochs=task.budget - 1, rate=rate, seed=task.dataset)
    net = least_squares(shape)
    torch.manual_seed(task.dataset)
    if task.method == VERTICES:
        train_vertices(shape, net, rate)
    elif task.method in THEIRS:
        solves = task.budget * len(shape.Y)
        peer_pyepo.train(shape, net, task.method, solves=solves, rate=rate, seed=task.dataset)
    return lambda X: predicted(net, X)


def predicted(net: Any, X: np.ndarray) -> np.ndarray:
    with torch.no_grad():
        values: np.ndarray = net(torch.as_tensor(X)).numpy()
    return values


def with_ours(shape: Shape, task: Task) -> Callable[[np.ndarray], np.ndarray]:
    model = fs.DecisionRegressor(
        shape.problem,
        task.method,
        predictor="linear",  # where X is (n, items, features), one layer is shared by the items
        settings=SETTINGS.get(task.method),
        budget=fs.Budget(solves=task.budget * len(shape.Y)),
        random_state=task.dataset,
        verbose=False,
    )
    with warnings.catch_warnings(action="ignore"):  # that the budget is spent, that nothing was gained
        fitted = model.fit(shape.X, shape.Y)
    return lambda X: np.asarray(fitted.predict(X))


def train_vertices(shape: Shape, net: Any, rate: float) -> None:
    """Adam on the loss above; the labels are the only solves."""
    assert shape.neighbours is not None
    sign = 1.0 if shape.problem.linear == "min" else -1.0
    labels = [shape.solver(y) for y in shape.Y]
    edges = [torch.as_tensor(sign * (z - shape.neighbours(z))) for z in labels]
    margin, X = MARGIN * float(np.abs(shape.Y).mean()), torch.as_tensor(shape.X)
    optimiser = torch.optim.Adam(net.parameters(), lr=rate)
    for _ in range(EPOCHS):
        for index in torch.randperm(len(X)).split(peer_pyepo.BATCH):
            c_hat = net(X[index])
            losses = [torch.relu(margin + edges[i] @ c).mean() for i, c in zip(index.tolist(), c_hat, strict=True)]
            optimiser.zero_grad()
            torch.stack(losses).mean().backward()
            optimiser.step()


def chosen(results: Mapping[str, Result], problem: str, method: str, budget: int) -> float | None:
    """The rate of least regret on the dataset that is kept for choosing; None where some are missing."""
    tried = {rate: results.get(Task(problem, method, allowed(method, budget), CHOOSING, rate).run) for rate in RATES}
    return min(RATES, key=lambda rate: tried[rate]["regret"]) if all(tried.values()) else None


def to_choose(problems: Sequence[str], budgets: Sequence[int]) -> list[Task]:
    return [
        Task(problem, method, allowed(method, budget), CHOOSING, rate)
        for problem, budget in product(problems, budgets)
        for method, rate in product(filter(tuned, methods_of(problem, budget)), RATES)
    ]


def to_report(
    results: Mapping[str, Result], problems: Sequence[str], budgets: Sequence[int], datasets: int
) -> list[Task]:
    tasks = [Task(problem, START, 0, d) for problem, d in product(problems, range(datasets))]
    for d, budget, problem in product(range(datasets), budgets, problems):
        for method in methods_of(problem, budget):
            rate = chosen(results, problem, method, budget) if tuned(method) else None
            tasks.append(Task(problem, method, allowed(method, budget), d, rate))
    return tasks


def keep(tasks: Sequence[Task], study: Study) -> str:
    commit = code_commit()
    for task in tasks:
        study.keep(task.run, measure(task) | {"commit": commit})
    return tasks[-1].run


def complete(tasks: Sequence[Task], study: Study, jobs: int, again: Sequence[str] = ()) -> None:
    """Run what the study lacks, and what is of another commit and to be run `again`, in pieces that share a dataset."""
    there, pieces, commit = study.read(), dict[Any, list[Task]](), code_commit()
    for task in tasks:
        run = there.get(task.run, {})
        if run.get("rate", math.nan) != task.rate or (task.method in again and run.get("commit") != commit):
            there[task.run] = {"rate": task.rate, "commit": commit}
            pieces.setdefault((task.problem, task.dataset), []).append(task)
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        futures = [pool.submit(keep, piece, study) for piece in pieces.values()]
        for k, future in enumerate(futures, 1):
            print(f"{future.result()}  [{k} of {len(pieces)}]", flush=True)
    study.fold()


def reported(results: Mapping[str, Result], budgets: Sequence[int]) -> dict[tuple[str, str], list[Result]]:
    """Runs by method and column, of the datasets that all methods but optional ones have run on.

    An optional method, whose package may be missing, is left out where it has not run on all of them.
    """
    found: dict[tuple[str, str], list[Result]] = {}
    for problem, budget in product(SHAPES, budgets):
        runs = {m: f"{problem}/{m}@{allowed(m, budget)}." for m in (START, *methods_of(problem, budget))}
        needed = [run for method, run in runs.items() if method not in THEIRS]
        seeds = [d for d in range(CHOOSING) if all(f"{run}{d}" in results for run in needed)]
        for method, run in runs.items() if len(seeds) > 1 else ():
            if all(f"{run}{d}" in results for d in seeds):
                found[method, f"{problem} @ {budget}"] = [results[f"{run}{d}"] for d in seeds]
    return found


def table(found: Mapping[tuple[str, str], list[Result]]) -> list[dict[str, str]]:
    """Normalised regret in percent ± its standard error @ solves paid; in bold the least of each column."""
    regrets = {key: 100 * np.array([result["regret"] for result in some]) for key, some in found.items()}
    least = {column: min(v.mean() for (_, at), v in regrets.items() if at == column) for _, column in found}
    columns, rows = list(dict.fromkeys(column for _, column in found)), dict[str, dict[str, str]]()
    for column in columns:
        row = {"": column}
        for method in (START, *OURS, *THEIRS, VERTICES):
            values = regrets.get((method, column))
            if values is None:
                row[method] = ""
                continue
            solves = np.mean([result["solves"] for result in found[method, column]])
            text = f"{values.mean():.2f} ± {values.std(ddof=1) / math.sqrt(len(values)):.2f}"
            text = f"**{text}**" if values.mean() == least[column] else text
            row[method] = f"{text} @ {solves:.1f}" if solves else text
        row["datasets"] = str(len(regrets[START, column]))
        rows[column] = row
    return list(rows.values())


def write(out: Path, results: Mapping[str, Result]) -> None:
    budgets = sorted({int(run.split("@")[1].partition(".")[0]) for run in results} - {0, 1})
    found = reported(results, budgets)
    if not found:
        print("no column is complete yet")
        return
    rates = [
        {"": method}
        | {
            f"{problem} @ {budget}": f"{rate:g}" if (rate := chosen(results, problem, method, budget)) else ""
            for problem, budget in product(SHAPES, budgets)
        }
        for method in (*THEIRS, VERTICES)
        if any(key[0] == method for key in found)
    ]
    text = [
        "Made by `python -m fewsolves_studies.measure.beside_peers`: normalised regret on fresh rows in percent, ± its "
        "standard error over datasets, @ all solves paid per row. Lower is better.",
        markdown(table(found)),
        "Rates of Adam that were chosen on dataset 100:",
        markdown(rates),
    ]
    out.mkdir(parents=True, exist_ok=True)
    (out / "tables.md").write_text("\n\n".join(text) + "\n")
    print("\n\n".join(text))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("results/peers"))
    parser.add_argument("--problems", default=",".join(SHAPES))
    parser.add_argument("--budgets", default=",".join(map(str, BUDGETS)))
    parser.add_argument("--datasets", type=int, default=3)
    parser.add_argument("--methods", default="", help="only these; all where it is left out")
    parser.add_argument("--again", default="", help="methods to run again, or 'ours'")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--show", action="store_true", help="run nothing")
    given = parser.parse_args()
    study, problems = Study(given.out), given.problems.split(",")
    budgets = [int(budget) for budget in given.budgets.split(",")]
    if not given.show:
        listed = [name for name in given.methods.split(",") if name] or [START, *OURS, *THEIRS, VERTICES]
        only, again = runnable(listed), OURS if given.again == "ours" else given.again.split(",")

        def run(tasks: Sequence[Task]) -> None:
            complete([task for task in tasks if task.method in only], study, given.jobs, again)

        run(to_choose(problems, budgets))
        run(to_report(study.read(), problems, budgets, given.datasets))
    write(given.out, study.read())


if __name__ == "__main__":
    main()
