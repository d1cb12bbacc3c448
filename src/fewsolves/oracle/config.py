"""Settings of the oracle: where and on what terms the user's functions run."""

from __future__ import annotations

from typing import Literal

from fewsolves.errors import InputError
from fewsolves.execution.base import Execution, Resources
from fewsolves.execution.registry import AUTO, find
from fewsolves.execution.serial import check_resources
from fewsolves.problem import Problem
from fewsolves.settings import setting, settings

OnFailure = Literal["raise", "penalise", "skip"]
RegretKind = Literal["absolute", "relative"]


@settings
class SolveConfig:
    """Where and on what terms solves run."""

    workers: int = setting(
        "processes that solve in parallel; with 1 and no limits, solves run in this process", default=1, least=1
    )
    time_limit: float | None = setting(
        "seconds after which a solve is ended, with all processes that it started", default=None, above=0
    )
    memory_limit: int | None = setting(
        "bytes that a worker may take beyond what it holds with the problem loaded", default=None, above=0
    )
    on_failure: OnFailure = setting("what to do with a solve that still fails after its retries", default="raise")
    penalty: float | None = setting(
        "with on_failure='penalise': the regret of a failed solve; None: the largest seen so far", default=None
    )
    execution: str = setting(
        "where solves run: 'serial', 'processes', 'ray', or the address of a Ray cluster; 'auto': in this process, or "
        "in worker processes if there are several workers or a limit",
        default=AUTO,
    )
    asynchronous: bool = setting(
        "continue training while solves are under way, with gp-surrogate: quicker, not bit-reproducible", default=False
    )

    grace: float = setting(
        "seconds to wait for the solves under way, which are recorded, when a run is stopped (Ctrl-C, SIGTERM, budget "
        "of seconds spent); a second stop ends it at once",
        default=600.0,
        least=0,
        since="0.2.0",
    )

    regret: RegretKind = setting(
        "what is minimised and reported: 'absolute', in units of the cost, or 'relative': each row's regret divided by "
        "the absolute cost of its best decision",
        default="absolute",
        since="0.2.0",
    )

    def __post_init__(self) -> None:
        if self.penalty is not None and self.on_failure != "penalise":
            raise InputError("penalty= goes with on_failure='penalise'")
        if self.execution == "serial":
            check_resources(self.resources)
        elif self.execution != AUTO:
            find(self.execution)

    @property
    def resources(self) -> Resources:
        """The resources of an execution."""
        return Resources(workers=self.workers, time_limit=self.time_limit, memory_limit=self.memory_limit)

    def start(self, problem: Problem) -> Execution:
        """The execution that these settings ask for.

        Args:
            problem: What it will solve.
        """
        name = self.execution
        if name == AUTO:
            name = "serial" if self.resources == Resources() else "processes"
        return find(name)(problem, self.resources)
