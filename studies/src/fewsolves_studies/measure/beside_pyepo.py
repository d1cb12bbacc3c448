"""Our methods beside PyEPO's on PyEPO's own data: the same linear predictor, the same rows, the same number of solves.

    python -m fewsolves_studies.measure.beside_pyepo --jobs 2          what is missing, then the tables
    python -m fewsolves_studies.measure.beside_pyepo --again ours      our methods again: after a change of one of them
    python -m fewsolves_studies.measure.beside_pyepo --show            the tables of what is there

300 rows of `pyepo.data` (degree 4, noise 0.5) and 2,000 fresh ones to measure on; normalised regret is the sum of
regrets over the sum of best objectives, as in `pyepo.metric.regret`. A budget is the number of *all* solves per row,
counted by the model itself: PyEPO's dataset pays one for the label of each row, our methods split the rows and pay for
labels and validation too.

Ours run as they are, from least squares on the rows that they train on; the default splits the rows and makes its start
by itself; `spo+` also with ten times its rate. PyEPO's begin at least squares on all rows, use Adam with batches of 32,
and hand back the last weights. Their rate, and the share of batches that are solved and not looked up among known
solutions (`solve_ratio`), are those of GRID that are best on fresh rows of dataset 100, by method, problem and budget.
Runs are lines of OUT/runs.jsonl: what is there is not run again, unless `--again` names the method and the run is of
another commit.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import io
import math
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from fewsolves_studies.benchmarks.study import Result, Study
from fewsolves_studies.commit import code_commit
from fewsolves_studies.measure.frontier_tables import markdown

PROBLEMS = ("shortest path", "knapsack", "tsp")
FASTER = "spo+, rate 0.01"  # the default, 0.001, is made for hundreds of epochs
OURS = ("spo+", FASTER, "staged", "gp-surrogate", "pairs", "sfge", "shift")
THEIRS = ("SPO+", "DBB", "DPO", "PFY", "NCE", "CMAP")
START = "least squares"
BUDGETS = (5, 20)
GRID = tuple(product((0.003, 0.01, 0.03), (1.0, 0.2)))  # rate, solve_ratio
CHOOSING = (100,)
ROWS, FRESH, BATCH = 300, 2000, 32
EPOCHS = 2000  # limit, for methods without solves


class Task(NamedTuple):
    """One method under one budget on one dataset; PyEPO's with a setting of GRID."""

    problem: str
    method: str
    budget: int
    dataset: int
    setting: tuple[float, float] | None = None

    @property
    def run(self) -> str:
        tried = "" if self.dataset not in CHOOSING or self.setting is None else "@{}-{}".format(*self.setting)
        return f"{self.problem}/{self.method}@{self.budget}{tried}.{self.dataset}"


class Dataset:
    """Rows, fresh rows, and their best objectives."""

    def __init__(self, problem: str, seed: int) -> None:
        from fewsolves_studies.measure import quick_pyepo_models

        self.model, x, c = quick_pyepo_models.PROBLEMS[problem](ROWS + FRESH, seed)
        self.sign = float(self.model.modelSense)
        self.x, self.c, self.x_fresh, self.c_fresh = x[:ROWS], c[:ROWS], x[ROWS:], c[ROWS:]
        self.best = self._values(self.c_fresh)

    def normalised_regret(self, c_hat: np.ndarray) -> float:
        """On fresh rows."""
        return float(self.sign * (self._values(c_hat) - self.best).sum() / np.abs(self.best).sum())

    def _values(self, c_hat: np.ndarray) -> np.ndarray:
        """What the decisions at c_hat are worth on fresh rows."""
        found = []
        for one, truth in zip(c_hat, self.c_fresh, strict=True):
            self.model.setObj(one)
            found.append(truth @ self.model.solve()[0])
        return np.array(found)


@cache
def dataset(problem: str, seed: int) -> Dataset:
    return Dataset(problem, seed)


def measure(task: Task) -> Result:
    """In another process: one run."""
    import torch

    torch.set_num_threads(1)
    data, began = dataset(task.problem, task.dataset), time.process_time()
    data.model.solves = 0
    c_hat, facts = (with_ours if task.method in OURS else with_pyepo)(data, task)
    solves = data.model.solves
    return facts | {
        "regret": float(f"{data.normalised_regret(c_hat):.6g}"),
        "solves": round(solves / ROWS, 3),
        "setting": task.setting,
        "seconds": round(time.process_time() - began, 2),
    }


def with_ours(data: Dataset, task: Task) -> tuple[np.ndarray, Result]:
    """A run from least squares on the rows that are trained on; predictions of fresh rows, and whether it gained."""
    import fewsolves as fs
    from fewsolves.data import split_rows
    from fewsolves.methods.registry import METHODS

    problem = fs.problem_from_pyepo(lambda: data.model)
    split = split_rows(ROWS, rng=np.random.default_rng(task.dataset), valid=0.2, test=0.0)
    start = least_squares(data.x[split.train], data.c[split.train])
    budget, settings = fs.Budget(solves=task.budget * ROWS), {"start_epochs": 0}
    if task.method == FASTER:
        settings["learning_rate"] = 0.01
    method = task.method.partition(",")[0]
    if METHODS[method].cross_fits:  # it splits rows by itself, and makes its own start
        split, start, settings = None, "linear", {}
    table = data.x, data.c, split
    plan = fs.Plan(problem, *table, method=method, predictor=start, settings=settings, budget=budget)
    with warnings.catch_warnings(action="ignore"):  # that the budget is spent, that nothing was gained
        fitted = fs.fit(plan)
    assert data.model.solves <= task.budget * ROWS
    return fitted.predictor(data.x_fresh), {"kept_start": fitted.kept_start}


def with_pyepo(data: Dataset, task: Task) -> tuple[np.ndarray, Result]:
    """PyEPO's training loop from least squares on, until the budget is spent; predictions of fresh rows."""
    import torch
    from pyepo.data.dataset import optDataset

    start = least_squares(data.x, data.c)
    layer = torch.nn.Linear(data.x.shape[1], data.c.shape[1], dtype=torch.float64)
    with torch.no_grad():
        for parameter, values in zip(layer.parameters(), start.net.layer, strict=True):
            parameter.copy_(torch.as_tensor(values))
    x_mean, x_std, y_mean, y_std = (
        torch.as_tensor(values) for values in (start.x_mean, start.x_std, start.y_mean, start.y_std)
    )

    def net(x: Any) -> Any:
        return y_mean + y_std * layer((x - x_mean) / x_std)

    if task.method != START:
        rate, ratio = task.setting or GRID[0]
        with contextlib.redirect_stderr(io.StringIO()):  # a bar of progress
            rows = optDataset(data.model, data.x, data.c)
        loss_of, per_row = theirs(task.method, data.model, rows, ratio, task.dataset)
        optimiser = torch.optim.Adam(layer.parameters(), lr=rate)
        for batch in batches(rows, task.dataset):
            if data.model.solves + per_row * BATCH > task.budget * ROWS:
                break
            optimiser.zero_grad()
            loss_of(net(batch[0]).float(), *batch[1:]).backward()
            optimiser.step()
    with torch.no_grad():
        return net(torch.as_tensor(data.x_fresh)).numpy(), {}


def batches(rows: Any, seed: int) -> Iterator[tuple[Any, ...]]:
    """x, c, w, z, reshuffled each epoch."""
    import torch

    draw = torch.Generator().manual_seed(seed)
    for _ in range(EPOCHS):
        for index in torch.randperm(ROWS, generator=draw).split(BATCH):
            yield rows.feats[index], rows.costs[index], rows.sols[index], rows.objs[index]


def theirs(method: str, model: Any, rows: Any, ratio: float, seed: int) -> tuple[Callable[..., Any], int]:
    """A loss of PyEPO with its own defaults, one draw, and how many solves it takes per row and step."""
    from pyepo import func
    from torch.nn.functional import l1_loss, mse_loss

    module = getattr(func, {"SPO+": "SPOPlus"}.get(method, method))
    draws = {"n_samples": 1, "seed": seed} if method in ("DPO", "PFY") else {}
    made = module(model, solve_ratio=ratio, dataset=rows, **draws)
    made._branch_rng = np.random.RandomState(seed)  # the coin that says whether a batch is solved
    losses = {
        "SPO+": made,
        "DBB": lambda c_hat, c, w, z: l1_loss((made(c_hat) * c).sum(1, keepdim=True), z),
        "DPO": lambda c_hat, c, w, z: mse_loss(made(c_hat), w),
    }
    return losses.get(method, lambda c_hat, c, w, z: made(c_hat, w)), 2 if method == "DBB" else 1


def least_squares(x: np.ndarray, c: np.ndarray) -> Any:
    """A linear predictor of standardised features and costs, set to least squares."""
    from fewsolves.data import Scale
    from fewsolves.predictors.predictor import Predictor, linear

    x, c = x.astype(float), c.astype(float)
    predictor = Predictor(linear(x.shape[1], c.shape[1], seed=0), Scale.of(x), Scale.of(c))
    fit_least_squares(predictor, x, c)
    return predictor


def fit_least_squares(predictor: Any, X: np.ndarray, Y: np.ndarray) -> None:
    """Set the weights of a linear predictor, whose net maps standardised X to standardised Y."""
    from fewsolves.data import Scale

    x, y = ((v - Scale.of(v).mean) / Scale.of(v).std for v in (X, Y))
    W = np.linalg.lstsq(np.c_[x, np.ones(len(x))], y, rcond=None)[0]
    weight, bias = predictor.net.layer
    weight[:], bias[:] = W[:-1].T, W[-1]


def chosen(results: Mapping[str, Result], problem: str, method: str, budget: int) -> tuple[float, float] | None:
    """The setting of least regret on the datasets that are kept for choosing; None where some are missing."""
    tried = {s: [results.get(Task(problem, method, budget, d, s).run) for d in CHOOSING] for s in GRID}
    if not all(all(found) for found in tried.values()):
        return None
    return min(GRID, key=lambda s: sum(found["regret"] for found in tried[s] if found))


def to_choose(budgets: Sequence[int]) -> list[Task]:
    return [
        Task(problem, method, budget, d, setting)
        for budget, problem, method, setting, d in product(budgets, PROBLEMS, THEIRS, GRID, CHOOSING)
    ]


def to_report(results: Mapping[str, Result], budgets: Sequence[int], datasets: int) -> list[Task]:
    tasks = [Task(problem, START, 0, d) for problem, d in product(PROBLEMS, range(datasets))]
    for d, budget, problem in product(range(datasets), budgets, PROBLEMS):
        tasks += [Task(problem, method, budget, d) for method in OURS]
        tasks += [
            Task(problem, method, budget, d, setting)
            for method in THEIRS
            if (setting := chosen(results, problem, method, budget))
        ]
    return tasks


def keep(tasks: Sequence[Task], study: Study) -> str:
    commit = code_commit()
    for task in tasks:
        study.keep(task.run, measure(task) | {"commit": commit})
    return f"{tasks[-1].run}"


def complete(tasks: Sequence[Task], study: Study, jobs: int, again: Sequence[str] = ()) -> None:
    """Run what the study lacks, and what is of another commit and to be run `again`, in pieces that share a dataset."""
    there, pieces, commit = study.read(), dict[Any, list[Task]](), code_commit()
    for task in tasks:
        old = task.method in again and there.get(task.run, {}).get("commit") != commit
        if task.run not in there or old:
            pieces.setdefault((task.problem, task.dataset, task.budget, task.method), []).append(task)
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        futures = [pool.submit(keep, piece, study) for piece in pieces.values()]
        for k, future in enumerate(futures, 1):
            print(f"{future.result()}  [{k} of {len(pieces)}]", flush=True)
    study.fold()


def table(results: Mapping[str, Result], budgets: Sequence[int]) -> list[dict[str, str]]:
    """Normalised regret in percent, mean and standard error over datasets; in bold the least of each column."""
    found = {
        (method, column): 100 * np.array([result["regret"] for result in some])
        for (method, column), some in reported(results, budgets).items()
    }
    least = {column: min(values.mean() for (_, at), values in found.items() if at == column) for _, column in found}
    rows = {method: {"": shown(method)} for method, _ in found}
    for (method, column), values in found.items():
        text = f"{values.mean():.2f} ± {values.std(ddof=1) / math.sqrt(len(values)):.2f}"
        rows[method][column] = f"**{text}**" if values.mean() == least[column] else text
    return list(rows.values())


def paid(results: Mapping[str, Result], budgets: Sequence[int]) -> list[dict[str, str]]:
    """Solves per row, the mean over datasets; of ours also how often nothing was gained."""
    rows: dict[str, dict[str, str]] = {}
    for (method, column), some in reported(results, budgets).items():
        kept = sum(result.get("kept_start", False) for result in some)
        kept_starts = f", {kept} of {len(some)}" if method in OURS else ""
        rows.setdefault(method, {"": shown(method)})[column] = (
            f"{np.mean([r['solves'] for r in some]):.1f}{kept_starts}"
        )
    return list(rows.values())


def reported(results: Mapping[str, Result], budgets: Sequence[int]) -> dict[tuple[str, str], list[Result]]:
    """Runs by method and column, of datasets that nothing was chosen on and that every method has run on."""
    found: dict[tuple[str, str], list[Result]] = {}
    methods = (START, *OURS, *THEIRS)
    for problem, budget in product(PROBLEMS, budgets):
        runs = {m: f"{problem}/{m}@{0 if m == START else budget}." for m in methods}  # the start pays nothing
        seeds = [d for d in range(min(CHOOSING)) if all(f"{run}{d}" in results for run in runs.values())]
        for method in methods if len(seeds) > 1 else ():
            found[method, f"{problem} @ {budget}"] = [results[f"{runs[method]}{d}"] for d in seeds]
    return found


def shown(method: str) -> str:
    return method if method == START else f"`{method}`" if method in OURS else f"PyEPO {method}"


def settings(results: Mapping[str, Result], budgets: Sequence[int]) -> list[dict[str, str]]:
    """What was chosen for PyEPO's methods: rate and share of batches that are solved."""
    return [
        {"": f"PyEPO {method}"}
        | {
            f"{problem} @ {budget}": "{:g}, {:g}".format(*(chosen(results, problem, method, budget) or (0, 0)))
            for problem, budget in product(PROBLEMS, budgets)
        }
        for method in THEIRS
    ]


def write(out: Path, results: Mapping[str, Result]) -> None:
    """The tables as Markdown, and the first as CSV."""
    budgets = sorted({int(run.partition("@")[2].partition(".")[0]) for run in results if "@0." not in run})
    main, solves = table(results, budgets), paid(results, budgets)
    text = [
        "Made by `python -m fewsolves_studies.measure.beside_pyepo`: normalised regret on fresh rows in percent, ± "
        f"its standard error over datasets (0 to {max(map(len, reported(results, budgets).values())) - 1}), with so "
        "many solves per row, labels and validation included.",
        markdown(main),
        "Solves per row that were paid, and on how many datasets our methods kept their start:",
        markdown(solves),
        "Chosen for PyEPO's methods on dataset 100: rate of Adam, and `solve_ratio`.",
        markdown(settings(results, budgets)),
    ]
    (out / "tables.md").write_text("\n\n".join(text) + "\n")
    with (out / "table.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(main[1]))
        writer.writeheader()
        writer.writerows(main)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("results/pyepo"))
    parser.add_argument("--budgets", default=",".join(map(str, BUDGETS)))
    parser.add_argument("--datasets", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--again", default="", help="methods to run again, or 'ours'")
    parser.add_argument("--show", action="store_true", help="run nothing")
    given = parser.parse_args()
    again = OURS if given.again == "ours" else given.again.split(",")
    study, budgets = Study(given.out), [int(b) for b in given.budgets.split(",")]
    if not given.show:
        complete(to_choose(budgets), study, given.jobs)
        complete(to_report(study.read(), budgets, given.datasets), study, given.jobs, again)
    write(given.out, study.read())


if __name__ == "__main__":
    main()
