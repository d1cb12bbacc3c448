"""A benchmark run: a method on a benchmark's dataset, and the two files that tell about it."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fewsolves.data import split_rows
from fewsolves.demo.benchmark import Benchmark
from fewsolves.fitting.fit import fit_in
from fewsolves.fitting.folder import folder_of
from fewsolves.fitting.plan import Plan
from fewsolves.fitting.prepare import prepare
from fewsolves.fitting.result import Fit, result_of, write_result
from fewsolves.methods.base import Trainer
from fewsolves.oracle import KINDS, Oracle
from fewsolves.problem import Array
from fewsolves.training.history import Callback
from fewsolves_studies.benchmarks.real.recorded import Recorded
from fewsolves_studies.commit import code_commit

FRESH_ROWS = 2000  # new rows of the same dataset: the paper's 100 test rows are noisy


@dataclasses.dataclass(frozen=True)
class BenchmarkRun:
    """What came of it: `result` is what result.json holds."""

    fit: Fit
    result: dict[str, Any]

    def write(self, folder: Path) -> None:
        """history.csv and result.json."""
        write_result(folder, self.result, self.fit.history)


def run(
    benchmark: Benchmark,
    method: str | Trainer,
    *,
    callbacks: Sequence[Callback] = (),
    fresh_rows: int = FRESH_ROWS,
    **options: Any,
) -> BenchmarkRun:
    """Train on the benchmark's 80 %, choose on its 10 %, report on the last 10 % and on fresh rows.

    Rows in the order of time are split by it instead, and real data has no fresh rows. `options` are those of `Plan`;
    the predictor is linear where they do not say otherwise. With a folder, the solves of the test rows go on record as
    well.
    """
    split = benchmark.split or split_rows(len(benchmark.X), rng=np.random.default_rng(benchmark.seed))
    options = {"predictor": "linear"} | options
    plan = Plan(benchmark.problem, benchmark.X, benchmark.Y, split, method=method, **options)
    prepared = prepare(plan)
    with folder_of(prepared) as folder:
        fitted = fit_in(folder, prepared, callbacks=callbacks)
        known = folder.result() if folder is not None else None
        result = known or benchmark_result(benchmark, fitted, fresh_rows)
        if folder is not None and known is None and not fitted.interrupted:
            folder.keep_result(result)
        return BenchmarkRun(fitted, result)


def benchmark_result(benchmark: Benchmark, fitted: Fit, fresh_rows: int = FRESH_ROWS) -> dict[str, Any]:
    """What result.json holds: that of every run, and regret on the test rows and on fresh ones."""
    common = result_of(fitted)  # before the test, whose seconds are not counted
    test = fitted.oracle.part(fitted.split.test)
    regret, relative = _regret(fitted, test, benchmark.X[fitted.split.test])
    fresh_regret, fresh_relative = None, None
    if not isinstance(benchmark.source, Recorded):
        rows = benchmark.fresh(fresh_rows)
        fresh = Oracle(rows.problem, rows.Y, solving=fitted.oracle.solving)
        fresh_regret, fresh_relative = _regret(fitted, fresh, rows.X)
    calls = fitted.oracle.calls
    return {
        **common,
        "benchmark": benchmark.name,
        "dataset_seed": benchmark.seed,
        "config": {**common["config"], "data": dict(benchmark.options)},
        "commit": code_commit(),
        "test_regret": regret,
        "test_relative_regret": relative,
        "fresh_regret": fresh_regret,
        "fresh_relative_regret": fresh_relative,
        "calls": {kind: calls.by_phase(kind) for kind in KINDS},
        "failures": fitted.oracle.failures.record(),
    }


def _regret(fitted: Fit, oracle: Oracle, X: Array) -> tuple[float, float | None]:
    """Mean regret, and the same divided by the mean optimal cost; None where that is 0."""
    index = np.arange(len(oracle))
    try:
        regret = float(np.nanmean(oracle.regret(index, fitted.predict(X), phase="test")))  # NaN where a solve failed
        optimum = abs(float(np.nanmean(oracle.optimum(index, phase="test"))))
    finally:
        oracle.close()
    return regret, regret / optimum if optimum > 0 else None
