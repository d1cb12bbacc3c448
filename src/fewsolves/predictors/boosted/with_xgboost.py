"""XGBoost (`xgboost-cpu` is the package that pulls nothing for GPUs)."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import xgboost

from fewsolves.predictors.boosted.arrays import DEPTH, Nodes, TreeArrays, Way, arrays_of
from fewsolves.problem import Array

OPTIONS = {"max_depth": DEPTH, "nthread": 1, "verbosity": 0, "tree_method": "hist"}


def fit(
    X: Array, y: Array, weights: Array, *, rate: float, least: int, rounds: int, watched: Array | None, patience: int
) -> tuple[Any, int]:
    """A booster for squared error, and how many rounds it should have: by the rows that are `watched`, not fitted."""
    options = OPTIONS | {"learning_rate": rate, "min_child_weight": least}
    fitted = np.ones(len(y), dtype=bool) if watched is None else ~watched
    data = xgboost.DMatrix(X[fitted], y[fitted], weight=weights[fitted])
    if watched is None:
        return xgboost.train(options, data, rounds), rounds
    held = [(xgboost.DMatrix(X[watched], y[watched], weight=weights[watched]), "watched")]
    booster = xgboost.train(options, data, rounds, evals=held, early_stopping_rounds=patience, verbose_eval=False)
    return booster, booster.best_iteration + 1


def predict(booster: Any, X: Array) -> Array:
    """(n,)."""
    return np.asarray(booster.predict(xgboost.DMatrix(X, nthread=1)), dtype=float)


def write(booster: Any) -> bytes:
    """Serialise a booster in the library's own format, without pickle."""
    return bytes(booster.save_raw("ubj"))


def read(text: bytes) -> Any:
    """Load a booster that `write` serialised."""
    booster = xgboost.Booster({"nthread": 1})
    booster.load_model(bytearray(text))
    return booster


def grower(u: Array, least: int) -> Callable[[Array, Array], TreeArrays]:
    """A function of slopes (M, n_y) and second derivatives (M,) that grows a tree over u (M, n) for each output."""
    options = OPTIONS | {"learning_rate": 1.0, "base_score": 0.0, "min_child_weight": least}
    data = xgboost.QuantileDMatrix(u)

    def grow(slopes: Array, weights: Array) -> TreeArrays:
        n_y = slopes.shape[1]
        data.set_label(np.zeros_like(slopes))
        booster = xgboost.Booster({**options, "num_target": n_y}, [data])
        booster.boost(data, iteration=0, grad=slopes, hess=np.repeat(weights[:, None], n_y, axis=1))
        model = json.loads(bytes(booster.save_raw("json")))["learner"]["gradient_booster"]["model"]
        return arrays_of(map(_nodes, model["trees"]))

    return grow


def _nodes(tree: Mapping[str, Sequence[Any]]) -> Nodes:
    found: dict[Way, tuple[int, float] | float] = {}

    def walk(k: int, way: Way) -> None:
        left, right, value = (tree[part][k] for part in ("left_children", "right_children", "split_conditions"))
        found[way] = float(value)
        if left >= 0:
            found[way] = int(tree["split_indices"][k]), float(value)
            walk(left, (*way, False))
            walk(right, (*way, True))

    walk(0, ())
    return found
