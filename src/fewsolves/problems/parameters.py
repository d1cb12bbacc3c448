"""What a problem accepts as y or y_hat: finite float64 rows of the right length."""

from __future__ import annotations

import numpy as np

from fewsolves.errors import InputError
from fewsolves.problem import Array


def parameter_rows(y: Array, n_y: int) -> Array:
    """`y` as (B, n_y) float64; one vector becomes one row. NaN and infinity are refused."""
    rows = np.atleast_2d(np.asarray(y, dtype=np.float64))
    if rows.ndim != 2 or rows.shape[1] != n_y:
        raise InputError(f"expected {n_y} parameters per row, got an array of shape {np.shape(y)}")
    if not np.isfinite(rows).all():
        row, column = np.argwhere(~np.isfinite(rows))[0]
        raise InputError(f"parameters must be finite, got {rows[row, column]} at row {row}, column {column}")
    return rows
