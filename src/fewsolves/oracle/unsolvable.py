"""Rows whose best decision z*(y_i), or its cost, cannot be found have no regret: they are left out of a run."""

from __future__ import annotations

import dataclasses

import numpy as np

from fewsolves.data import Split
from fewsolves.errors import SolverError
from fewsolves.oracle.answers import Failure
from fewsolves.oracle.oracle import Oracle
from fewsolves.problem import Array

MOST = 0.05  # share of the rows from which on something is wrong with the problem, not with some rows


def leave_out(oracle: Oracle, split: Split, *, train: bool, costs: bool) -> tuple[Split, list[str]]:
    """The split without such rows, and a warning that lists them; pays for the labels.

    Where failures raise, nothing is done: they will. `train`: the labels of the training rows are needed, too, and
    with `costs` their costs.
    """
    if oracle.failures.policy == "raise":
        return split, []
    kept = {"valid": _solvable(oracle, split.valid, costs=True)}
    if train:
        kept["train"] = _solvable(oracle, split.train, costs=costs)
    left = dataclasses.replace(split, **kept)
    examples = np.concatenate([split.train, split.valid])
    lost = np.setdiff1d(examples, np.concatenate([left.train, left.valid]))
    if len(lost) == 0:
        return split, []
    first = next(one for one in oracle.failures.failed if one.row in lost)
    rows = ", ".join(map(str, lost[:20])) + (", ..." if len(lost) > 20 else "")
    said = f"the best decision could not be found for {len(lost)} of {len(examples)} rows ({rows}): {first.message}"
    if len(lost) >= MOST * len(examples):
        raise SolverError(f"{said}. From {MOST:.0%} on a run stops; mend the problem or drop these rows", row=first.row)
    return left, [f"{said}. They are left out"]


def _solvable(oracle: Oracle, rows: Array, *, costs: bool) -> Array:
    part, index = oracle.part(rows), np.arange(len(rows))
    if costs:
        return rows[~np.isnan(part.optimum(index))]
    return rows[[not isinstance(z, Failure) for z in part.labels(index)]]
