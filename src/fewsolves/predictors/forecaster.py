"""A forecaster of the user: any object with fit and predict, fitted or not, and its out-of-fold forecasts.

A correction must be trained on forecasts of rows that the forecaster has not seen.

    not fitted    training rows by clones that were fitted on the other folds; then one more, fitted on all training
                  rows, forecasts the validation rows, and predicts
    fitted        it predicts as it is. Where its errors show that it has seen these rows, clones forecast them, as
                  above; otherwise, and where it cannot be cloned (`FrozenEstimator`), its own forecasts are taken
    unknown       an object that is no scikit-learn estimator may predict before `fit`. It counts as fitted where its
                  errors on the training rows are not clearly larger than those of the clones; else it is fitted

Where X is (n, items, k), a regressor that takes tables is shared by the items: it is fitted to n * items rows, and
folds are of rows of X, never of items.

Beside the forecasts, the correction gets the context: the numeric columns of X.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from fewsolves.data import MAX_ABS, Scale, Split, as_array, check_inputs, check_order, check_table, rank_of
from fewsolves.errors import FewsolvesError, FewsolvesWarning, InputError, InputTypeError
from fewsolves.predictors.regressor import (
    OneForEachOutput,
    SharedByItems,
    can_be_copied,
    fit_options,
    for_items,
    is_fitted,
    name_of,
    refuse_classifier,
    seeded_copy,
    several_outputs,
    take_rows,
)
from fewsolves.problem import Array

FOLDS = 5
SEEN = 0.8  # squared error, in that of the clones, below which a fitted forecaster has seen the rows
UNFITTED = 1.25  # and above which an object without a mark of being fitted counts as unfitted
MARK = "A method __sklearn_is_fitted__ of its class that returns True or False says which it is"
OUT_OF_FOLD = "out of fold, by clones of it"
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
    def shared(self) -> bool:
        """Whether all items share the regressor and its correction."""
        return isinstance(self.regressor, SharedByItems)

    @property
    def name(self) -> str:
        """The name of the library, or of the user's class."""
        return self.library or name_of(self.regressor)

    def forecasts(self, X: Any) -> Array:
        """(n, n_y), checked."""
        return _predictions(self.regressor, _table(X), self.n_y)

    def inputs(self, X: Any) -> Array:
        """(n, n_c + n_y): context beside forecasts; (n, items, n_c + 1) where X has items."""
        X = _table(X)
        return _beside(self._filled(context_of(X, self.places)), self.forecasts(X))

    def facts(self) -> dict[str, Any]:
        """Facts for a file: all but the regressor, and its forecast for the mean row."""
        facts = {
            "name": self.name,
            "library": self.library,
            "outputs": self.n_y,
            "places": list(self.places),
            "fill": self.fill.tolist(),
            "shared": self.shared,
        }
        return {**facts, "told": self.source, "at_fill": self._at_fill()}

    def _at_fill(self) -> list[float] | None:
        """Forecasts for a row of means, to detect a different forecaster; None if a column is not numeric."""
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # that it was fitted with names of columns, for instance
            try:
                mean_row = np.tile(self.fill, (1, self.n_y, 1)) if self.shared else self.fill[None]
                found: list[float] = self.forecasts(mean_row)[0].tolist()
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
    if facts.get("shared") and not isinstance(regressor, SharedByItems):
        regressor = SharedByItems(regressor)
    forecaster = Forecaster(regressor, int(facts["outputs"]), places, fill, str(facts["told"]), facts.get("library"))
    before, now = facts["at_fill"], forecaster._at_fill()
    if before is not None and now is not None and not np.allclose(before, now, rtol=OTHER, atol=0.0):
        warnings.warn(
            f"the forecaster given predicts {now[0]:.6g} where the one that was corrected predicted {before[0]:.6g}: "
            f"the correction was trained for another. Give that one, or refit the model",
            stacklevel=4,
        )
    return forecaster


def context_of(X: Any, places: tuple[int, ...] | None = None) -> Array:
    """(n, n_c): the columns of X that are numbers, NaN where one is missing; none of a sparse matrix or of texts."""
    X = _table(X)
    if places is None:
        places = _places(X)
    if not places:
        return np.empty((X.shape[0], 0))
    if X.ndim > 2:
        return np.asarray(X)
    if hasattr(X, "iloc"):
        return np.asarray(X.iloc[:, list(places)].to_numpy(dtype=float, na_value=np.nan))
    return np.asarray(X[:, list(places)], dtype=float)


def checked_context(X: Any, Y: Any) -> tuple[Array, Array]:
    """The numeric columns of X, which the forecaster checks, and Y, checked."""
    check_order(X, Y)
    if rank_of(as_array(X)) > 2:
        X = check_inputs("X", X)
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
    refuse_classifier(given)
    n_y, places, given = Y.shape[1], _places(X), for_items(given, X, Y)
    if X.ndim > 2 and not isinstance(given, SharedByItems):
        places = ()  # the regressor alone knows what its inputs mean
    context = context_of(X, places)
    known = context[split.train] if context.ndim == 2 else context[split.train].reshape(-1, context.shape[2])
    known = np.where(np.isfinite(known), known, np.nan)
    empty = np.isnan(known).all(axis=0)
    fill = np.where(empty, 0.0, np.nanmean(np.where(empty, 0.0, known), axis=0))
    clones = _Clones(given, X, Y, split, groups, weights, seed)
    regressor, forecasts, source = _honest(given, is_fitted(given, X), clones)
    forecaster = Forecaster(regressor, n_y, places, fill, source, library)
    return forecaster, _beside(forecaster._filled(context), forecasts)


def _honest(given: Any, fitted: bool | None, clones: _Clones) -> tuple[Any, Array, str]:
    """The regressor that predicts, forecasts (n, n_y) that a correction may learn from, and where these come from."""
    if fitted is None:
        fitted = _seems_fitted(given, clones)
    if not fitted:
        return *clones.fitted, OUT_OF_FOLD
    own = _predictions(given, clones.X, clones.Y.shape[1])
    if not can_be_copied(given) or (share := clones.share(own)) >= SEEN:
        return given, own, "its own, as it was fitted"
    return (
        given,
        clones.fitted[1],
        f"{OUT_OF_FOLD}: it was fitted on rows of this table, since its squared error on them is {share:.2f} of that "
        f"of clones which have not seen them",
    )


def _seems_fitted(given: Any, clones: _Clones) -> bool:
    """Whether a plain object that predicts was fitted, to judge by its errors; warns where that is not beyond doubt."""
    name = name_of(given)
    if not can_be_copied(given):
        found = f"predictor {name} predicts, and is used as it is: check that it was fitted. {MARK}"
        warnings.warn(found, FewsolvesWarning, stacklevel=4)
        return True
    try:
        own = _predictions(given, clones.X, clones.Y.shape[1])
    except (InputError, TypeError, ValueError):
        return False  # its predictions are none of this Y
    if (share := clones.share(own)) > UNFITTED:
        warnings.warn(
            f"predictor {name} predicts, but its squared error on the training rows is {share:.3g} times that of "
            f"copies fitted on other rows: it counts as not fitted, and a copy of it is fitted. {MARK}",
            FewsolvesWarning,
            stacklevel=4,
        )
    return share <= UNFITTED


class _Clones:
    """The same regressor, fitted on other rows."""

    def __init__(
        self, given: Any, X: Any, Y: Array, split: Split, groups: Any, weights: Array | None, seed: int
    ) -> None:
        self.given, self.X, self.Y, self.split, self.weights = given, X, Y, split, weights
        self.groups = None if groups is None else np.asarray(groups)[split.train]
        self.seed = seed

    @cached_property
    def fitted(self) -> tuple[Any, Array]:
        """A clone fitted on all training rows, and forecasts (n, n_y), out of fold on training rows."""
        if not can_be_copied(self.given):
            raise InputError(f"predictor {self.given!r:.80} is not fitted, and it cannot be copied; fit it first")
        train, n_y = self.split.train, self.Y.shape[1]
        regressor = self._fit(train)
        forecasts = _predictions(regressor, self.X, n_y)
        for others, fold in self._folds():
            rows = train[fold]
            forecasts[rows] = _predictions(self._fit(train[others]), take_rows(self.X, rows), n_y)
        return regressor, forecasts

    def share(self, forecasts: Array) -> float:
        """Squared error of forecasts (n, n_y) on the training rows, in that of the clones."""
        train = self.split.train
        return _error(forecasts, self.Y, train) / _error(self.fitted[1], self.Y, train)

    def _fit(self, rows: Array) -> Any:
        regressor = seeded_copy(self.given, self.seed)
        if not self._several:
            regressor = OneForEachOutput(regressor)
        y = self.Y[rows]
        options = fit_options(regressor, None if self.weights is None else self.weights[rows])
        with _named(regressor, "fit"):
            regressor.fit(take_rows(self.X, rows), y[:, 0] if y.shape[1] == 1 else y, **options)
        return regressor

    @cached_property
    def _several(self) -> bool:
        return several_outputs(lambda: seeded_copy(self.given, self.seed), self.X, self.Y, self.split.train)

    def _folds(self) -> Any:
        """Pairs of positions in the training rows: whole groups; in time, where validation comes last; else random."""
        from sklearn.model_selection import GroupKFold, KFold

        train, in_time = self.split.train, self.split.in_time
        kinds = len(train) if self.groups is None else len(np.unique(self.groups))
        if kinds < 2:
            raise InputError(
                f"a forecaster needs at least two rows (or groups) to train on, because each is forecast by a copy "
                f"fitted on the others; there is {kinds}"
            )
        if self.groups is not None:
            return GroupKFold(min(FOLDS, kinds)).split(train, groups=self.groups)
        folds = KFold(min(FOLDS, kinds), shuffle=not in_time, random_state=None if in_time else self.seed)
        return folds.split(train)


def _beside(context: Array, forecasts: Array) -> Array:
    """(n, n_c + n_y), or (n, items, n_c + 1) where the context has items."""
    if context.ndim == 3:
        return np.concatenate([context, forecasts[:, :, None]], axis=2)
    return np.hstack([context, forecasts])


def _table(X: Any) -> Any:
    """X as something with rows and a shape."""
    X = as_array(X)
    return X if hasattr(X, "shape") else np.asarray(X)


def _places(X: Any) -> tuple[int, ...]:
    """The positions of the numeric columns."""
    if hasattr(X, "iloc"):
        return tuple(k for k, kind in enumerate(X.dtypes) if getattr(kind, "kind", "O") in NUMBERS)
    numbers = isinstance(X, np.ndarray) and X.ndim in (2, 3) and X.dtype.kind in NUMBERS
    return tuple(range(X.shape[-1])) if numbers else ()


@contextmanager
def _named(regressor: Any, what: str) -> Iterator[None]:
    """What a forecaster raises, as an error that names it and keeps its words."""
    try:
        yield
    except FewsolvesError:
        raise
    except Exception as error:
        kind = InputTypeError if isinstance(error, TypeError) else InputError
        said = f"{type(error).__name__}: {error}"
        raise kind(f"the forecaster {name_of(regressor)} cannot {what}: {said}") from error


def _predictions(regressor: Any, X: Any, n_y: int) -> Array:
    with _named(regressor, "predict"):
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
