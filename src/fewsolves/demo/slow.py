"""A problem whose solver takes as long as a real one: for studies of run time, where microseconds hide everything."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from fewsolves.errors import InputError
from fewsolves.problem import Problem

LONGEST = 1e6  # seconds of a solve


@dataclass(frozen=True)
class SlowSolver:
    """Calls `solve` and sleeps until `seconds` per solve have passed."""

    solve: Callable[..., Any]
    seconds: float
    batched: bool = False  # the first argument holds one row per solve

    def __call__(self, y_hat: Any, *known: Any) -> Any:
        start = time.perf_counter()
        z = self.solve(y_hat, *known)
        due = start + self.seconds * (len(y_hat) if self.batched else 1)
        while (left := due - time.perf_counter()) > 0.0:
            time.sleep(left)
        return z


def slow(problem: Problem, seconds: float) -> Problem:
    """The same problem, every single solve of which takes at least `seconds`; a batch of B takes B times that."""
    if not 0.0 <= seconds <= LONGEST:
        raise InputError(f"seconds must be >= 0 and at most {LONGEST:g}, got {seconds}")
    if problem.factory is not None:
        return dataclasses.replace(problem, factory=lambda: slow(problem.build(), seconds))
    solve, solve_batch = problem.solve, problem.solve_batch
    return dataclasses.replace(
        problem,
        solve=None if solve is None else SlowSolver(solve, seconds),
        solve_batch=None if solve_batch is None else SlowSolver(solve_batch, seconds, batched=True),
    )
