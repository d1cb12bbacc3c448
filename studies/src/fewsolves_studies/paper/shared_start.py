"""Trials under the same conditions, with what they share computed once: data, labels, the prediction-focused start.

A method that starts from prediction-focused learning gets the weights that this ends with, and the seconds it took. It
then trains exactly as it would have by itself: every stage of a run has a random stream of its own. Solves that another
method has asked for are answered from memory and charged in full, in number and in seconds.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from fewsolves.data import split_rows
from fewsolves.demo.slow import slow
from fewsolves.fitting.fit import fit
from fewsolves.fitting.plan import Plan
from fewsolves.fitting.result import Fit
from fewsolves.methods.base import Trainer
from fewsolves.oracle import SolveConfig
from fewsolves.problem import Problem
from fewsolves.training.history import Callback, EpochRecord, Stop
from fewsolves_studies.benchmarks.catalogue import floor, load
from fewsolves_studies.benchmarks.run import FRESH_ROWS, benchmark_result
from fewsolves_studies.paper.experiment import QUICK_ROWS
from fewsolves_studies.paper.memoised import Clock, Memoised
from fewsolves_studies.paper.trial import FLOOR, Conditions, Trial


class SharedStart:
    """One dataset and its start; fresh rows are measured with the embedded solver, whatever trains."""

    def __init__(self, conditions: Conditions) -> None:
        self.conditions = conditions
        data = dict(conditions.data)
        trained_on = load(conditions.benchmark, conditions.dataset, **data)
        data.pop("backend", None)
        self.benchmark = load(conditions.benchmark, conditions.dataset, **data)
        self.split = split_rows(len(self.benchmark.X), rng=np.random.default_rng(self.benchmark.seed))
        self._memoise(trained_on.problem)
        self._start: Fit | None = None
        self._start_training = 0.0  # seconds of the start without its solves, which every method asks for itself

    def _memoise(self, problem: Problem) -> None:
        assert problem.solve_batch is not None and problem.cost_batch is not None
        first = self.benchmark.Y[:1]
        problem.cost_batch(first, problem.solve_batch(first))  # compiled now: no run is to be charged for that
        delayed = slow(problem, self.conditions.delay)
        assert delayed.solve_batch is not None
        self.solve, self.cost = Memoised(delayed.solve_batch, self.conditions.delay), Memoised(problem.cost_batch)
        self.problem = dataclasses.replace(problem, solve_batch=self.solve, cost_batch=self.cost)

    def result(self, trial: Trial) -> dict[str, Any]:
        """What the study keeps of it."""
        if trial.method == FLOOR:
            return floor(self.benchmark)._asdict()
        method = trial.trainer
        if trial.method == "pfl":
            return self._report_progress(trial, self.start)
        method.check(self.problem, SolveConfig())
        start = self.start if method.common.warm_start else None
        settings = dict(trial.settings) | ({} if start is None else {"start_epochs": 0})
        predictor = trial.predictor if start is None else start.predictor
        spent = 0.0 if start is None else self._start_training
        fitted = self._fit(method, predictor, settings, limit=trial.limit, spent=spent)
        seconds = fitted.seconds + spent
        return self._report_progress(
            trial, dataclasses.replace(fitted, predictor_name=trial.predictor, method=method, seconds=seconds)
        )

    @property
    def start(self) -> Fit:
        if self._start is None:
            self._start = self._fit("pfl", self.conditions.predictor, dict(self.conditions.start))
            self._start_training = self._start.seconds - self._start.oracle.calls.seconds
        return self._start

    def _fit(
        self,
        method: str | Trainer,
        predictor: Any,
        settings: dict[str, Any],
        limit: float | None = None,
        spent: float = 0.0,
    ) -> Fit:
        clock = Clock(self.solve, self.cost)
        table = self.benchmark.X, self.benchmark.Y, self.split
        plan = Plan(self.problem, *table, method=method, predictor=predictor, settings=settings)
        fitted = fit(plan, callbacks=[] if limit is None else [_until(limit - spent, clock)])
        fitted.oracle.calls.seconds = clock.inside
        return dataclasses.replace(fitted, seconds=clock.total)

    def _report_progress(self, trial: Trial, fitted: Fit) -> dict[str, Any]:
        rows = len(self.benchmark.X)
        result = benchmark_result(self.benchmark, fitted, rows if rows == QUICK_ROWS else FRESH_ROWS)
        result["config"]["data"] |= dict(trial.data)
        return result | {"label": trial.name, "delay": trial.delay, "limit": trial.limit}


def _until(seconds: float, clock: Clock) -> Callback:
    """Ends training at the first epoch that ends later than this."""

    def callback(record: EpochRecord) -> Stop | None:
        return Stop("the time limit was reached") if clock.total >= seconds else None

    return callback
