"""A forecaster of the user: any scikit-learn regressor or pipeline, fitted or not, and its out-of-fold forecasts.

A correction must be trained on forecasts of rows that the forecaster has not seen.

    not fitted    training rows by clones that were fitted on the other folds; then one more, fitted on all training
                  rows, forecasts the validation rows, and predicts
    fitted        it predicts as it is. Where its errors show that it has seen these rows, clones forecast them, as
                  above; otherwise, and where it cannot be cloned (`FrozenEstimator`), its own forecasts are taken

Beside the forecasts, the correction gets the context: the numeric columns of X.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from fewsolves.data import MAX_ABS, Scale, Split, check_order, check_table
from fewsolves.errors import InputError
from fewsolves.problem import Array

FOLDS = 5
SEEN = 0.8  # squared error, in that of the clones, below which a fitted forecaster has seen the rows
NUMBERS = "biuf"  # kinds of numpy's types
OTHER = 1e-4  # relative difference of forecasts by which it is another forecaster


@dataclass(frozen=True, eq=False)
class Forecaster:
    """A fitted regressor, and the inputs of its correction."""

    regressor: Any
    n_y: int
    places: tuple[int, ...]  # of the columns of X that are numbers
    fill: Array  # (n_c,) where such a number is missing
    source: str  # of the forecasts that the correction was trained on, in words
    library: str | None = None  # of a booster of ours; None: the regressor is the user's, who knows what X may be

    @property
    def name(self) -> str:
        """The name of the library, or of the user's class."""
        return self.library or name_of(self.regressor)

    def forecasts(self, X: Any) -> Array:
        """(n, n_y), checked."""
        return _predictions(self.regressor, _table(X), self.n_y)

    def inputs(self, X: Any) -> Array:
        """(n, n_c + n_y): context beside forecasts."""
        X = _table(X)
        return np.hstack([self._filled(context_of(X, self.places)), self.forecasts(X)])

    def facts(self) -> dict[str, Any]:
        """Facts for a file: all but the regressor, and its forecast for the mean row."""
        facts = {
            "name": self.name,
            "library": self.library,
            "outputs": self.n_y,
            "places": list(self.places),
            "fill": self.fill.tolist(),
        }
        return {**facts, "told": self.source, "at_fill": self._at_fill()}

    def _at_fill(self) -> list[float] | None:
        """Forecasts for a row of means, to detect a different forecaster; None if a column is not numeric."""
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # that it was fitted with names of columns, for instance
            try:
                found: list[float] = self.forecasts(self.fill[None])[0].tolist()
            except Exception:  # it wants other columns; whatever it raises is the regressor's own
                return None
        return found

    def _filled(self, context: Array) -> Array:
        return np.where(np.isfinite(context), context, self.fill)


def loaded_forecaster(regressor: Any, facts: Mapping[str, Any]) -> Forecaster:
    """Restore a forecaster from `facts` and the regressor; warns if the regressor is a different one."""
    places, fill = tuple(map(int, facts["places"])), np.array(facts["fill"], dtype=float)
    if fill.shape != (len(places),) or not np.isfinite(fill).all():
        raise ValueError("what is filled in for missing numbers does not fit the columns")
    forecaster = Forecaster(regressor, int(facts["outputs"]), places, fill, str(facts["told"]), facts.get("library"))
    before, now = facts["at_fill"], forecaster._at_fill()
    if before is not None and now is not None and not np.allclose(before, now, rtol=OTHER, atol=0.0):
        warnings.warn(
            f"the forecaster given predicts {now[0]:.6g} where the one that was corrected predicted {before[0]:.6g}: "
            f"the correction was trained for another. Give that one, or refit the model",
            stacklevel=4,
        )
    return forecaster


def is_forecaster(predictor: Any) -> bool:
    """Whether it is an object with `predict` that is not a torch module."""
    return not isinstance(predictor, str | type) and callable(getattr(predictor, "predict", None))


def name_of(regressor: Any) -> str:
    """The name of its class; of a pipeline, that of its last step."""
    while (inner := _inside(regressor)) is not None:
        regressor = inner
    return type(regressor).__name__


def context_of(X: Any, places: tuple[int, ...] | None = None) -> Array:
    """(n, n_c): the columns of X that are numbers, NaN where one is missing; none of a sparse matrix or of texts."""
    X = _table(X)
    if places is None:
        places = _places(X)
    if not places:
        return np.empty((X.shape[0], 0))
    if hasattr(X, "iloc"):
        return np.asarray(X.iloc[:, list(places)].to_numpy(dtype=float, na_value=np.nan))
    return np.asarray(X[:, list(places)], dtype=float)


def checked_context(X: Any, Y: Any) -> tuple[Array, Array]:
    """The numeric columns of X, which the forecaster checks, and Y, checked."""
    check_order(X, Y)
    context = context_of(X)
    return context, check_table(np.zeros((len(context), 1)), Y)[1]


def forecast(
    given: Any,
    X: Any,
    Y: Array,
    split: Split,
    *,
    groups: Any = None,
    weights: Array | None = None,
    seed: int,
    library: str | None = None,
) -> tuple[Forecaster, Array]:
    """A fitted forecaster of Y (n, n_y), and the inputs (n, n_c + n_y) of its correction, out of fold."""
    X = _table(X)
    if X.shape[0] != len(Y):
        raise InputError(f"X has {X.shape[0]} rows and Y has {len(Y)}; give one row of Y per row of X")
    _refuse_classifier(given)
    n_y, places, context = Y.shape[1], _places(X), context_of(X)
    known = context[split.train]
    known = np.where(np.isfinite(known), known, np.nan)
    empty = np.isnan(known).all(axis=0)
    fill = np.where(empty, 0.0, np.nanmean(np.where(empty, 0.0, known), axis=0))
    clones = _Clones(given, X, Y, split, groups, weights, seed)
    if not _is_fitted(given):
        regressor, forecasts, source = *clones.fitted(), "out of fold, by clones of it"
    else:
        regressor, forecasts, source = given, _predictions(given, X, n_y), "its own, as it was fitted"
        if clones.possible:
            honest = clones.fitted()[1]
            if (share := _error(forecasts, Y, split.train) / _error(honest, Y, split.train)) < SEEN:
                forecasts = honest
                source = (
                    f"out of fold, by clones of it: it was fitted on rows of this table, since its squared error on "
                    f"them is {share:.2f} of that of clones which have not seen them"
                )
    forecaster = Forecaster(regressor, n_y, places, fill, source, library)
    return forecaster, np.hstack([forecaster._filled(context), forecasts])


class _Clones:
    """The same regressor, fitted on other rows."""

    def __init__(
        self, given: Any, X: Any, Y: Array, split: Split, groups: Any, weights: Array | None, seed: int
    ) -> None:
        self.given, self.X, self.Y, self.split, self.weights = given, X, Y, split, weights
        self.groups = None if groups is None else np.asarray(groups)[split.train]
        self.seed = seed

    @property
    def possible(self) -> bool:
        """Whether there can be any."""
        from sklearn.base import clone
        from sklearn.frozen import FrozenEstimator

        if isinstance(self.given, FrozenEstimator) or not hasattr(self.given, "fit"):
            return False
        try:
            clone(self.given)
        except (TypeError, RuntimeError):
            return False
        return True

    def fitted(self) -> tuple[Any, Array]:
        """A clone fitted on all training rows, and forecasts (n, n_y), out of fold on training rows."""
        if not self.possible:
            raise InputError(
                f"predictor {self.given!r:.80} is not fitted, and scikit-learn cannot clone it to fit it here; fit it "
                f"first, or give it get_params and set_params (sklearn.base.BaseEstimator)"
            )
        train, n_y = self.split.train, self.Y.shape[1]
        regressor = self._fit(train)
        forecasts = _predictions(regressor, self.X, n_y)
        for others, fold in self._folds():
            rows = train[fold]
            forecasts[rows] = _predictions(self._fit(train[others]), _rows(self.X, rows), n_y)
        return regressor, forecasts

    def _fit(self, rows: Array) -> Any:
        from sklearn.utils.validation import has_fit_parameter

        regressor = self._clone()
        options = {}
        if self.weights is not None and has_fit_parameter(getattr(regressor, "estimator", regressor), "sample_weight"):
            options["sample_weight"] = self.weights[rows]
        y = self.Y[rows]
        regressor.fit(_rows(self.X, rows), y[:, 0] if y.shape[1] == 1 else y, **options)
        return regressor

    def _clone(self) -> Any:
        """With a seed where it has none, so that a run can be repeated; one for each output where it has one only."""
        from sklearn.base import clone
        from sklearn.multioutput import MultiOutputRegressor

        regressor = clone(self.given)
        names = [name for name in _parameters(regressor) if name.split("__")[-1] == "random_state"]
        unset = {name: self.seed for name in names if _parameters(regressor)[name] is None}
        if unset:
            regressor.set_params(**unset)
        return regressor if self.Y.shape[1] == 1 or _several_outputs(regressor) else MultiOutputRegressor(regressor)

    def _folds(self) -> Any:
        """Pairs of positions in the training rows: whole groups; in time, where validation comes last; else random."""
        from sklearn.model_selection import GroupKFold, KFold

        train, in_time = self.split.train, self.split.in_time
        kinds = len(train) if self.groups is None else len(np.unique(self.groups))
        if kinds < 2:
            raise InputError(
                f"a forecaster needs two rows (or groups) to train on, to forecast each by the other; there is {kinds}"
            )
        if self.groups is not None:
            return GroupKFold(min(FOLDS, kinds)).split(train, groups=self.groups)
        folds = KFold(min(FOLDS, kinds), shuffle=not in_time, random_state=None if in_time else self.seed)
        return folds.split(train)


def _table(X: Any) -> Any:
    """X as something with rows and a shape."""
    return X if hasattr(X, "shape") else np.asarray(X)


def _rows(X: Any, rows: Array) -> Any:
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]


def _places(X: Any) -> tuple[int, ...]:
    """The positions of the numeric columns."""
    if hasattr(X, "iloc"):
        return tuple(k for k, kind in enumerate(X.dtypes) if getattr(kind, "kind", "O") in NUMBERS)
    numbers = isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in NUMBERS
    return tuple(range(X.shape[1])) if numbers else ()


def _parameters(regressor: Any) -> Mapping[str, Any]:
    return regressor.get_params() if hasattr(regressor, "get_params") else {}


def _inside(regressor: Any) -> Any:
    """The last step of a pipeline, what a frozen estimator or one for each output holds; None of a plain regressor."""
    if hasattr(regressor, "steps"):
        return regressor.steps[-1][1]
    return getattr(regressor, "estimator", None) if type(regressor).__name__ in HOLDERS else None


HOLDERS = ("FrozenEstimator", "MultiOutputRegressor")


def _several_outputs(regressor: Any) -> bool:
    """Whether it says that it predicts several outputs; a pipeline as its last step does."""
    from sklearn.utils import get_tags

    last = regressor.steps[-1][1] if hasattr(regressor, "steps") else regressor
    try:
        return bool(get_tags(last).target_tags.multi_output)
    except (AttributeError, TypeError, ValueError):  # of another library, without tags
        return False


def _is_fitted(regressor: Any) -> bool:
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    if not hasattr(regressor, "fit"):
        return True  # it only predicts
    try:
        check_is_fitted(regressor)
    except (NotFittedError, TypeError):
        return False
    return True


def _refuse_classifier(regressor: Any) -> None:
    from sklearn.base import is_classifier

    check: Callable[[Any], bool] = is_classifier
    if hasattr(regressor, "get_params") and check(regressor):
        raise InputError(f"predictor {name_of(regressor)} is a classifier; parameters are numbers: give a regressor")


def _predictions(regressor: Any, X: Any, n_y: int) -> Array:
    found = np.array(regressor.predict(X), dtype=float)
    if found.ndim == 1:
        found = found[:, None]
    if found.shape != (X.shape[0], n_y):
        raise InputError(
            f"the forecaster {name_of(regressor)} predicts an array of shape {found.shape}, wanted are {X.shape[0]} "
            f"rows of {n_y} parameters, as Y has; give one that was fitted on this Y, or one that is not fitted"
        )
    usable = np.abs(found) <= MAX_ABS  # false for NaN
    if not usable.all():
        row, column = np.argwhere(~usable)[0]
        raise InputError(
            f"the forecaster {name_of(regressor)} predicts {found[row, column]:g} for row {row}, output {column}; it "
            f"must give a number for every row: fill what is missing in X, in a pipeline for instance"
        )
    return found


def _error(forecasts: Array, Y: Array, rows: Array) -> float:
    """Mean squared error on some rows, in variances of each output."""
    return float(np.square((forecasts[rows] - Y[rows]) / Scale.of(Y[rows]).std).mean()) or 1e-300
