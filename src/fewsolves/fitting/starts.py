"""The prediction-focused starts of a run: candidates are built, fitted, read on the validation rows, and compared."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch
from torch import nn

from fewsolves.data import Scale, Split, share_to_validate, split_rows
from fewsolves.fitting.plan import Plan
from fewsolves.methods.base import Outcome, mean_one
from fewsolves.methods.reading import Reading
from fewsolves.oracle import Calls
from fewsolves.predictors.correction import corrected
from fewsolves.predictors.predictor import BUILT_IN, Predictor
from fewsolves.problem import Array
from fewsolves.training.cross_validation import out_of_fold
from fewsolves.training.history import History
from fewsolves.training.start import Rows, start

FOLDS_STREAM, START_STREAM = 5, 6  # of random numbers, apart from the four of a fit
OVERRULES = 2.0  # standard errors by which regrets must be lower to overrule the prediction loss


class Started(NamedTuple):
    """A predictor after its start."""

    name: str
    predictor: Predictor
    outcome: Outcome


class Starts:
    """The starts of one run over the rows of `split`; `streams` seed the weights and the order of mini-batches."""

    def __init__(self, plan: Plan, split: Split, history: History, streams: tuple[np.random.SeedSequence, ...]) -> None:
        self.plan, self.method, self.split, self.history = plan, plan.method, split, history
        self.weights_stream, self.order_stream = streams
        self._unseen: dict[str, Array] = {}  # predictions out of fold, by name

    def rows(self, rows: Array) -> Rows:
        """Inputs, truths and weights of some rows of the table."""
        weights = None if self.plan.sample_weight is None else mean_one(self.plan.sample_weight[rows])
        return Rows(torch.as_tensor(self.plan.inputs.take(rows)), self.plan.Y[rows], weights)

    def best(self, read: Callable[[Predictor], Reading]) -> Started:
        """Start all candidates, read each on the validation rows, and return the better one."""
        started: list[Started] = []
        for name, candidate in self.candidates().items():
            trained = self._fit(name, candidate) if self._pretrains else None
            reading = read(candidate)
            ended = trained or Outcome(reading, reading, "not trained")
            started.append(Started(name, candidate, dataclasses.replace(ended, first=reading, best=reading)))
            if ended.ends_run:
                break
        chosen = self._better(started)
        if ended.ends_run:
            reading = chosen.outcome.best
            return chosen._replace(outcome=dataclasses.replace(ended, first=reading, best=reading))
        return chosen

    def candidates(self) -> dict[str, Predictor]:
        """The untrained predictors by name, or the predictor of the former run; one of the user's own is copied."""
        given, former = self.plan.predictor, self.plan.former
        if former is not None:
            return {former.predictor_name: copy.deepcopy(former.predictor)}
        if isinstance(given, Predictor):
            return {"given": copy.deepcopy(given)}
        return {name: self._untrained(name, self.split.train) for name in self.plan.starts}

    def out_of_fold(self, name: str) -> Array:
        """(n_train, n_y) Predictions of the training rows by models of this name that have not seen them; made once."""
        if name not in self._unseen:
            rows = self.rows(self.split.train)
            self._unseen[name] = out_of_fold(
                name,
                self.candidates()[name],
                rows.X,
                rows.Y,
                config=self.method.common,
                rng=np.random.default_rng([self.plan.seed, FOLDS_STREAM]),
                in_time=self.split.in_time,
            )
        return self._unseen[name]

    def fitted_on(self, name: str, rows: Array) -> Predictor:
        """A new predictor of this name after its start on these rows only; some of them end its training early."""
        predictor = self._untrained(name, rows)
        if self.plan.forecaster is not None:
            return predictor
        rng = np.random.default_rng([self.plan.seed, START_STREAM])
        held_out = split_rows(len(rows), rng=rng, valid=share_to_validate(len(rows)), test=0.0)
        train, valid = (self.rows(np.asarray(rows)[part]) for part in (held_out.train, held_out.valid))
        if name == "linear" and self.method.common.start_epochs is None:  # solved for: nothing to end early
            train = self.rows(rows)
        start(name, predictor, train, valid, config=self.method.common, rng=rng, history=History(Calls()))
        return predictor

    def _untrained(self, name: str, rows: Array) -> Predictor:
        """A new predictor, scaled by these rows."""
        plan, given = self.plan, self.plan.predictor
        seed = int(self.weights_stream.generate_state(1)[0])
        if plan.forecaster is not None:
            return corrected(plan.inputs.take(rows), plan.Y[rows], seed=seed, library=plan.forecaster.library)
        bounds = plan.problem.bounds() if plan.problem.bounded else None
        if isinstance(given, nn.Module):
            net = copy.deepcopy(given)
        else:
            net = BUILT_IN[name](plan.inputs.n_x, plan.Y.shape[1], seed=seed)
        return Predictor(net, plan.inputs.scale(rows), Scale.of(plan.Y[rows]), bounds)

    @property
    def _pretrains(self) -> bool:
        """Whether prediction-focused learning comes first: not on the predictor of a former run, nor on forecasts."""
        continues = self.plan.former is not None and self.method.looks_at_regret
        return bool(self.method.common.warm_start) and not continues and self.plan.forecaster is None

    def _better(self, started: list[Started]) -> Started:
        """By cross-validated prediction loss, which has all rows behind it, unless the regrets clearly disagree."""
        if len(started) == 1 or not self.method.common.warm_start:
            return min(started, key=lambda one: one.outcome.best.mean)
        Y = self.plan.Y[self.split.train]
        scale = Scale.of(Y).std
        losses = {one.name: np.square((self.out_of_fold(one.name) - Y) / scale).mean() for one in started}
        best = min(started, key=lambda one: losses[one.name])
        for other in started:
            if other.outcome.best.clearly_below(best.outcome.best, OVERRULES):
                best = other
        return best

    def _fit(self, name: str, predictor: Predictor) -> Outcome:
        return start(
            name,
            predictor,
            self.rows(self.split.train),
            self.rows(self.split.valid),
            config=self.method.common,
            rng=np.random.default_rng(self.order_stream),
            history=self.history,
        )
