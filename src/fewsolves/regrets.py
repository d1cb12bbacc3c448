"""The regret of predictions row by row, after training: what `regrets`, `score` and `compare` are made of.

r_i = g(y_i, z*(y_hat_i)) - g(y_i, z*(y_i))       NaN where the row has no label, or no plan at its prediction
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from fewsolves._internal.html import html_table
from fewsolves._internal.text import number
from fewsolves.data import check_matrix
from fewsolves.errors import InputError
from fewsolves.execution.base import Failure
from fewsolves.oracle import Oracle, SolveConfig
from fewsolves.problem import Array, Problem

LISTED_ROWS = 20  # row numbers in a message
FAILED = "a call failed"


@dataclass(frozen=True, eq=False, repr=False)
class Regrets:
    """The regret of each row; NumPy takes it as an array: `np.nanmean(regrets)`."""

    values: Array  #: (n,) NaN for a row without a regret
    reasons: Mapping[int, str]  #: why a row has none, by its number
    unlabelled: Array  #: numbers of the rows whose truth has no decision, or no cost of it
    relative: bool = False  #: divided by the cost of the best decision of the row

    def __len__(self) -> int:
        return len(self.values)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.array(self.values, dtype=dtype)

    @property
    def known(self) -> Array:
        """(n,) bool: whether a row has a regret."""
        return ~np.isnan(self.values)

    @property
    def mean(self) -> float:
        """Over the rows that have a regret."""
        return float(self.values[self.known].mean()) if self.known.any() else float("nan")

    @property
    def without_plan(self) -> Array:
        """Numbers of the rows that have a label, and no decision at their prediction, or no cost of it."""
        return np.setdiff1d(np.flatnonzero(~self.known), self.unlabelled)

    @property
    def missing(self) -> str | None:
        """How many rows have no regret and why, in a sentence; None where all have one."""
        rows = np.flatnonzero(~self.known)
        if not len(rows):
            return None
        no_plan = len(self.without_plan)
        parts = [f"{len(self.unlabelled)} have no label"] if len(self.unlabelled) else []
        parts += [f"{no_plan} have no plan at their prediction"] if no_plan else []
        return (
            f"of {len(self)} rows {' and '.join(parts)}, and are left out: {listed(rows)}; row {rows[0]}: "
            f"{self.reasons.get(int(rows[0]), FAILED)}"
        )

    def to_frame(self) -> Any:
        """A data frame with the regret and the reason of each row; it needs pandas."""
        import pandas as pd

        return pd.DataFrame({"regret": self.values, "reason": [self.reasons.get(row) for row in range(len(self))]})

    def __repr__(self) -> str:
        missing = "" if self.missing is None else f"; {self.missing}"
        return f"Regrets({len(self)} rows, mean {'relative regret ' * self.relative}{number(self.mean)}{missing})"

    def _repr_html_(self) -> str:
        """In a notebook: the mean and the quartiles."""
        known = self.values[self.known]
        quartiles = np.quantile(known, [0.0, 0.25, 0.5, 0.75, 1.0]) if len(known) else np.full(5, np.nan)
        heads = ("rows", "mean", "least", "first quartile", "median", "third quartile", "largest")
        cells = [f"{len(known):,}", *map(number, [self.mean, *quartiles.tolist()])]
        below = [] if self.missing is None else [self.missing]
        return html_table(
            heads, [cells], above=f"{'Relative regret' if self.relative else 'Regret'} by row", below=below
        )


def listed(rows: Array) -> str:
    """Row numbers for a message."""
    return ", ".join(map(str, rows[:LISTED_ROWS].tolist())) + (", ..." if len(rows) > LISTED_ROWS else "")


def checked_truth(y: Any, n: int, n_y: int | None = None) -> Array:
    """True parameters (n, n_y), also from (n,); raises where they are not as many as the predictions."""
    Y = check_matrix("y", np.reshape(y, (-1, 1)) if np.ndim(y) == 1 else y)
    if len(Y) != n:
        raise InputError(f"X has {n} rows and y has {len(Y)}; give one row of y per row of X")
    if n_y not in (None, Y.shape[1]):
        raise InputError(f"y has shape {Y.shape}, and the model predicts {n_y} parameters; give those of the training")
    return Y


def oracle_by_row(problem: Problem, Y: Array, solving: SolveConfig) -> Oracle:
    """An oracle for which a failed call costs its own row alone, whatever the policy and however many fail."""
    if solving.on_failure == "raise":
        solving = dataclasses.replace(solving, on_failure="skip")
    oracle = Oracle(problem, Y, solving=dataclasses.replace(solving, asynchronous=False))
    oracle.failures.stops = False
    return oracle


def regrets_at(oracle: Oracle, y_hat: Array) -> Regrets:
    """Pay for the regrets of predictions (n, n_y); nothing is solved at the prediction of a row without a label.

    Args:
        oracle: Of these rows. Labels that it has paid are not paid again.
        y_hat: (n, n_y) Predictions.
    """
    index, failed, truth = np.arange(len(y_hat)), oracle.failures.failed, oracle.Y
    labelled = ~np.isnan(oracle.optimum(index, phase="test"))
    values, reasons = np.full(len(y_hat), np.nan), {one.row: one.message for one in failed if not labelled[one.row]}
    for row in np.flatnonzero(~labelled).tolist():  # equal rows share a solve, which failed once
        reasons.setdefault(row, next((reasons[k] for k in reasons if (truth[k] == truth[row]).all()), FAILED))
    if (some := index[labelled]).size:
        before = len(failed)
        values[some], decisions = oracle.evaluate(some, y_hat[some], phase="test")
        found = dict(zip(some.tolist(), decisions, strict=True))
        found |= {one.row: Failure("error", one.message) for one in failed[before:]}
        reasons |= {k: z.message for k, z in found.items() if isinstance(z, Failure) and np.isnan(values[k])}
    return Regrets(values, reasons, np.flatnonzero(~labelled), oracle.relative)
