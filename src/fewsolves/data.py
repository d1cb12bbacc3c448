"""The user's table: checked, split by row, and scaled.

X (n, n_x)  context        Y (n, n_y)  true parameters        one row is one example
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fewsolves.errors import InputError
from fewsolves.problem import Array

MIN_ROWS = 5  # fewer cannot be split into a part to train and a part to validate on
LARGEST = 1e100  # of a number in a table: its square, and sums of them, are still float64


@dataclass(frozen=True)
class Split:
    """Rows of the table by their use."""

    train: Array
    valid: Array
    test: Array

    def __post_init__(self) -> None:
        for name in ("train", "valid"):
            if len(getattr(self, name)) == 0:
                raise InputError(f"the split has no row to {name} on; give it at least one")


def split_rows(n: int, *, rng: np.random.Generator, valid: float = 0.1, test: float = 0.1) -> Split:
    """A random split; at least one row is validated on."""
    n_test, n_valid = round(test * n), max(1, round(valid * n))
    order = rng.permutation(n)
    n_train = n - n_valid - n_test
    return Split(*(np.sort(part) for part in np.split(order, [n_train, n_train + n_valid])))


@dataclass(frozen=True)
class Scale:
    """Mean and standard deviation of each column; a constant column keeps the scale 1."""

    mean: Array
    std: Array

    @classmethod
    def of(cls, values: Array) -> Scale:
        """Statistics of the rows of `values`."""
        mean, std = values.mean(axis=0), values.std(axis=0)
        constant = std <= 1e-12 * np.maximum(np.abs(mean), 1e-300)
        return cls(mean, np.where(constant, 1.0, std))


def check_matrix(name: str, values: Any) -> Array:
    """`values` as a float64 matrix with finite entries, or an error that names the first bad row and column.

    Numbers of any type are cast to float64; dates and complex numbers, which numpy would cast too, are refused.
    """
    try:
        matrix = np.asarray(values)
        if matrix.dtype.kind in "cmM":
            raise TypeError(f"got {matrix.dtype}")
        if matrix.dtype.kind not in "biuf":
            matrix = np.asarray(values, dtype=float)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{name} must be a table of numbers: {error}") from None
    if matrix.ndim != 2:
        raise InputError(
            f"{name} must have two dimensions (rows, columns), got shape {matrix.shape}; reshape your data"
        )
    if matrix.shape[0] == 0 or matrix.shape[1] == 0:
        raise InputError(
            f"{name} is empty: 0 sample(s) or 0 feature(s) (shape={matrix.shape}) while a minimum of 1 is required."
        )
    matrix = matrix.astype(float)
    usable = np.abs(matrix) <= LARGEST  # false for NaN
    if not usable.all():
        row, column = np.argwhere(~usable)[0]
        value = matrix[row, column]
        if np.isfinite(value):
            raise InputError(f"{name} contains {value:g} at row {row}, column {column}; count it in larger units")
        what = "NaN" if np.isnan(value) else "inf"
        raise InputError(f"{name} contains {what} at row {row}, column {column}; drop or fill that row")
    return matrix


def check_order(X: Any, Y: Any) -> None:
    """Refuse data frames with the same labels in another order: rows are matched by position, not by label."""
    if not (hasattr(X, "iloc") and hasattr(Y, "iloc")):
        return
    of_x, of_y = list(X.index), list(Y.index)
    if of_x == of_y or set(of_x) != set(of_y):
        return
    row = next(k for k, (a, b) in enumerate(zip(of_x, of_y, strict=False)) if a != b)
    raise InputError(
        f"X and Y have the same labels in another order: row {row} is {of_x[row]!r} in X and {of_y[row]!r} in Y. "
        f"Rows are matched by position; give Y.loc[X.index]"
    )


def check_table(X: Any, Y: Any) -> tuple[Array, Array]:
    """X and Y as matrices of one length that can be split."""
    check_order(X, Y)
    X, Y = check_matrix("X", X), check_matrix("Y", Y)
    if len(X) != len(Y):
        raise InputError(f"X has {len(X)} rows and Y has {len(Y)}; give one row of Y per row of X")
    if len(X) < MIN_ROWS:
        raise InputError(
            f"the table has n_samples={len(X)}; at least {MIN_ROWS} rows are needed to train and to validate"
        )
    return X, Y
