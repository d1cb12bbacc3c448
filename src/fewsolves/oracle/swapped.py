"""Hints where the first solves of a table have failed: X and Y are easily swapped, and instances forgotten."""

from __future__ import annotations

import dataclasses
from contextlib import closing

import numpy as np

from fewsolves.errors import FewsolvesError, SolverError
from fewsolves.oracle.config import SolveConfig
from fewsolves.oracle.view import Oracle
from fewsolves.problem import Array, Problem

KNOWN_DATA = "With instances, `solve(y_hat, instance)` and `cost(y, z, instance)` get the known data of the row"
NO_KNOWN_DATA = "If it needs known data of the row, give instances=, one entry per row"


def swap_hint(problem: Problem, X: Array, Y: Array, solving: SolveConfig | None = None) -> str:
    """Whether X and Y are swapped, by one more solve, at a row of X; empty where both have as many columns."""
    n_x, n_y, shapes = X.shape[-1], Y.shape[1], f"X is {X.shape}, Y is {Y.shape}"
    if n_x == n_y:
        return ""
    if _answers(problem, X[:1], solving or SolveConfig()):
        return f"X and Y are swapped: `solve` fails at a row of Y, and answers the first row of X ({shapes})"
    columns = "one number, since Y has one column" if n_y == 1 else f"{n_y} numbers, one for each column of Y"
    return f"`solve` got {columns}; X has {n_x} ({shapes}). If it expects {n_x}, X and Y are swapped"


def with_swap_hint(
    error: SolverError, problem: Problem, X: Array, Y: Array, solving: SolveConfig | None = None
) -> SolverError:
    """The error of the first solves, with a hint about known data by row, or about X and Y."""
    if "positional argument" in str(error):
        hint = KNOWN_DATA if problem.instances is not None else NO_KNOWN_DATA
    elif "returned None" in str(error):
        hint = ""
    else:
        hint = swap_hint(problem, X, Y, solving)
    if not hint:
        return error
    return SolverError(f"{error}. {hint}", row=error.row, kind=error.kind, arguments=error.arguments)


def _answers(problem: Problem, first: Array, solving: SolveConfig) -> bool:
    """Whether `solve` answers a row of X, as it should not."""
    if first.ndim != 2 or not np.issubdtype(first.dtype, np.number) or not np.isfinite(first).all():
        return False
    if problem.instances is not None:
        problem = problem.with_instances(problem.instances[:1])
    try:
        with closing(Oracle(problem, first, solving=dataclasses.replace(solving, on_failure="raise"))) as oracle:
            oracle.labels(np.zeros(1, dtype=int))
    except (FewsolvesError, ValueError, TypeError):
        return False
    return True
