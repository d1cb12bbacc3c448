"""Runs the cells that a study lacks, one after the other; each is kept as it ends.

With a `work` folder the solves of a run are on record as they are paid: those of a slow solver are not paid twice, and
a run that was stopped goes on. Labels and readings that cells of one setting share are there for all of them; they are
counted for each as if it had been alone.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fewsolves.demo.benchmark import Benchmark
from fewsolves.errors import FewsolvesError
from fewsolves.fitting.fit import fit
from fewsolves.fitting.plan import Plan
from fewsolves.fitting.result import result_of
from fewsolves.oracle import Budget
from fewsolves.problem import Array
from fewsolves_studies.benchmarks.study import Result, Study
from fewsolves_studies.commit import code_commit
from fewsolves_studies.real.cell import BOOSTED, Cell

Show = Callable[[str], None]


def run_missing(cells: Sequence[Cell], study: Study, *, work: Path | None, show: Show) -> int:
    """How many failed; what is there already is not run again, and what fails does not stop the others."""
    there = study.read()
    missing = [cell for cell in dict.fromkeys(cells) if cell.result_in(there) is None]
    show(f"{len(set(cells)) - len(missing)} of {len(set(cells))} runs are there")
    failed = 0
    try:
        for number, cell in enumerate(missing, 1):
            began = time.monotonic()
            try:
                study.keep(cell.run, result_of_cell(cell, work))
                outcome = f"{time.monotonic() - began:.0f} s"
            except FewsolvesError as error:  # such as a budget that is too small for a method
                failed, outcome = failed + 1, f"failed: {error}"
            show(f"{number} of {len(missing)}: {cell.run}, {outcome}")
    finally:
        study.fold()
    return failed


def result_of_cell(cell: Cell, work: Path | None = None) -> Result:
    """What a line of the study holds, with the cost of every test day."""
    dataset = cell.dataset
    if cell.decide is not None:
        return {"commit": code_commit(), "costs": _rounded(cell.decide(dataset))}
    assert dataset.split is not None
    name = cell.run.replace("/", "-").replace(",", "-").replace("=", "-")
    plan = Plan(
        dataset.problem,
        dataset.X,
        dataset.Y,
        dataset.split,
        method=cell.method,
        settings=cell.all_settings,
        predictor=_boosted() if cell.predictor == BOOSTED else cell.predictor,
        budget=Budget(solves=cell.budget * len(dataset.split.train)) if cell.budget else None,
        folder=None if work is None else work / name,  # its own: what a run finds there is not charged to its budget
    )
    fitted = fit(plan)
    if fitted.interrupted:  # what it has so far is no result of the study
        raise KeyboardInterrupt
    y_hat = fitted.predict(dataset.X[dataset.split.test])
    began = time.process_time()
    costs = costs_of(dataset, y_hat)
    seconds = (time.process_time() - began) / len(costs)
    result = result_of(fitted)
    result["config"]["data"] = dict(dataset.options)
    kept = {"y_hat": _rounded(y_hat)} if cell.plans else {}
    return result | {
        "benchmark": cell.benchmark,
        "commit": code_commit(),
        "test_seconds_per_day": seconds,
        "costs": _rounded(costs),
        **kept,
    }


def _boosted() -> Any:
    from sklearn.ensemble import HistGradientBoostingRegressor

    return HistGradientBoostingRegressor(max_iter=50, random_state=0)


def costs_of(dataset: Benchmark, y_hat: Array) -> Array:
    """True costs of the test days, of what is decided for these predictions."""
    assert dataset.split is not None
    problem = dataset.problem
    assert problem.solve_batch is not None and problem.cost_batch is not None
    costs: Array = problem.cost_batch(dataset.Y[dataset.split.test], problem.solve_batch(y_hat))
    return costs


def knowing_the_truth(dataset: Benchmark) -> Array:
    """A reference: the costs with the true parameters as the prediction."""
    assert dataset.split is not None
    return costs_of(dataset, dataset.Y[dataset.split.test])


def _rounded(values: Array) -> list[Any]:
    """Five digits are enough for a table, and a file of text stays small."""
    digits = 4 - int(np.floor(np.log10(max(float(np.abs(values).max()), 1e-9))))
    rounded: list[Any] = np.round(np.asarray(values, dtype=np.float64), max(digits, 0)).tolist()
    return rounded
