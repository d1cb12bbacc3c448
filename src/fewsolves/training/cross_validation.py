"""Out-of-fold predictions: every row is predicted once by a model that has not seen it, without a solve.

They tell which of two predictors to start, with all rows behind the choice, where a regret on a tenth of few rows is
mostly luck; and what a correction with few numbers should correct, since a model is better on its own rows than on new
ones.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import torch
from torch import Tensor

from fewsolves.oracle import Calls
from fewsolves.predictors.predictor import Predictor
from fewsolves.problem import Array
from fewsolves.training.history import History
from fewsolves.training.start import Rows, start

FOLDS = 3


def out_of_fold(
    name: str,
    untrained: Predictor,
    X: Tensor,
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
        rows, left_out = Rows(X[torch.as_tensor(others)], Y[others]), Rows(X[torch.as_tensor(fold)], Y[fold])
        start(name, predictor, rows, left_out, config=config, rng=rng, history=History(Calls()))
        with torch.no_grad():
            predictions[fold] = predictor(left_out.X).numpy()
    return predictions
