"""Checks before a run: a few calls show whether the problem is usable and as declared.

Rows whose best decision z*(y_i), or its cost, cannot be found have no regret: they are left out of a run.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from fewsolves.data import Split
from fewsolves.errors import InputError, SolverError
from fewsolves.execution.base import Failure
from fewsolves.oracle.view import Oracle
from fewsolves.problem import Array

REPEAT_TOLERANCE = 1e-6  # relative difference in cost of two solves at one point


def probe(oracle: Oracle) -> None:
    """Solve at the truth of the first and the last row, and once more at the first.

    The two solves at the truth are labels that training needs anyway. Raises with the row and what to do when a
    decision or cost is unusable, when the regret at the truth is not zero, or when a `linear` problem is not linear.
    """
    index = np.unique([0, len(oracle) - 1])
    optimum = oracle.optimum(index)
    _check_repeatable(oracle, float(optimum[0]))
    known = ~np.isnan(optimum)  # the others failed, under a policy that continues
    index, optimum = index[known], optimum[known]
    if oracle.problem.linear and len(index):
        _check_linear(oracle, index, optimum)


def _check_repeatable(oracle: Oracle, optimum: float) -> None:
    if not oracle.problem.deterministic or np.isnan(optimum):
        return
    first = np.zeros(1, dtype=int)
    decisions = oracle.solve(first, oracle.Y[:1], phase="probe", recompute=True)
    again = float(oracle.cost(first, decisions, phase="probe", recompute=True)[0])
    if np.isnan(again) or same_cost(again, optimum):
        return  # equal, or failed under a policy that continues
    third = float(oracle.cost(first, decisions, phase="probe", recompute=True)[0])  # of the same decision
    row, noisy = int(oracle.rows[0]), "solve" if same_cost(third, again) else "cost"
    raise SolverError(
        f"the regret at the truth is {again - optimum:g}, not 0: two solves at the true y of row {row} cost "
        f"{optimum:g} and {again:g}. `{noisy}` returned different results for the same input: fix its "
        f"seed (for a solver also the gap), or declare Problem(noisy={noisy!r}) to train with the noise",
        row=row,
    )


def same_cost(cost: float, other: float) -> bool:
    """Whether two costs of one question are equal, as far as a solver can be."""
    return abs(cost - other) <= REPEAT_TOLERANCE * max(1.0, abs(other))


def _check_linear(oracle: Oracle, index: np.ndarray, optimum: np.ndarray) -> None:
    labels = oracle.labels(index)
    if other := [z for z in labels if getattr(z, "shape", None) != (oracle.n_y,)]:
        got = f"shape {other[0].shape}" if hasattr(other[0], "shape") else f"a {type(other[0]).__name__}"
        raise InputError(f"Problem(linear=) needs decisions of length n_y = {oracle.n_y}, got {got}")
    claimed = oracle.problem.linear_cost(oracle.Y[index], np.stack(labels))
    if not np.allclose(claimed, optimum, rtol=1e-6, atol=1e-9):
        sign, row = "" if oracle.problem.linear == "min" else "-", oracle.rows[index][0]
        raise InputError(
            f"Problem(linear={oracle.problem.linear!r}) says that cost is {sign}y @ z, but at row {row} "
            f"cost is {optimum[0]:g} and y @ z gives {claimed[0]:g}; leave `linear` out"
        )


LOST_SHARE_TO_STOP = 0.05  # share of lost rows at which the problem is at fault, not single rows


def leave_out(oracle: Oracle, split: Split, *, train: bool, costs: bool) -> tuple[Split, list[str]]:
    """The split without rows that have no label, and a warning that lists them; pays for the labels.

    If the policy is to raise, this does nothing. `train`: the labels of the training rows are needed, too, and
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
    if len(lost) >= LOST_SHARE_TO_STOP * len(examples):
        raise SolverError(
            f"{said}. on_failure={oracle.failures.policy!r} leaves out single rows; a run stops where "
            f"{LOST_SHARE_TO_STOP:.0%} or more have no label. Fix the problem, or drop these rows from the table",
            row=first.row,
        )
    return left, [f"{said}. {'This row is' if len(lost) == 1 else 'These rows are'} left out"]


def _solvable(oracle: Oracle, rows: Array, *, costs: bool) -> Array:
    part, index = oracle.part(rows), np.arange(len(rows))
    if costs:
        return rows[~np.isnan(part.optimum(index))]
    return rows[[not isinstance(z, Failure) for z in part.labels(index)]]
