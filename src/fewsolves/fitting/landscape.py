"""Regret along a line of predictions, by the solver and by a surrogate.

The line goes from the truth of a row (0) through its prediction (1), and half as far beyond both.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fewsolves.errors import InputError
from fewsolves.oracle import Oracle, SolveConfig
from fewsolves.predictors.predictor import Predictor
from fewsolves.problem import Array, Problem

if TYPE_CHECKING:
    from fewsolves.methods.gp_surrogate.surrogate.export import ExportedSurrogate  # brings a compiler

ENDS = (-0.5, 1.5)
POINTS = 201  # of the surrogate, which costs nothing


@dataclass(frozen=True)
class TrainingRows:
    """The training rows of a model."""

    problem: Problem
    X: Array  # (M, n_x)
    Y: Array  # (M, n_y)
    rows: Array  # (M,) in the table that was fitted

    def position(self, row: int | None) -> int:
        """The position of a row of the table among the training rows; None: the first."""
        found = np.flatnonzero(self.rows == (self.rows[0] if row is None else row))
        if not len(found):
            raise InputError(f"row {row} was not trained on: it is a validation row, or no row of the table")
        return int(found[0])

    def oracle(self, at: int, solving: SolveConfig) -> Oracle:
        """An oracle of the one row at this position."""
        given = self.problem.instances
        instances = None if given is None else [given[int(self.rows[at])]]
        return Oracle(self.problem.with_instances(instances), self.Y[at : at + 1], solving=solving)


def regret_along(
    training: TrainingRows,
    at: int,
    predictor: Predictor,
    surrogate: ExportedSurrogate | None,
    *,
    solves: int,
    solving: SolveConfig,
) -> dict[str, Any]:
    """For `reporting.figures.landscape`, of the row at this position; it pays for `solves` solves."""
    truth, line = training.Y[at], dict[str, Any]()
    step = predictor(training.X[at : at + 1])[0] - truth
    if solves:
        position = np.linspace(*ENDS, solves)
        y_hat = truth + position[:, None] * step
        with closing(training.oracle(at, solving)) as oracle:
            line["regret"] = position, oracle.regret(np.zeros(solves, dtype=int), y_hat, phase="test")
    if surrogate is not None:
        position = np.linspace(*ENDS, POINTS)
        mean, std = surrogate.beliefs(truth + position[:, None] * step, np.full(POINTS, at))
        line["belief"] = position, mean, std
        line["paid"] = _on_the_line(surrogate, at, truth, step)
    return line


def _on_the_line(surrogate: ExportedSurrogate, example: int, truth: Array, step: Array) -> tuple[Array, Array]:
    """The training points of the surrogate, projected on the line, and their regrets."""
    points, regret = surrogate.learned_from(example)
    scale = surrogate.scale
    along = step / scale
    at = ((points - truth) / scale) @ along / max(float(along @ along), 1e-300)
    seen = (at >= ENDS[0]) & (at <= ENDS[1])
    return at[seen], regret[seen]
