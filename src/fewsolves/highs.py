"""A HiGHS model that stays in memory as a problem: each solve changes predicted coefficients in place.

y  (n_y,)  predicted: objective coefficients, then matrix coefficients, then right-hand sides, those that are named
z  (n_z,)  the columns that are the decision; whole numbers are rounded to the nearest

Solves are independent of each other: what the solver remembers of the last one is cleared, and a known decision at near
parameters is given as its start (`hint`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from fewsolves.errors import Infeasible, InputError
from fewsolves.problem import Array, Problem

OPTIONS = {"output_flag": False, "threads": 1, "mip_rel_gap": 0.0}  # of a model that is read from a file


def problem_from_highs(
    model: str | Path | Callable[[], Any],
    cost: Callable[..., float],
    *,
    objective: Sequence[int] = (),
    coefficients: Sequence[tuple[int, int]] = (),
    right_hand_sides: Sequence[int] = (),
    decision: Sequence[int] | None = None,
    **options: Any,
) -> Problem:
    """The problem that a HiGHS model solves; it is built once in each process, and changed in place by each solve.

    >>> import highspy, numpy as np, fewsolves as fs
    >>> def build():
    ...     model = highspy.Highs()
    ...     model.setOptionValue("output_flag", False)
    ...     take = [model.addBinary(obj=-earns) for earns in (6.0, 5.0, 4.0)]
    ...     model.addConstr(sum(take) <= 4.0)  # the predicted hours of the jobs taken
    ...     return model
    >>> def cost(y, z):
    ...     return 9.0 * max(y @ z - 4.0, 0.0) - z @ [6.0, 5.0, 4.0]
    >>> problem = fs.problem_from_highs(build, cost, coefficients=[(0, 0), (0, 1), (0, 2)])
    >>> fs.Oracle(problem, np.array([[3.0, 2.0, 2.0]])).labels(np.array([0]))
    [array([0., 1., 1.])]

    Args:
        model: The path of a model file (MPS or LP), or a function that builds a `highspy.Highs`.
        cost: ``cost(y, z)`` is what a decision truly costs, minimised.
        objective: Columns whose coefficients of the objective are predicted.
        coefficients: Pairs of a row and a column whose coefficients of the matrix are predicted.
        right_hand_sides: Rows whose right-hand sides are predicted; each is an equation, or has one bound.
        decision: Columns that are the decision. None: all of them.
        options: Of the `Problem`: ``lower=``, ``name=``, ...
    """
    if not (callable(model) or isinstance(model, str | Path)):
        raise InputError(f"expected the path of a model file, or a function, got {type(model).__name__}")
    if isinstance(model, str | Path) and not Path(model).is_file():
        raise InputError(f"there is no model file {str(model)!r}")
    if not (len(objective) or len(coefficients) or len(right_hand_sides)):
        raise InputError("say what is predicted: objective=, coefficients= or right_hand_sides=")
    build = partial(_read, Path(model).absolute()) if isinstance(model, str | Path) else model
    places = Places(tuple(objective), tuple(coefficients), tuple(right_hand_sides))
    made = partial(_functions, build, places, None if decision is None else tuple(decision), cost)
    return Problem(factory=made, **{"name": "HiGHS model"} | options)


@dataclass(frozen=True)
class Places:
    """Where the entries of y belong in a model."""

    objective: tuple[int, ...]
    coefficients: tuple[tuple[int, int], ...]
    right_hand_sides: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.objective) + len(self.coefficients) + len(self.right_hand_sides)

    def check(self, model: Any) -> None:
        """Raise where a model has no such row or column, or a right-hand side that is not one number."""
        columns, rows = model.getNumCol(), model.getNumRow()
        wrong = [("column", k) for k in (*self.objective, *(c for _, c in self.coefficients)) if not 0 <= k < columns]
        wrong += [("row", k) for k in (*(r for r, _ in self.coefficients), *self.right_hand_sides) if not 0 <= k < rows]
        if wrong:
            raise InputError(
                f"the HiGHS model has no {wrong[0][0]} {wrong[0][1]}: it has {columns} columns, {rows} rows"
            )
        low, high = np.array(model.getLp().row_lower_), np.array(model.getLp().row_upper_)
        for row in self.right_hand_sides:
            if np.isfinite(low[row]) and np.isfinite(high[row]) and low[row] != high[row]:
                raise InputError(f"row {row} of the HiGHS model has two right-hand sides; make it two rows")

    def write(self, model: Any, y: Array) -> None:
        """Put y into a model."""
        values = iter(y.tolist())
        for column in self.objective:
            model.changeColCost(column, next(values))
        for row, column in self.coefficients:
            model.changeCoeff(row, column, next(values))
        for row in self.right_hand_sides:
            value, (_, low, high, *_) = next(values), model.getRow(row)[:4]
            model.changeRowBounds(row, value if np.isfinite(low) else low, value if np.isfinite(high) else high)


def _functions(
    build: Callable[[], Any], places: Places, decision: tuple[int, ...] | None, cost: Callable[..., float]
) -> tuple[Callable[..., Array], Callable[..., float]]:
    """For the factory: (solve, cost), with a model of their own."""
    highspy, model = _highspy(), build()
    if not isinstance(model, highspy.Highs):
        raise InputError(f"the function must return a highspy.Highs, got {type(model).__name__}")
    places.check(model)
    columns = np.arange(model.getNumCol()) if decision is None else np.array(decision)
    kinds = np.array([str(kind) for kind in model.getLp().integrality_] or ["kContinuous"] * model.getNumCol())
    whole = np.array(["kInteger" in kind for kind in kinds])[columns]

    def solve(y_hat: Array, hint: Array | None = None) -> Array:
        if len(y_hat) != len(places):
            raise InputError(f"{len(places)} coefficients of the HiGHS model are predicted, y has {len(y_hat)}")
        places.write(model, y_hat)
        model.clearSolver()
        if hint is not None:
            model.setSolution(len(columns), columns.astype(np.int32), hint)
        model.run()
        status = model.getModelStatus()
        if status != highspy.HighsModelStatus.kOptimal:
            raise Infeasible(f"HiGHS ended with {model.modelStatusToString(status)!r}")
        z = np.array(model.getSolution().col_value)[columns]
        return np.where(whole, np.round(z), z)

    return solve, cost


def _read(path: Path) -> Any:
    """A model from a file."""
    highspy = _highspy()
    model = highspy.Highs()
    for name, value in OPTIONS.items():
        model.setOptionValue(name, value)
    if model.readModel(str(path)) != highspy.HighsStatus.kOk:
        raise InputError(f"HiGHS cannot read {str(path)!r}")
    return model


def _highspy() -> Any:
    try:
        import highspy
    except ImportError:
        raise InputError("problem_from_highs needs HiGHS: pip install highspy") from None
    return highspy
