"""How the user's functions are run: settings of the oracle."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Literal, get_args

from fewsolves.errors import InputError
from fewsolves.execution.base import Execution
from fewsolves.execution.processes import Processes
from fewsolves.execution.serial import Serial
from fewsolves.problem import Problem

OnFailure = Literal["raise", "penalise", "skip"]


@dataclass(frozen=True, kw_only=True)
class SolveConfig:
    """Where and on what terms solves run."""

    workers: int = 1  # processes that solve side by side; 1 without limits: in this process
    time_limit: float | None = None  # seconds per solve, after which it is ended with all that it started
    memory_limit: int | None = None  # bytes that a worker may take beyond what it holds with the problem loaded
    on_failure: OnFailure = "raise"  # after the retries that the cause deserves; see `oracle.failures`
    penalty: float | None = None  # with "penalise": the regret of a failed solve; None: the largest seen so far
    execution: str = "auto"  # "serial", "processes", "ray", or the address of a Ray cluster; auto: by the above
    asynchronous: bool = False  # gp-surrogate trains on while solves are in flight: quicker, not bit-reproducible

    def __post_init__(self) -> None:
        if self.workers < 1:
            raise InputError(f"workers must be at least 1, got {self.workers}")
        for name in ("time_limit", "memory_limit"):
            limit = getattr(self, name)
            if limit is not None and not limit > 0:
                raise InputError(f"{name} must be above 0, got {limit}")
        if self.on_failure not in get_args(OnFailure):
            raise InputError(f"on_failure is {', '.join(map(repr, get_args(OnFailure)))}, got {self.on_failure!r}")
        if self.penalty is not None and self.on_failure != "penalise":
            raise InputError("penalty= goes with on_failure='penalise'")
        if self.execution not in ("auto", "serial", "processes", "ray") and ":" not in self.execution:
            known = "'auto', 'serial', 'processes', 'ray' or the address of a Ray cluster (host:port, ray://host:port)"
            raise InputError(f"execution is {known}, got {self.execution!r}")
        if self.execution == "serial" and (self.workers > 1 or self._limited):
            raise InputError("execution='serial' runs in this process: it takes no workers, time_limit or memory_limit")

    @property
    def _limited(self) -> bool:
        return self.time_limit is not None or self.memory_limit is not None

    def start(self, problem: Problem) -> Execution:
        """The execution that these settings ask for."""
        if self.execution == "serial" or (self.execution == "auto" and self.workers == 1 and not self._limited):
            return Serial(problem)
        if self.execution not in ("auto", "processes"):
            from fewsolves.execution.ray import Cluster

            return Cluster(
                problem,
                self.workers,
                self.execution,
                time_limit=self.time_limit,
                memory_limit=self.memory_limit,
            )
        if sys.platform == "win32":
            raise InputError("worker processes need Linux or macOS; use workers=1 without limits, or execution='ray'")
        return Processes(problem, self.workers, time_limit=self.time_limit, memory_limit=self.memory_limit)
