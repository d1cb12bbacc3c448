"""LightGBM; the functions are those of `with_xgboost`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import lightgbm
import numpy as np

from fewsolves.predictors.boosted.arrays import DEPTH, LEAVES, Nodes, TreeArrays, Way, arrays_of
from fewsolves.problem import Array

QUIET = {"verbosity": -1, "num_threads": 1, "deterministic": True}
OPTIONS = {"max_depth": DEPTH, "num_leaves": LEAVES, **QUIET}


def fit(
    X: Array, y: Array, weights: Array, *, rate: float, least: int, rounds: int, watched: Array | None, patience: int
) -> tuple[Any, int]:
    options = OPTIONS | {"objective": "l2", "learning_rate": rate, "min_data_in_leaf": least}
    fitted = np.ones(len(y), dtype=bool) if watched is None else ~watched
    data = lightgbm.Dataset(X[fitted], y[fitted], weight=weights[fitted], params=options)
    if watched is None:
        return lightgbm.train(options, data, rounds), rounds
    held = lightgbm.Dataset(X[watched], y[watched], weight=weights[watched], reference=data)
    stop = lightgbm.early_stopping(patience, verbose=False)
    booster = lightgbm.train(options, data, rounds, valid_sets=[held], callbacks=[stop])
    return booster, booster.best_iteration


def predict(booster: Any, X: Array) -> Array:
    return np.asarray(booster.predict(X, num_threads=1), dtype=float)


def write(booster: Any) -> bytes:
    text: str = booster.model_to_string()
    return text.encode()


def read(text: bytes) -> Any:
    try:
        return lightgbm.Booster(model_str=text.decode())
    except lightgbm.basic.LightGBMError as error:
        raise ValueError(f"LightGBM cannot read its booster: {error}") from error


def grower(u: Array, least: int) -> Callable[[Array, Array], TreeArrays]:
    options = OPTIONS | {"objective": "none", "learning_rate": 1.0}
    options |= {"min_data_in_leaf": least, "min_sum_hessian_in_leaf": least}
    data = lightgbm.Dataset(u, label=np.zeros(len(u)), params=options, free_raw_data=False).construct()

    def grow(slopes: Array, weights: Array) -> TreeArrays:
        return arrays_of(_grown(lightgbm.Booster(options, data), slope, weights) for slope in slopes.T)

    return grow


def _grown(booster: Any, slope: Array, weights: Array) -> Nodes:
    """One tree of a new booster."""
    booster.update(fobj=lambda predicted, data: (slope, weights))
    trees = booster.dump_model()["tree_info"]
    return _nodes(trees[0]["tree_structure"]) if trees else {(): 0.0}


def _nodes(tree: Mapping[str, Any]) -> Nodes:
    found: dict[Way, tuple[int, float] | float] = {}

    def walk(node: Mapping[str, Any], way: Way) -> None:
        if "leaf_value" in node:
            found[way] = float(node["leaf_value"])
            return
        found[way] = int(node["split_feature"]), float(node["threshold"])
        walk(node["left_child"], (*way, False))
        walk(node["right_child"], (*way, True))

    walk(tree, ())
    return found
