"""Decisions at predictions, after training: one solve for each row, and a policy for rows without a plan."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from contextlib import closing
from typing import Any, Literal

import numpy as np

from fewsolves.errors import InputError, SolverError
from fewsolves.execution.base import Failure
from fewsolves.execution.encoding import encode
from fewsolves.execution.serial import Serial
from fewsolves.oracle import Oracle, SolveConfig
from fewsolves.problem import Array, Problem

Decisions = Array | list[Any]  # one array where all decisions are arrays, else a list
AT_ONCE = -1.0  # seconds: each decision is seen before the next solve, which may change it
WithoutPlan = Literal["raise", "none"] | Callable[[SolverError], Any]


def decide_at(problem: Problem, y_hat: Array, solving: SolveConfig, on_failure: WithoutPlan) -> Decisions:
    """Decisions at predictions, as the solver made them.

    Args:
        problem: With the known data of these rows, if it has any.
        y_hat: (n, n_y) Predictions.
        solving: How solves run.
        on_failure: "raise"; "none": None for a row without a plan; or a function of the error that returns a decision.
    """
    if on_failure not in ("raise", "none") and not callable(on_failure):
        raise InputError(f"decide(on_failure=) is 'raise', 'none' or a function of the error, got {on_failure!r:.80}")
    if problem.encode is not None:
        found = _solved_here(problem, y_hat, stop=on_failure == "raise")
    else:
        policy: Literal["raise", "skip"] = "raise" if on_failure == "raise" else "skip"
        solving = dataclasses.replace(solving, on_failure=policy, penalty=None, asynchronous=False)
        with closing(Oracle(problem, y_hat, solving=solving)) as oracle:
            oracle.failures.stops = on_failure == "raise"
            found = oracle.solve(np.arange(len(y_hat)), y_hat, phase="test")
    for row, z in enumerate(found):
        if isinstance(z, Failure):
            found[row] = _substitute(_error(problem, y_hat, row, z), on_failure)
    return _stacked(found)


def _substitute(error: SolverError, on_failure: WithoutPlan) -> Any:
    if callable(on_failure):
        return on_failure(error)
    if on_failure == "none":
        return None
    raise error


def _error(problem: Problem, y_hat: Array, row: int, failure: Failure) -> SolverError:
    known = () if problem.instances is None else (problem.instance(row),)
    error = SolverError(failure.message, row=row, kind="solve", arguments=(y_hat[row], *known))
    error.__cause__ = failure.cause
    return error


def _solved_here(problem: Problem, y_hat: Array, *, stop: bool) -> list[Any]:
    """Decisions that only this process can hold; `stop`: no solve follows a failure.

    A solver may change an object after it has returned it, for the next row say: then the earlier decision is lost.
    """
    problem.check_instances(len(y_hat), of="the table")
    serial = Serial(problem, hand_on=AT_ONCE, originals=True)
    found: list[Any] = [None] * len(y_hat)
    points = problem.within_bounds(y_hat)
    left, seen = np.arange(len(y_hat)), dict[int, bytes]()
    while len(left):
        again: list[int] = []
        for answers in serial.solve(left, points[left]):
            for row, value in zip(left[answers.at].tolist(), answers.values, strict=True):
                found[row] = value.copy() if isinstance(value, np.ndarray) else value
                seen[row] = _text(problem, value)
                if isinstance(value, Failure) and value.status == "batch":
                    again.append(row)  # then it is solved by itself
                elif isinstance(value, Failure) and stop:
                    return found
        left = np.array(again, dtype=int)
    for row, text in seen.items():
        if not isinstance(found[row], np.ndarray) and _text(problem, found[row]) != text:
            said = f"`solve` changed the decision of row {row} after it had returned it; return a new object each time"
            found[row] = Failure("bad-return", said)
    return found


def _text(problem: Problem, value: Any) -> bytes:
    """What `encode` makes of a decision; nothing where it fails, or for a failure."""
    assert problem.encode is not None
    try:
        return b"" if isinstance(value, Failure) else encode(problem.encode(value))
    except Exception:
        return b""


def _stacked(decisions: Sequence[Any]) -> Decisions:
    if not all(isinstance(z, np.ndarray) for z in decisions):
        return list(decisions)
    if len({z.shape for z in decisions}) == 1:
        return np.stack(decisions)
    ragged = np.empty(len(decisions), dtype=object)
    ragged[:] = decisions
    return ragged
