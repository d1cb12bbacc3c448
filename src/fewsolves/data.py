"""The user's table: checked, split by row, and scaled.

X (n, ...)  inputs of any rank        Y (n, n_y)  true parameters        one row is one example

Which rows are validated on (`split_table`): a share of them at random, the last of them in time, or given rows; with
groups, whole groups.
"""

from __future__ import annotations

import math
import numbers
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, time, timedelta
from typing import Any

import numpy as np

from fewsolves.errors import InputError
from fewsolves.problem import Array

MIN_ROWS = 5  # fewer cannot be split into a part to train and a part to validate on
MAX_ABS = 1e100  # of a number in a table: its square, and sums of them, are still float64
MIN_ABS = 1e-100  # of the largest number in a column: squares of smaller ones vanish, and it would count as constant


@dataclass(frozen=True)
class Split:
    """Rows of the table by their use."""

    train: Array  #: numbers of the rows that are trained on
    valid: Array  #: that the result is chosen by
    test: Array  #: that nothing looks at; empty but for benchmarks

    def __post_init__(self) -> None:
        for name in ("train", "valid"):
            if len(getattr(self, name)) == 0:
                raise InputError(f"the split has no row to {name} on; give it at least one")

    @property
    def in_time(self) -> bool:
        """Whether validation comes after training, as the days that a forecast is made for do."""
        return bool(self.train.max() < self.valid.min())


def split_rows(n: int, *, rng: np.random.Generator, valid: float = 0.1, test: float = 0.1) -> Split:
    """A random split; at least one row is validated on."""
    n_test, n_valid = round(test * n), max(1, round(valid * n))
    order = rng.permutation(n)
    n_train = n - n_valid - n_test
    return Split(*(np.sort(part) for part in np.split(order, [n_train, n_train + n_valid])))


Validation = float | str | Sequence[int] | Array


def share_to_validate(n: int) -> float:
    """A fifth of few rows, a tenth of many, and a hundred rows in between: fewer cannot separate gain from luck."""
    return min(0.2, max(0.1, 100 / n))


LAST_PERCENT = re.compile(r"last (\d+(?:\.\d+)?) ?%")


def split_table(n: int, validation: Validation, *, rng: np.random.Generator, groups: Any = None) -> Split:
    """Rows to train and to validate on: `validation` is a share, "last 20 %", or the rows themselves.

    >>> split_table(10, "last 20 %", rng=np.random.default_rng(0)).valid
    array([8, 9])
    """
    if isinstance(validation, numbers.Real) and not isinstance(validation, bool):
        share = _share(float(validation), validation)
        return split_rows(n, rng=rng, valid=share, test=0.0) if groups is None else _by_group(n, groups, share, rng)
    if groups is not None:
        raise InputError(
            "groups= needs validation= to be a share, which is then made of whole groups; leave one of the two out"
        )
    chosen = np.zeros(n, dtype=bool)
    if isinstance(validation, str):
        match = LAST_PERCENT.fullmatch(validation)
        if match is None:
            raise InputError(
                f"validation is a share such as 0.2, rows, or a text such as 'last 20 %', got {validation!r}"
            )
        chosen[n - max(1, round(_share(float(match[1]) / 100, validation) * n)) :] = True
    else:
        chosen[_row_numbers(validation, n)] = True
    return Split(np.flatnonzero(~chosen), np.flatnonzero(chosen), np.empty(0, dtype=int))


def extended_split(
    former: Split, n_former: int, n: int, validation: Validation, *, rng: np.random.Generator, groups: Any = None
) -> Split:
    """Rows of a table that has grown from `n_former` rows to n: old rows keep their use, new ones get theirs.

    With a share, as large a part of the new rows is validated on; new rows of an old group go with it. The last rows in
    time are those of the whole table, and rows that were given by number keep their use.
    """
    if not isinstance(validation, numbers.Real):
        return split_table(n, validation, rng=rng, groups=groups)
    new, valid = np.arange(n_former, n), np.zeros(n, dtype=bool)
    valid[former.valid] = True
    labels = np.arange(n) if groups is None else _labels(groups, n)
    unknown = new[~np.isin(labels[new], labels[:n_former])]
    valid[new] = np.isin(labels[new], labels[former.valid])
    if len(kinds := np.unique(labels[unknown])):
        chosen = rng.permutation(kinds)[: round(_share(float(validation), validation) * len(kinds))]
        valid[unknown] = np.isin(labels[unknown], chosen)
    train = np.concatenate([former.train, new[~valid[new]]])
    return Split(np.sort(train), np.flatnonzero(valid), np.empty(0, dtype=int))


def _share(share: float, given: Any) -> float:
    if not 0.0 < share < 1.0:
        raise InputError(f"the share of rows to validate on is above 0 and below 1 (0 % and 100 %), got {given!r}")
    return share


def _row_numbers(rows: Any, n: int) -> Array:
    try:
        found = np.asarray(rows)
    except ValueError as error:  # lists of several lengths
        raise InputError(f"validation= rows are whole numbers, got {rows!r:.80}: {error}") from None
    if found.dtype == bool and found.shape == (n,):
        return np.flatnonzero(found)
    if found.ndim != 1 or found.dtype.kind not in "iu" or len(found) == 0:
        raise InputError(
            f"validation= rows are whole numbers, or one True or False per row of the table, got {rows!r:.80}"
        )
    if found.min() < 0 or found.max() >= n:
        raise InputError(f"validation= has row {found[(found < 0) | (found >= n)][0]}; rows are numbered 0 to {n - 1}")
    return found


def _labels(groups: Any, n: int) -> Array:
    try:
        labels = np.asarray(groups)
    except ValueError as error:  # lists of several lengths
        raise InputError(f"groups must have one label per row, a number or text: {error}") from None
    if labels.shape != (n,):
        raise InputError(f"groups has shape {labels.shape}, the table has {n} rows; give one label per row")
    return labels


def _by_group(n: int, groups: Any, share: float, rng: np.random.Generator) -> Split:
    from sklearn.model_selection import GroupShuffleSplit  # here: it takes a while, and few need it

    labels = _labels(groups, n)
    try:
        number = len(np.unique(labels))
    except TypeError as error:
        raise InputError(f"groups has labels that cannot be compared ({error}); give numbers or text") from None
    if number < 2:
        raise InputError("all rows belong to one group; give at least two, one to train on and one to validate on")
    draw = GroupShuffleSplit(1, test_size=share, random_state=int(rng.integers(2**31)))
    try:
        train, valid = next(draw.split(np.zeros(n), groups=labels))
    except ValueError as error:  # of few groups, a share may be less than one
        raise InputError(f"validation={share:g} of {number} groups leaves none: {error}") from None
    return Split(np.sort(train), np.sort(valid), np.empty(0, dtype=int))


def check_weights(weights: Any, n: int) -> Array:
    """One finite weight of at least 0 for each row of a table, not all of them 0."""
    try:
        given = np.asarray(weights)
    except ValueError as error:
        raise InputError(f"sample_weight must have one number per row: {error}") from None
    if given.shape != (n,):
        raise InputError(f"sample_weight has shape {given.shape}, the table has {n} rows; give one per row")
    found = check_matrix("sample_weight", given[:, None])[:, 0]
    if (found < 0).any():
        raise InputError(f"sample_weight is {found.min():g} at row {found.argmin()}; a weight is at least 0")
    if not found.any():
        raise InputError("all weights in sample_weight are zero: no row is left to train on")
    return found


@dataclass(frozen=True)
class Scale:
    """Mean and standard deviation of each column; a constant column keeps the scale 1.

    >>> import numpy as np, fewsolves as fs
    >>> fs.Scale.of(np.array([[1.0, 10.0], [3.0, 30.0]]))
    Scale(mean=array([ 2., 20.]), std=array([ 1., 10.]))
    """

    mean: Array  #: (k,) of each column, or one number for all
    std: Array  #: likewise

    @classmethod
    def of(cls, values: Array) -> Scale:
        """Statistics over rows; over rows and items of (n, items, features); over everything of more dimensions.

        Args:
            values: (n, k), (n, items, k) or (n, ...).
        """
        axes = None if values.ndim > 3 else tuple(range(values.ndim - 1)) or 0
        mean, std = values.mean(axis=axes, dtype=float), values.std(axis=axes, dtype=float)
        constant = std <= 1e-12 * np.maximum(np.abs(mean), 1e-300)
        return cls(mean, np.where(constant, 1.0, std))

    @classmethod
    def shared(cls, Y: Array) -> Scale:
        """One mean and one standard deviation for all columns, as a predictor needs that all of them share.

        Args:
            Y: (n, n_y).
        """
        one = cls.of(Y.reshape(-1, 1))
        return cls(np.full(Y.shape[1], one.mean[0]), one.std[0])


def refuse_masked_and_times(name: str, values: Any) -> None:
    """Raise where a table has masked entries, or dates and durations, which numpy would take for numbers.

    Whole numbers beyond float64, which numpy fails on, are refused too.
    """
    if np.ma.isMaskedArray(values) and np.ma.getmaskarray(values).any():
        row = int(np.argwhere(np.ma.getmaskarray(values))[0, 0])
        raise InputError(f"{name} is a masked array, with masked entries in row {row}; fill them, or drop that row")
    columns = [np.asarray(values[c]) for c in values.columns] if hasattr(values, "columns") else []
    try:
        columns = columns or [np.asarray(values)]
    except (ValueError, TypeError):
        pass  # it is no table, as is said elsewhere
    except Exception as error:  # an object of the user may do anything when it is looked at
        raise InputError(f"{name} must be a table of numbers: {type(error).__name__}: {error}") from error
    for column in columns:
        _refuse_huge(name, column)
        odd = next((one for one in column.flat if isinstance(one, _TIMES)), None) if column.dtype.kind == "O" else None
        if odd is not None or column.dtype.kind in "mM":
            got = f"got {column.dtype}" if odd is None else f"got {odd!r:.80}"
            raise InputError(
                f"{name} must be a table of numbers: {got}; convert dates and durations to numbers, "
                "such as a count of days"
            )


def _refuse_huge(name: str, column: Array) -> None:
    for place, one in np.ndenumerate(column) if column.dtype.kind == "O" else ():
        if isinstance(one, int) and abs(one) > sys.float_info.max:
            digits = round(math.log10(abs(one)))
            raise InputError(f"{name} contains a number of about 1e{digits} at row {place[0]}; use larger units")


_TIMES = (date, time, timedelta, np.datetime64, np.timedelta64)


def check_matrix(name: str, values: Any) -> Array:
    """`values` as a float64 matrix with finite entries, or an error that names the first bad row and column.

    Numbers of any type are cast to float64; dates and complex numbers, which numpy would cast too, are refused.
    """
    refuse_masked_and_times(name, values)
    try:
        matrix = np.asarray(values)
        if matrix.dtype.kind == "c":
            raise TypeError(f"got {matrix.dtype}")
        if matrix.dtype.kind not in "biuf":
            matrix = np.asarray(values, dtype=float)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{name} must be a table of numbers: {error}{ENCODE if name == 'X' else ''}") from None
    if matrix.ndim != 2:
        raise InputError(
            f"{name} must have two dimensions (rows, columns), got shape {matrix.shape}; reshape your data"
        )
    if matrix.shape[0] == 0 or matrix.shape[1] == 0:
        raise InputError(
            f"{name} is empty: 0 sample(s) or 0 feature(s) (shape={matrix.shape}) while a minimum of 1 is required."
        )
    matrix = matrix.astype(float)
    usable = np.abs(matrix) <= MAX_ABS  # false for NaN
    if not usable.all():
        row, column = np.argwhere(~usable)[0]
        value = matrix[row, column]
        if np.isfinite(value):
            raise InputError(f"{name} contains {value:g} at row {row}, column {column}; use larger units")
        what = "NaN" if np.isnan(value) else "inf"
        raise InputError(f"{name} contains {what} at row {row}, column {column}; drop or fill that row")
    return matrix


def as_array(values: Any) -> Any:
    """A torch tensor as a NumPy array; anything else unchanged."""
    return values.detach().cpu().numpy() if hasattr(values, "detach") else values


def rank_of(values: Any) -> int:
    """The number of dimensions of an array or of nested lists; 2 of any other table."""
    if isinstance(values, list | tuple):
        try:
            return int(np.ndim(values))
        except ValueError:  # ragged, as is said elsewhere
            return 2
    return int(getattr(values, "ndim", 2))


def check_inputs(name: str, values: Any) -> Array:
    """A table, or an array of more dimensions with one entry per row, such as (n, items, features) or images.

    Tables are cast to float64; arrays of more dimensions keep float32. An error names the first bad row and item.
    """
    values = as_array(values)
    if rank_of(values) <= 2:
        return check_matrix(name, values)
    array = np.asarray(values)
    if array.dtype.kind not in "biuf":
        raise InputError(f"{name} must be an array of numbers, got {array.dtype} of shape {array.shape}")
    if array.size == 0:
        raise InputError(f"{name} is empty: it has shape {array.shape}")
    array = array if array.dtype == np.float32 else array.astype(float)
    usable = np.isfinite(array) if array.dtype == np.float32 else np.abs(array) <= MAX_ABS  # false for NaN
    if not usable.all():
        place = tuple(map(int, np.argwhere(~usable)[0]))
        axes = ("row", "item", "feature") if array.ndim == 3 else ("row", *(f"axis {k}" for k in range(1, array.ndim)))
        where = ", ".join(f"{axis} {at}" for axis, at in zip(axes, place, strict=True))
        raise InputError(f"{name} contains {array[place]:g} at {where}; drop or fill that row")
    return array


def check_whole(name: str, values: Array) -> Array:
    """Numbers as int64; an error names the first that is not whole."""
    whole = values.astype(np.int64)
    if not np.array_equal(whole, values):
        place = tuple(map(int, np.argwhere(whole != values)[0]))
        raise InputError(
            f"{name} has {values[place]:g} at row {place[0]}; the model was trained on whole numbers, such as indices"
        )
    return whole


ENCODE = (
    ". Encode texts and dates first, in a pipeline for instance; or give predictor= a forecaster of your own that does "
    "so: it gets X as it is (docs/predictors.md)"
)


def check_order(X: Any, Y: Any, name: str = "Y") -> None:
    """Refuse frames or series with the same labels in another order: rows are matched by position, not by label."""
    if not (hasattr(X, "iloc") and hasattr(Y, "iloc")):
        return
    of_x, of_y = list(X.index), list(Y.index)
    if of_x == of_y or set(of_x) != set(of_y):
        return
    row = next(k for k, (a, b) in enumerate(zip(of_x, of_y, strict=False)) if a != b)
    raise InputError(
        f"X and {name} have the same labels in another order: row {row} is {of_x[row]!r} in X and {of_y[row]!r} in "
        f"{name}. Rows are matched by position; give {name}.loc[X.index]"
    )


def check_orders(X: Any, **beside: Any) -> None:
    """Refuse what comes beside X, by its name, with the labels of X in another order."""
    for name, values in beside.items():
        check_order(X, values, name)


def check_table(X: Any, Y: Any) -> tuple[Array, Array]:
    """X and Y as matrices of one length that can be split."""
    check_order(X, Y)
    X, Y = check_inputs("X", X), check_matrix("Y", as_array(Y))
    if len(X) != len(Y):
        raise InputError(f"X has {len(X)} rows and Y has {len(Y)}; give one row of Y per row of X")
    if len(X) < MIN_ROWS:
        raise InputError(
            f"the table has n_samples={len(X)}; at least {MIN_ROWS} rows are needed to train and to validate"
        )
    for name, values in (("X", X), ("Y", Y)):
        _refuse_tiny(name, values)
    return X, Y


def _refuse_tiny(name: str, values: Array) -> None:
    largest = np.abs(values.reshape(-1, values.shape[-1])).max(axis=0)
    tiny = (largest > 0) & (largest < MIN_ABS)
    if tiny.any():
        column = int(tiny.argmax())
        raise InputError(f"{name} contains no number above {largest[column]:g} in column {column}; use smaller units")
