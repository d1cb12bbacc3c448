"""The prediction-focused starts of a run: candidates are built, fitted, read on the validation rows, and compared."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from fewsolves.data import Scale, Split, share_to_validate, split_rows
from fewsolves.fitting.prepare import Prepared
from fewsolves.methods.base import Outcome, mean_one
from fewsolves.methods.reading import CLEAR, Reading
from fewsolves.predictors.families import named
from fewsolves.predictors.family import ScaledBy
from fewsolves.predictors.predictor import Predictor
from fewsolves.problem import Array
from fewsolves.quoting.price import READ
from fewsolves.training.cross_validation import out_of_fold
from fewsolves.training.history import History
from fewsolves.training.start import KEPT, Rows, start, start_given

WORTH_A_NETWORK = 0.1  # share of a linear predictor's loss; with less, both decide about as well, linear more reliably
FOLDS_STREAM, START_STREAM = 5, 6  # of random numbers, apart from the four of a fit

Streams = tuple[np.random.SeedSequence, ...]


class Started(NamedTuple):
    """A predictor after its start."""

    name: str
    predictor: Predictor
    outcome: Outcome


class Starts:
    """The starts of one run over the rows of `split`; `streams` seed the weights and the order of mini-batches."""

    def __init__(self, prepared: Prepared, split: Split, history: History, streams: Streams) -> None:
        self.prepared, self.plan, self.split, self.history = prepared, prepared.plan, split, history
        self.method, self.family = self.plan.method, self.plan.family
        self.weights_stream, self.order_stream = streams
        self.kept_given = False  # whether a module of the user is kept as it was given
        self._unseen: dict[str, Array] = {}  # predictions out of fold, by name

    def rows(self, rows: Array) -> Rows:
        """Inputs, truths and weights of some rows of the table."""
        weights = None if self.plan.sample_weight is None else mean_one(self.plan.sample_weight[rows])
        return Rows(self.prepared.inputs.take(rows), self.plan.Y[rows], weights)

    def best(self, read: Callable[[Predictor], Reading]) -> Started:
        """Start all candidates, read each on the validation rows, and return the better one."""
        started: list[Started] = []
        for name, candidate in self._promising().items():
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

    def _promising(self) -> dict[str, Predictor]:
        """The candidates, of several the two with the lowest cross-validated prediction loss."""
        found = self.candidates()
        if len(found) <= READ:
            return found
        names = sorted(found, key=self._loss) if self.method.common.warm_start else list(found)
        return {name: found[name] for name in names[:READ]}

    def _loss(self, name: str) -> float:
        """The cross-validated prediction loss, in variances of each parameter."""
        Y = self.plan.Y[self.split.train]
        return float(np.square((self.out_of_fold(name) - Y) / Scale.of(Y).std).mean())

    def candidates(self) -> dict[str, Predictor]:
        """The untrained predictors by name, or the predictor of the former run; one of the user's own is copied."""
        former = self.prepared.former
        if former is not None:
            return {former.predictor_name: copy.deepcopy(former.predictor)}
        return {name: self._untrained(name, self.split.train) for name in self.prepared.starts}

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
        if not self.family.pretrains:
            return predictor
        rng = np.random.default_rng([self.plan.seed, START_STREAM])
        held_out = split_rows(len(rows), rng=rng, valid=share_to_validate(len(rows)), test=0.0)
        train, valid = (self.rows(np.asarray(rows)[part]) for part in (held_out.train, held_out.valid))
        family = named(name)
        if family is not None and family.closed_form and self.method.common.start_epochs is None:
            train = self.rows(rows)  # a closed form needs no early stopping
        ended = start(name, predictor, train, valid, config=self.method.common, rng=rng)
        if ended.interrupted:
            raise KeyboardInterrupt
        return predictor

    def _untrained(self, name: str, rows: Array) -> Predictor:
        """A new predictor, scaled by these rows."""
        plan, problem = self.plan, self.plan.problem
        seed = int(self.weights_stream.generate_state(1)[0])
        bounds = problem.bounds() if problem.bounded else None
        table = ScaledBy(self.prepared.inputs, plan.Y, rows, seed, bounds, plan.scale)
        return self.family.untrained(plan.predictor, name, table)

    @property
    def refittable(self) -> bool:
        """Whether the start can be made again on other rows: not of random weights, nor of a module kept as given."""
        own_scales = isinstance(self.plan.predictor, Predictor)
        return bool(self.method.common.warm_start) and not own_scales and not self.kept_given

    @property
    def _pretrains(self) -> bool:
        """Whether prediction-focused learning comes first: not on the predictor of a former run, nor on forecasts."""
        continues = self.prepared.former is not None and self.method.looks_at_regret
        return bool(self.method.common.warm_start) and not continues and self.family.pretrains

    def _better(self, started: list[Started]) -> Started:
        """Choose by cross-validated prediction loss, which uses all rows, unless the regrets clearly disagree.

        A network must predict a good deal better than a linear predictor, which learns more from few solves.
        """
        if len(started) == 1 or not self.method.common.warm_start:
            return min(started, key=lambda one: one.outcome.best.mean)
        best = min(started, key=lambda one: self._loss(one.name))
        simple = [one for one in started if (family := named(one.name)) is not None and family.closed_form]
        linear = min(simple, key=lambda one: self._loss(one.name), default=best)
        if self._loss(best.name) > (1 - WORTH_A_NETWORK) * self._loss(linear.name):
            best = linear
        for other in started:
            if other.outcome.best.clearly_below(best.outcome.best, CLEAR):
                best = other
        return best

    def _fit(self, name: str, predictor: Predictor) -> Outcome:
        ended = (start_given if self.family.given else start)(
            name,
            predictor,
            self.rows(self.split.train),
            self.rows(self.split.valid),
            config=self.method.common,
            rng=np.random.default_rng(self.order_stream),
            history=self.history,
        )
        self.kept_given = ended.stopped == KEPT
        return ended
