"""The prediction-focused start: maximum likelihood of y, without a solve. Every method begins here."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from torch import Tensor

from fewsolves.methods.base import Outcome, TrainConfig
from fewsolves.methods.pfl import PFLLoss
from fewsolves.predictors.families import named
from fewsolves.predictors.predictor import Predictor
from fewsolves.predictors.ridge import fit_ridge
from fewsolves.problem import Array
from fewsolves.training.history import History
from fewsolves.training.loop import train
from fewsolves.training.monitor import LossMonitor

EPOCHS = 500  # upper bound; early stopping on validation rows usually ends it sooner


class Rows(NamedTuple):
    """Rows of the table, with their weights (1 on average; None: all alike)."""

    X: Tensor
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
    history: History,
) -> Outcome:
    """Fit the predictor of this name to `rows`, in place; training by epochs stops early on `valid`.

    `config` has `start_epochs`, as every method does.
    """
    monitor = LossMonitor(PFLLoss(valid.Y, valid.weights), valid.X)
    family = named(name)
    if family is not None and family.closed_form and config.start_epochs is None:
        return _solved_for(predictor, rows, monitor, history)
    return train(
        predictor,
        PFLLoss(rows.Y),
        rows.X,
        monitor=monitor,
        config=TrainConfig(max_epochs=EPOCHS if config.start_epochs is None else config.start_epochs),
        rng=rng,
        history=history,
        stage="start",
        weights=rows.weights,
    )


def _solved_for(predictor: Predictor, rows: Rows, monitor: LossMonitor, history: History) -> Outcome:
    first = monitor(predictor)
    fit_ridge(predictor, rows.X.numpy(), rows.Y, rows.weights)
    best, error = monitor(predictor), LossMonitor(PFLLoss(rows.Y, rows.weights), rows.X)(predictor)
    try:
        stop = history.add("start", 1, error.mean, best, None, rows=len(rows.X), epochs=1)
    except KeyboardInterrupt:
        return Outcome(first, best, "interrupted in epoch 1", interrupted=True)
    reason = "solved in closed form" if stop is None else stop.reason
    return Outcome(first, best, reason, stop_requested=stop is not None)
