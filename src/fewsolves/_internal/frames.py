"""X, y and predictions as scikit-learn's users have them: arrays or data frames, checked by its rules, names kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from sklearn import get_config
from sklearn.utils.validation import check_array, validate_data

from fewsolves.data import ENCODE, as_array, check_inputs, check_order, rank_of, refuse_masked_and_times
from fewsolves.errors import InputError, InputTypeError
from fewsolves.problem import Array

if TYPE_CHECKING:
    from pandas import DataFrame
    from typing_extensions import TypeVar  # typing.TypeVar has no default before Python 3.13

    Predictions = TypeVar("Predictions", default=Array | DataFrame)
else:
    from typing import TypeVar

    Predictions = TypeVar("Predictions")  # what `predict` gives: an array, or a data frame where y was one


class Table(Protocol):
    """A data frame, for type checkers: columns have names."""

    @property
    def columns(self) -> Any:
        """Names of the columns."""


def checked_features(estimator: Any, X: Any, *, reset: bool, as_given: bool) -> Any:
    """X as float64, by scikit-learn's rules for data frames, sparse and text input; its finiteness is our check.

    With `reset` the estimator learns number and names of the columns, else they must be these. `as_given`: what a
    forecaster gets is its own to check.
    """
    X = as_array(X)
    if rank_of(X) > 2:
        return _of_any_rank(estimator, X, reset=reset, as_given=as_given)
    if as_given:
        return validate_data(estimator, X, reset=reset, skip_check_array=True)
    options = {"dtype": np.float64, "ensure_all_finite": False, "ensure_min_samples": 0, "ensure_min_features": 0}
    refuse_masked_and_times("X", X)
    try:
        numbers: Array = validate_data(estimator, X, reset=reset, **options)
    except (ValueError, TypeError) as error:
        raise _ours("X", error) from None
    return numbers


def _of_any_rank(estimator: Any, X: Any, *, reset: bool, as_given: bool) -> Any:
    """X of three or more dimensions, which scikit-learn has no checks for; the model checks the shape of its rows."""
    X = X if as_given else check_inputs("X", X)
    if reset:
        estimator.n_features_in_ = np.shape(X)[-1]
        vars(estimator).pop("feature_names_in_", None)
    return X


def checked_targets(X: Any, y: Any) -> Array:
    """y as float64, of one or two dimensions; a data frame has to be in the order of X."""
    if y is None:
        raise InputError("requires y to be passed, but the target y is None: give the true parameters")
    y = as_array(y)
    check_order(X, y)
    refuse_masked_and_times("y", y)
    options = {"dtype": np.float64, "ensure_2d": False, "ensure_all_finite": False, "ensure_min_samples": 0}
    try:
        numbers: Array = check_array(y, **options)
    except (ValueError, TypeError) as error:
        raise _ours("y", error) from None
    return numbers


def _ours(name: str, error: Exception) -> InputError:
    """What scikit-learn found, as an error of this library; its words stay, since its checks look for them."""
    if isinstance(error, TypeError):
        return InputTypeError(f"{name} must be a table of numbers: {error}")
    return InputError(
        f"{name} must be a table of numbers: {error}{ENCODE * ('could not convert string' in str(error))}"
    )


def column_names(y: Any) -> tuple[str, ...] | None:
    """The names of the columns of a data frame, else None."""
    columns = getattr(y, "columns", None)
    return None if columns is None else tuple(map(str, columns))


def wants_frame(estimator: Any, names: tuple[str, ...] | None) -> bool:
    """Whether predictions are to be a data frame: as `set_output` says, else where y was one, else as is configured."""
    named = names is not None or get_config()["transform_output"] == "pandas"
    config = getattr(estimator, "_sklearn_output_config", {})
    return bool(config.get("transform", "pandas" if named else "default") == "pandas")


def decisions_frame(decisions: Array, names: tuple[str, ...] | None, X: Any) -> Any:
    """Decisions (n, k) as a data frame, with the labels of the rows of X; named as the targets where they are k."""
    k = decisions.shape[1]
    own = names if names is not None and len(names) == k else tuple(f"z{j}" for j in range(k))
    return predictions_frame(decisions, own, X)


def predictions_frame(y_hat: Array, names: tuple[str, ...] | None, X: Any) -> Any:
    """Predictions as a data frame, with the labels of the rows of X."""
    import pandas

    columns = list(names or (f"y{k}" for k in range(y_hat.shape[1])))
    return pandas.DataFrame(y_hat, columns=columns, index=X.index if hasattr(X, "iloc") else None)
