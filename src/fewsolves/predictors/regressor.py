"""Properties of a regressor of the user, found by trying: it need only have `fit` and `predict`.

a fresh copy        by scikit-learn's `clone` where it has `get_params`, else a deep copy
fitted or not       as scikit-learn, or `__sklearn_is_fitted__`, says; of any other object that predicts, its errors
                    show it (`forecaster.forecast`)
several outputs     whether it fits a few rows with all columns of Y; else there is one regressor for each column
"""

from __future__ import annotations

import copy
import inspect
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from fewsolves.errors import InputError
from fewsolves.problem import Array

FEW = 20  # rows on which a regressor is tried


class OneForEachOutput:
    """A regressor for a single output, fitted once for each column of Y."""

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def fit(self, X: Any, Y: Array, **options: Any) -> OneForEachOutput:
        """Fit one copy for each column.

        Args:
            X: What the regressor takes.
            Y: (n, n_y) True parameters.
            options: Handed on.
        """
        self.estimators_ = [fresh(self.estimator) for _ in range(Y.shape[1])]
        for one, y in zip(self.estimators_, Y.T, strict=True):
            one.fit(X, np.ascontiguousarray(y), **options)
        return self

    def predict(self, X: Any) -> Array:
        """(n, n_y) Predictions.

        Args:
            X: What the regressor takes.
        """
        return np.column_stack([np.reshape(one.predict(X), -1) for one in self.estimators_])


class SharedByItems:
    """One regressor for all items: a row of its table is an item of a row of ours."""

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def fit(self, X: Array, Y: Array, sample_weight: Array | None = None) -> SharedByItems:
        """Fit it in place to n * items rows.

        Args:
            X: (n, items, k) Features of each item.
            Y: (n, items) True parameters.
            sample_weight: (n,) Weights of the rows, which their items share.
        """
        weights = None if sample_weight is None else np.repeat(sample_weight, Y.shape[1])
        self.estimator.fit(X.reshape(-1, X.shape[2]), Y.ravel(), **fit_options(self.estimator, weights))
        return self

    def predict(self, X: Array) -> Array:
        """(n, items) Predictions.

        Args:
            X: (n, items, k) Features of each item.
        """
        return np.reshape(self.estimator.predict(X.reshape(-1, X.shape[2])), X.shape[:2])

    def arrays(self) -> dict[str, Array]:
        """Those of a booster."""
        found: dict[str, Array] = self.estimator.arrays()
        return found


HOLDERS = ("FrozenEstimator", "MultiOutputRegressor", "OneForEachOutput", "SharedByItems")


def is_forecaster(predictor: Any) -> bool:
    """Whether it is an object with `predict` that is not a torch module."""
    return not isinstance(predictor, str | type) and callable(getattr(predictor, "predict", None))


def name_of(regressor: Any) -> str:
    """The name of its class; of a pipeline, that of its last step."""
    while (inner := _inside(regressor)) is not None:
        regressor = inner
    return type(regressor).__name__


def _inside(regressor: Any) -> Any:
    """The last step of a pipeline, what a frozen estimator or one for each output holds; None of a plain regressor."""
    if hasattr(regressor, "steps"):
        return regressor.steps[-1][1]
    return getattr(regressor, "estimator", None) if type(regressor).__name__ in HOLDERS else None


def fresh(regressor: Any) -> Any:
    """A copy to be fitted."""
    from sklearn.base import clone

    if isinstance(regressor, SharedByItems):
        return SharedByItems(fresh(regressor.estimator))
    if hasattr(regressor, "get_params") and not inspect.isclass(regressor):
        return clone(regressor)
    return copy.deepcopy(regressor)


def can_be_copied(regressor: Any) -> bool:
    """Whether copies of it can be fitted: not of a frozen one, nor of one that only predicts."""
    from sklearn.frozen import FrozenEstimator

    regressor = regressor.estimator if isinstance(regressor, SharedByItems) else regressor
    if isinstance(regressor, FrozenEstimator) or not hasattr(regressor, "fit"):
        return False
    try:
        fresh(regressor)
    except Exception:  # whatever the object raises is its own
        return False
    return True


def seeded_copy(regressor: Any, seed: int) -> Any:
    """A fresh copy, with a seed where it has none, so that a run can be repeated."""
    if isinstance(regressor, SharedByItems):
        return SharedByItems(seeded_copy(regressor.estimator, seed))
    copied = fresh(regressor)
    parameters: Mapping[str, Any] = copied.get_params() if hasattr(copied, "get_params") else {}
    unset = {
        name: seed for name, value in parameters.items() if name.split("__")[-1] == "random_state" and value is None
    }
    if unset:
        copied.set_params(**unset)
    return copied


def several_outputs(make: Callable[[], Any], X: Any, Y: Array, rows: Array) -> bool:
    """Whether it fits and predicts all columns of Y at once, as tried on a few rows."""
    if Y.shape[1] == 1 or isinstance(make(), SharedByItems):
        return True
    for some in (rows[:FEW], rows):
        if _fits(make(), take_rows(X, some), Y[some]):
            return True
        if _fits(make(), take_rows(X, some), Y[some, 0]):
            return False
    return True  # it fits neither: the fit on all rows says why


def _fits(regressor: Any, X: Any, y: Array) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            regressor.fit(X, y)
            return bool(np.shape(regressor.predict(X)) == y.shape)
        except Exception:  # whatever it raises is its own
            return False


def is_fitted(regressor: Any, X: Any) -> bool | None:
    """Whether it was fitted, or only predicts; None of a plain object that predicts, which proves nothing."""
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    if isinstance(regressor, SharedByItems):
        return is_fitted(regressor.estimator, X.reshape(-1, X.shape[2]))
    if not hasattr(regressor, "fit"):
        return True  # it only predicts
    if not hasattr(regressor, "__sklearn_tags__"):
        if hasattr(regressor, "__sklearn_is_fitted__"):
            return bool(regressor.__sklearn_is_fitted__())
        return None if _predicts(regressor, X) else False
    try:
        check_is_fitted(regressor)
    except (NotFittedError, TypeError):
        return False
    return True


def _predicts(regressor: Any, X: Any) -> bool:
    try:
        return regressor.predict(take_rows(X, np.arange(2))) is not None
    except Exception:  # whatever it raises is its own
        return False


def for_items(regressor: Any, X: Any, Y: Array) -> Any:
    """The regressor for X (n, items, k): itself, where it takes such rows, else one that is shared by the items."""
    if np.ndim(X) < 3 or isinstance(regressor, SharedByItems) or _takes(regressor, X, Y):
        return regressor
    if np.ndim(X) == 3 and np.shape(X)[1] == Y.shape[1]:
        return SharedByItems(regressor)
    table = np.reshape(X, (len(X), -1))
    if not _takes(regressor, X, Y[:, 0]) and any(_takes(regressor, table, y) for y in (Y, Y[:, 0])):
        raise InputError(
            f"predictor {name_of(regressor)} takes tables, and X of shape (n, items, features) with {Y.shape[1]} "
            f"items, one for each column of Y; X has shape {np.shape(X)}. X.reshape(len(X), -1) is a table of all of it"
        )
    return regressor  # where it takes neither, its own error says why


def _takes(regressor: Any, X: Any, y: Array) -> bool:
    """Whether it predicts for X, or a copy of it can be fitted to a few rows."""
    few = np.arange(min(FEW, len(y)))
    return _predicts(regressor, X) or (can_be_copied(regressor) and _fits(fresh(regressor), X[few], y[few]))


def refuse_classifier(regressor: Any) -> None:
    """Raise for a classifier of scikit-learn."""
    from sklearn.base import is_classifier

    check: Callable[[Any], bool] = is_classifier
    if hasattr(regressor, "__sklearn_tags__") and check(regressor):
        raise InputError(f"predictor {name_of(regressor)} is a classifier; parameters are numbers: give a regressor")


def fit_options(regressor: Any, weights: Array | None) -> dict[str, Array]:
    """Weights of the rows, where `fit` takes them."""
    from sklearn.utils.validation import has_fit_parameter

    if weights is None or not has_fit_parameter(getattr(regressor, "estimator", regressor), "sample_weight"):
        return {}
    return {"sample_weight": weights}


def take_rows(X: Any, rows: Array) -> Any:
    """Some rows of a table of any kind."""
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]
