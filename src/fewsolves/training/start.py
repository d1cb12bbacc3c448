"""The prediction-focused start: maximum likelihood of y, without a solve. Every method begins here."""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import numpy as np

from fewsolves.methods.base import Outcome, TrainConfig
from fewsolves.methods.pfl import PFLLoss
from fewsolves.methods.reading import CLEAR, Reading
from fewsolves.predictors.families import named
from fewsolves.predictors.least_squares import fit_least_squares
from fewsolves.predictors.predictor import Predictor
from fewsolves.predictors.ridge import fit_ridge
from fewsolves.problem import Array
from fewsolves.training.history import History
from fewsolves.training.loop import train
from fewsolves.training.monitor import LossMonitor

EPOCHS = 500  # upper bound; early stopping on validation rows usually ends it sooner
SOLVED = "solved in closed form"
KEPT = "kept as given by the start: fitting it did not clearly lower its squared error on the validation rows"


class Rows(NamedTuple):
    """Rows of the table, with their weights (1 on average; None: all alike)."""

    X: Array
    Y: Array
    weights: Array | None = None


def start(
    name: str,
    predictor: Predictor,
    rows: Rows,
    valid: Rows,
    *,
    config: Any,
    rng: np.random.Generator,
    history: History | None = None,
) -> Outcome:
    """Fit the predictor of this name to `rows`, in place; training by epochs stops early on `valid`.

    `config` has `start_epochs`, as every method does. Without a `history`, no epoch is recorded.
    """
    one_unit = predictor.y_std.ndim == 0  # it has no scale of its own for each output
    monitor = LossMonitor(PFLLoss(valid.Y, valid.weights, one_unit=one_unit), valid.X)
    first = monitor(predictor)
    if config.start_epochs is None and _solved(name, predictor, rows):
        if history is None:
            return Outcome(first, monitor(predictor), SOLVED)
        error = LossMonitor(PFLLoss(rows.Y, rows.weights, one_unit=one_unit), rows.X)(predictor)
        return _recorded(first, monitor(predictor), error, len(rows.X), history)
    return train(
        predictor,
        PFLLoss(rows.Y, one_unit=one_unit),
        rows.X,
        monitor=monitor,
        config=TrainConfig(max_epochs=EPOCHS if config.start_epochs is None else config.start_epochs),
        rng=rng,
        history=history,
        stage="start",
        weights=rows.weights,
    )


def start_given(name: str, predictor: Predictor, rows: Rows, valid: Rows, **parts: Any) -> Outcome:
    """The start of a module of the user, which is kept as given unless its squared error on `valid` clearly falls."""
    given, before = predictor.state_dict(), _squared_errors(predictor, valid)
    ended = start(name, predictor, rows, valid, **parts)
    if parts["config"].start_epochs == 0:  # it was not fitted at all
        return ended
    if ended.interrupted or _squared_errors(predictor, valid).clearly_below(before, CLEAR):
        return ended
    predictor.load_state_dict(given)
    return dataclasses.replace(ended, best=ended.first, stopped=KEPT)


def _squared_errors(predictor: Predictor, rows: Rows) -> Reading:
    """Row by row."""
    squares = np.square(predictor(rows.X) - rows.Y).mean(axis=1)
    return Reading(squares if rows.weights is None else rows.weights * squares)


def _solved(name: str, predictor: Predictor, rows: Rows) -> bool:
    """Whether the start was computed in closed form."""
    family = named(name)
    if family is None:  # a module of the user
        return fit_least_squares(predictor, rows.X, rows.Y, rows.weights)
    if family.closed_form:
        fit_ridge(predictor, rows.X, rows.Y, rows.weights)
    return family.closed_form


def _recorded(first: Reading, best: Reading, error: Reading, n: int, history: History) -> Outcome:
    """The end of a start in closed form, as one epoch."""
    try:
        stop = history.add("start", 1, error.mean, best, None, rows=n, epochs=1)
    except KeyboardInterrupt:
        return Outcome(first, best, "interrupted in epoch 1", interrupted=True)
    reason = SOLVED if stop is None else stop.reason
    return Outcome(first, best, reason, stop_requested=stop is not None)
