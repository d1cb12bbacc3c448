"""A benchmark run: a method on a benchmark's dataset, and the two files that tell about it."""

from __future__ import annotations

import dataclasses
import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from fewsolves.benchmarks.catalogue import Benchmark
from fewsolves.data import split_rows
from fewsolves.methods.base import Method
from fewsolves.oracle import KINDS, Oracle
from fewsolves.problem import Array
from fewsolves.runs.fit import fit_in
from fewsolves.runs.folder import folder_of
from fewsolves.runs.plan import Plan
from fewsolves.runs.result import Fit
from fewsolves.settings import values_of
from fewsolves.training.history import Callback, write_csv

FRESH_ROWS = 2000  # new rows of the same dataset: the paper's 100 test rows are noisy


@dataclasses.dataclass(frozen=True)
class BenchmarkRun:
    """What came of it: `result` is what result.json holds."""

    fit: Fit
    result: dict[str, Any]

    def write(self, folder: Path) -> None:
        """history.csv and result.json."""
        folder.mkdir(parents=True, exist_ok=True)
        write_csv(self.fit.history, folder / "history.csv")
        (folder / "result.json").write_text(json.dumps(self.result, indent=1) + "\n")


def run(
    benchmark: Benchmark, method: str | Method, *, callbacks: Sequence[Callback] = (), **options: Any
) -> BenchmarkRun:
    """Train on the benchmark's 80 %, choose on its 10 %, report on the last 10 % and on fresh rows.

    `options` are those of `Plan`; the predictor is linear where they do not say otherwise. With a folder, the solves of
    the test rows go on record as well.
    """
    split = split_rows(len(benchmark.X), rng=np.random.default_rng(benchmark.seed))
    options = {"predictor": "linear"} | options
    plan = Plan(benchmark.problem, benchmark.X, benchmark.Y, split, method=method, **options)
    with folder_of(plan) as folder:
        fitted = fit_in(folder, plan, callbacks=callbacks)
        known = folder.result() if folder is not None else None
        result = known or result_of(benchmark, fitted, plan.seed)
        if folder is not None and known is None and not fitted.interrupted:
            folder.keep_result(result)
        return BenchmarkRun(fitted, result)


def result_of(benchmark: Benchmark, fitted: Fit, seed: int = 0) -> dict[str, Any]:
    """What result.json holds: regret on the test rows and on fresh ones, what was paid, and under which settings."""
    solver_seconds = fitted.oracle.calls.seconds  # the test is not counted
    test = fitted.oracle.part(fitted.split.test)
    regret, relative = _regret(fitted, test, benchmark.X[fitted.split.test])
    rows = benchmark.fresh(FRESH_ROWS)
    fresh = Oracle(rows.problem, rows.Y, solving=fitted.oracle.solving)
    fresh_regret, fresh_relative = _regret(fitted, fresh, rows.X)
    calls, n_train = fitted.oracle.calls, len(fitted.split.train)
    return {
        "benchmark": benchmark.name,
        "method": fitted.method.name,
        "dataset_seed": benchmark.seed,
        "config": {
            "seed": seed,
            "data": dict(benchmark.options),
            "loss": values_of(fitted.method.config),
            "train": values_of(fitted.method.train),
        },
        "commit": _commit(),
        "predictor": fitted.predictor_name,
        "test_regret": regret,
        "test_relative_regret": relative,
        "fresh_regret": fresh_regret,
        "fresh_relative_regret": fresh_relative,
        "best_validation_regret": fitted.best.mean,
        "start_validation_regret": fitted.start.mean,
        "solves_per_instance": calls.training("solve") / n_train,
        "evaluations_per_instance": calls.training_evaluations() / n_train,
        "cost_calls_per_instance": calls.training("cost") / n_train,
        "total_solves_per_instance": calls.total("solve") / n_train,
        "calls": {kind: calls.by_phase(kind) for kind in KINDS},
        "seconds": {"total": fitted.seconds, "solver": solver_seconds},
        "stopped": fitted.stopped,
        "budget": dataclasses.asdict(fitted.oracle.budget_left.budget),
        "warnings": fitted.warnings,
        "failures": fitted.oracle.failures.record(),
    } | fitted.report


def _regret(fitted: Fit, oracle: Oracle, X: Array) -> tuple[float, float | None]:
    """Mean regret, and the same divided by the mean optimal cost; None where that is 0."""
    index = np.arange(len(oracle))
    with torch.no_grad():
        y_hat = fitted.predictor(torch.as_tensor(X)).numpy()
    try:
        regret = float(np.nanmean(oracle.regret(index, y_hat, phase="test")))  # NaN where a solve failed
        optimum = abs(float(np.nanmean(oracle.optimum(index, phase="test"))))
    finally:
        oracle.close()
    return regret, regret / optimum if optimum > 0 else None


def _commit() -> str | None:
    """The commit of the code that runs, where it runs from a checkout; with "+" where files were changed since."""
    here = Path(__file__).parent
    try:
        git = ["git", "-C", str(here), "describe", "--always", "--dirty=+", "--abbrev=12", "--exclude=*"]
        return subprocess.run(git, capture_output=True, text=True, check=True, timeout=10).stdout.strip() or None
    except (OSError, subprocess.SubprocessError):
        return None
