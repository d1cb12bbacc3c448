"""The runs of one place, with what they share computed once: data, labels, LODL's draws, the prediction-focused start.

A method that starts from prediction-focused learning gets the weights that this ends with, and the seconds it took. It
then trains exactly as it would have by itself: every stage of a run has a random stream of its own. Solves that another
method has asked for are answered from memory and charged in full, in number and in seconds.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from fewsolves.benchmarks.catalogue import floor, load
from fewsolves.benchmarks.run import result_of
from fewsolves.benchmarks.slow import slow
from fewsolves.data import split_rows
from fewsolves.methods.registry import find_method
from fewsolves.paper.remembered import Clock, Remembered
from fewsolves.paper.task import FLOOR, Place, Task
from fewsolves.problem import Problem
from fewsolves.runs.fit import Fit, fit
from fewsolves.training.history import EpochRecord
from fewsolves.training.loop import Callback, Stop


class Shared:
    """One dataset and its start; fresh rows are measured with the embedded solver, whatever trains."""

    def __init__(self, place: Place) -> None:
        self.place = place
        data = dict(place.data)
        trained_on = load(place.benchmark, place.dataset, **data)
        data.pop("backend", None)
        self.benchmark = load(place.benchmark, place.dataset, **data)
        self.split = split_rows(len(self.benchmark.X), rng=np.random.default_rng(self.benchmark.seed))
        self._remember(trained_on.problem)
        self._start: Fit | None = None
        self._start_training = 0.0  # seconds of the start without its solves, which every method asks for itself

    def _remember(self, problem: Problem) -> None:
        assert problem.solve_batch is not None and problem.cost_batch is not None
        first = self.benchmark.Y[:1]
        problem.cost_batch(first, problem.solve_batch(first))  # compiled now: no run is to be charged for that
        delayed = slow(problem, self.place.delay)
        assert delayed.solve_batch is not None
        self.solve, self.cost = Remembered(delayed.solve_batch, self.place.delay), Remembered(problem.cost_batch)
        self.problem = dataclasses.replace(problem, solve_batch=self.solve, cost_batch=self.cost)

    def result(self, task: Task) -> dict[str, Any]:
        """What the run's file holds."""
        if task.method == FLOOR:
            return floor(self.benchmark)._asdict()
        method = find_method(task.method).with_settings(dict(task.settings))
        if task.method == "pfl":
            return self._tell(task, self.start)
        method.check(self.problem)
        start = self.start if method.train.warm_start else None
        settings = dict(task.settings) | ({} if start is None else {"start_epochs": 0})
        predictor = task.predictor if start is None else start.predictor
        spent = 0.0 if start is None else self._start_training
        fitted = self._fit(task.method, predictor, settings, limit=task.limit, spent=spent)
        fitted.predictor_name, fitted.method = task.predictor, method
        fitted.seconds += spent
        return self._tell(task, fitted)

    @property
    def start(self) -> Fit:
        if self._start is None:
            self._start = self._fit("pfl", self.place.predictor, dict(self.place.start))
            self._start_training = self._start.seconds - self._start.oracle.calls.seconds
        return self._start

    def _fit(
        self, method: str, predictor: Any, settings: dict[str, Any], limit: float | None = None, spent: float = 0.0
    ) -> Fit:
        clock = Clock(self.solve, self.cost)
        fitted = fit(
            self.problem,
            self.benchmark.X,
            self.benchmark.Y,
            self.split,
            method=method,
            predictor=predictor,
            settings=settings,
            callbacks=[] if limit is None else [_until(limit - spent, clock)],
        )
        fitted.seconds, fitted.oracle.calls.seconds = clock.total, clock.inside
        return fitted

    def _tell(self, task: Task, fitted: Fit) -> dict[str, Any]:
        result = result_of(self.benchmark, fitted)
        result["config"]["data"] |= dict(task.data)
        return result | {"label": task.name, "delay": task.delay, "limit": task.limit}


def _until(seconds: float, clock: Clock) -> Callback:
    """Ends training at the first epoch that ends later than this."""

    def callback(record: EpochRecord) -> Stop | None:
        return Stop("the time limit was reached") if clock.total >= seconds else None

    return callback
