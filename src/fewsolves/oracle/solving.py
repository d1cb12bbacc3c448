"""How the user's functions are run: settings of the oracle."""

from __future__ import annotations

from dataclasses import dataclass

from fewsolves.errors import InputError
from fewsolves.oracle.execution import Execution, Processes, Serial
from fewsolves.problem import Problem


@dataclass(frozen=True, kw_only=True)
class SolveConfig:
    """Where and on what terms solves run."""

    workers: int = 1  # processes that solve side by side; 1: in this process

    def __post_init__(self) -> None:
        if self.workers < 1:
            raise InputError(f"workers must be at least 1, got {self.workers}")

    def start(self, problem: Problem) -> Execution:
        """The execution that these settings ask for."""
        return Serial(problem) if self.workers == 1 else Processes(problem, self.workers)
