"""Folds: which rows each model is trained on, and which rows it is judged on.

folds        each row is judged by a model that never saw it; groups stay together
time order   the last rows are judged, in blocks; the start is fitted on the rows before them, and corrections learn
             from the other blocks, so that they see errors as large as those of new rows; later rows count more
holdout      the validation rows that the user chose, or a share of a large table
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fewsolves.methods.base import Context
from fewsolves.methods.staged.tuning import Tuning
from fewsolves.problem import Array


@dataclass(frozen=True)
class Folds:
    """Rows by their position among those that are used."""

    judged: tuple[Array, ...]  #: rows that model k never sees
    bags: tuple[Array, ...]  #: rows that model k is trained on
    corrections: tuple[Array, ...]  #: rows that its correction is learned from: none that its start was fitted on
    refits: bool  #: whether the start is fitted once for each bag, and once on all rows; else it is the one there is
    holdout: bool  #: one model, which is the result

    @property
    def in_time(self) -> bool:
        """Whether corrections learn from later rows than the start was fitted on."""
        return not self.holdout and len(np.unique(self.corrections[0])) < len(self.bags[0])

    @property
    def rows(self) -> Array:
        """All rows that are judged."""
        return np.sort(np.concatenate(self.judged))

    def unseen(self, predictions: Array) -> Array:
        """(n, d): of predictions (K, n, d), those by the model that never saw the row; the last one's of other rows."""
        u = self.unseen_judged(predictions)
        return np.asarray(np.where(np.isnan(u), predictions[-1], u))

    def unseen_judged(self, predictions: Array) -> Array:
        """(n, d): of predictions (K, n, d), those by the model that never saw the row; NaN of rows that all saw."""
        u = np.full(predictions.shape[1:], np.nan)
        for k, judged in enumerate(self.judged):
            u[judged] = predictions[k, judged]
        return u


def build_folds(context: Context, rows: Array, rng: np.random.Generator, tuning: Tuning) -> Folds:
    """The folds of these rows of the table."""
    n, valid = len(rows), np.flatnonzero(np.isin(rows, context.split.valid))
    everyone, train = np.arange(n), np.setdiff1d(np.arange(n), valid)
    if context.time_ordered and context.groups is None and len(valid) >= 2 * tuning.folds:
        judged = tuple(np.array_split(valid, tuning.folds))
        bags = tuple(np.setdiff1d(everyone, block) for block in judged)
        recent = np.repeat(valid, 1 + np.arange(len(valid)) * tuning.recency // len(valid))
        corrections = tuple(recent[~np.isin(recent, block)] for block in judged)
        return Folds(judged, bags, corrections, refits=False, holdout=False)
    if context.validation_given or n > tuning.holdout_rows:
        return Folds((valid,), (train,), (train,), refits=False, holdout=True)
    labels = np.arange(n) if context.groups is None else np.unique(context.groups[rows], return_inverse=True)[1]
    of_label = rng.permutation(labels.max() + 1) % min(tuning.folds, labels.max() + 1)
    fold = of_label[labels]
    judged = tuple(np.flatnonzero(fold == k) for k in range(fold.max() + 1))
    bags = tuple(np.setdiff1d(everyone, block) for block in judged)
    return Folds(judged, bags, bags, refits=not context.continues, holdout=False)
