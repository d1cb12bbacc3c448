"""Out-of-fold predictions: every row is predicted once by a model that has not seen it, without a solve.

They choose between two predictors by all rows, where the regret of a few validation rows is mostly noise. They are also
the inputs of a correction, since errors of a model on its own training rows are smaller than on new ones.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from fewsolves.predictors.predictor import Predictor
from fewsolves.problem import Array
from fewsolves.training.start import Rows, start

FOLDS = 3


def out_of_fold(
    name: str,
    untrained: Predictor,
    X: Array,
    Y: Array,
    *,
    config: Any,
    rng: np.random.Generator,
    in_time: bool = False,
) -> Array:
    """(n, n_y): predictions by prediction-focused learning on the other folds, each stopped by its own fold.

    Folds are random; of rows in time they are stretches of it, since a day between two known ones is no new day.
    """
    predictions, everyone = np.empty_like(Y), np.arange(len(Y))
    order = everyone if in_time else rng.permutation(len(Y))
    for fold in np.array_split(order, min(FOLDS, len(Y))):
        predictor, others = copy.deepcopy(untrained), np.setdiff1d(everyone, fold)
        rows, left_out = Rows(X[others], Y[others]), Rows(X[fold], Y[fold])
        start(name, predictor, rows, left_out, config=config, rng=rng)
        predictions[fold] = predictor(left_out.X)
    return predictions
