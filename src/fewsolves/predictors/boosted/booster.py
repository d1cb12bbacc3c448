"""The prediction-focused booster: XGBoost or LightGBM for squared error, one for each output, as a regressor."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin

from fewsolves.errors import InputError
from fewsolves.predictors.boosted.trees import BOOSTER
from fewsolves.problem import Array

HELD_BACK = 0.2  # share of the rows for early stopping, which sets the number of rounds


def library_of(name: str) -> Any:
    """The module that calls the library; raises if that is not installed."""
    if find_spec(name) is None:
        raise InputError(f"predictor={name!r} needs {name}: pip install 'fewsolves[boosting]'")
    return import_module(f"fewsolves.predictors.boosted.with_{name}")


def least_in_leaf(n: int) -> int:
    """The smallest number of rows in a leaf."""
    return max(5, n // 40)


class TreeBooster(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Early stopping on held-out rows sets the number of rounds; then all rows are fitted with that number."""

    def __init__(
        self,
        library: str = "xgboost",
        learning_rate: float = 0.1,
        max_rounds: int = 300,
        patience: int = 15,
        random_state: int | None = None,
    ) -> None:
        self.library = library
        self.learning_rate = learning_rate
        self.max_rounds = max_rounds
        self.patience = patience
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> TreeBooster:
        """X (n, n_x), y (n,) or (n, n_y)."""
        X, Y = np.asarray(X, dtype=float), np.reshape(np.asarray(y, dtype=float), (len(y), -1))
        weights = np.ones(len(Y)) if sample_weight is None else np.asarray(sample_weight, dtype=float)
        watched = np.zeros(len(Y), dtype=bool)
        order = np.random.default_rng(self.random_state).permutation(len(Y))
        watched[order[: max(1, round(HELD_BACK * len(Y)))]] = True
        library = library_of(self.library)
        options = {"rate": self.learning_rate, "least": least_in_leaf(len(Y)), "patience": self.patience}
        self.boosters_ = []
        for y_k in Y.T:
            _, rounds = library.fit(X, y_k, weights, rounds=self.max_rounds, watched=watched, **options)
            self.boosters_.append(library.fit(X, y_k, weights, rounds=rounds, watched=None, **options)[0])
        return self

    def predict(self, X: Any) -> Array:
        """(n, n_y)."""
        X, library = np.asarray(X, dtype=float), library_of(self.library)
        return np.column_stack([library.predict(booster, X) for booster in self.boosters_])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def arrays(self) -> dict[str, Array]:
        """The boosters in the format of their library, which is no pickle."""
        write = library_of(self.library).write
        return {f"{BOOSTER}{k}": np.frombuffer(write(one), dtype=np.uint8) for k, one in enumerate(self.boosters_)}


def booster_of(name: str, arrays: Mapping[str, Array]) -> TreeBooster:
    """Restore a booster from `TreeBooster.arrays`."""
    made, read = TreeBooster(name), library_of(name).read
    made.boosters_ = [read(arrays[f"{BOOSTER}{k}"].tobytes()) for k in range(sum(BOOSTER in part for part in arrays))]
    return made
