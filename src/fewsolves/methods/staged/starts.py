"""The starts of the models: one fitted without each fold, and one on all rows.

k        number of a model          unseen   (n, d)  predictions of each row by the start that was fitted without it
"""

from __future__ import annotations

import copy

import numpy as np

from fewsolves.methods.base import Context
from fewsolves.methods.staged.folds import Folds
from fewsolves.methods.staged.replicas import LinearReplicas, ModuleReplicas, predict
from fewsolves.methods.staged.rows import TrainingRows
from fewsolves.predictors.predictor import Predictor
from fewsolves.problem import Array


def start_models(context: Context, folds: Folds, rows: TrainingRows, table: Array) -> LinearReplicas | ModuleReplicas:
    """The models at their starts.

    The units of `rows` shrink where the starts predict unseen rows well, and `context.predictor` becomes the start on
    all rows.

    Args:
        context: What the trainer works with.
        folds: Which rows each model sees.
        rows: The rows of the run.
        table: (n,) Their positions in the table of the user.
    """
    X = context.inputs.take(table)
    if folds.refits:
        starts = [_start_without(context, table, judged) for judged in folds.judged] + [_start_without(context, table)]
    else:
        starts = [copy.deepcopy(context.predictor) for _ in range(len(folds.bags) + 1)]
    unseen = np.full(rows.oracle.Y.shape, np.nan)
    for one, judged in zip(starts, folds.judged, strict=False):
        unseen[judged] = predict(one, X[judged])
    rows.shrink_units(unseen)
    linear = X.ndim == 2 and starts[-1].linear
    bags = list(folds.bags)
    if not linear and not folds.holdout:
        bags.append(np.arange(rows.n))
    elif not linear:
        starts = starts[:1]
    kind = LinearReplicas if linear else ModuleReplicas
    models: LinearReplicas | ModuleReplicas = kind(rows, X, starts, bags)
    if folds.refits:
        models.install(context.predictor)
    return models


def _start_without(context: Context, table: Array, judged: Array | None = None) -> Predictor:
    """A start on all rows of the table but these, and their groups."""
    others, groups = context.unlabelled, context.groups
    left_out = np.empty(0, dtype=int) if judged is None else table[judged]
    if groups is not None:
        others = others[~np.isin(groups[others], groups[left_out])]
    return context.start(np.union1d(np.setdiff1d(table, left_out), others))
