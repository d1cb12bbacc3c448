"""Budget of a run: limits on its calls, and the rest of them.

    limit       Budget(solves=, cost_calls=, seconds=); None where there is none
    spent       every call that was begun but those of the test, which comes after training: every attempt, every row of
                a batch, and what was under way when a run was killed; remembered answers cost nothing
    held back   evaluations that training (pre-training, online) must leave, so that validation can still choose

Solves and cost calls are never overrun: a request that does not fit is refused before anything is called. How long a
call takes is known only when it is over, so seconds are watched from answer to answer: no call begins once they are
spent. Those under way then end: one for each worker, a batch where the problem has a batched form.
"""

from __future__ import annotations

import dataclasses
import math
import sys

from fewsolves._internal.html import html_facts
from fewsolves._internal.text import duration
from fewsolves.errors import BudgetSpent
from fewsolves.execution.base import KINDS, TRAINING, Kind, Phase
from fewsolves.oracle.calls import Calls
from fewsolves.settings import setting, settings

UNLIMITED = sys.maxsize


@settings
class Budget:
    """The limits of a run's calls, labels and validation included; a test after it is not counted.

    >>> import fewsolves as fs
    >>> fs.Budget(solves=20_000, seconds=8 * 3600)
    Budget(solves=20000, cost_calls=None, seconds=28800)
    """

    solves: int | None = setting("maximum number of solves; None: no limit", default=None, above=0)
    cost_calls: int | None = setting("maximum number of cost calls; None: no limit", default=None, above=0)
    seconds: float | None = setting(
        "maximum seconds inside `solve` and `cost`, added up over the workers; None: no limit", default=None, above=0
    )

    def limit(self, kind: Kind) -> float | None:
        """Calls of this kind that are allowed; None: any number.

        Args:
            kind: "solve" or "cost".
        """
        return self.solves if kind == "solve" else self.cost_calls

    def __str__(self) -> str:
        given = {name.replace("_", " "): value for name, value in dataclasses.asdict(self).items() if value is not None}
        return ", ".join(f"{value:,} {name}" for name, value in given.items()) or "no limit"

    def _repr_html_(self) -> str:
        """In a notebook."""
        limits = {"solves": self.solves, "cost calls": self.cost_calls}
        facts = {name: "no limit" if most is None else f"at most {most:,}" for name, most in limits.items()}
        spent = "no limit" if self.seconds is None else f"at most {duration(self.seconds)} in your functions"
        return html_facts("Budget of a run", facts | {"time": spent})


class BudgetLeft:
    """The rest of a budget while a run pays from it."""

    def __init__(self, budget: Budget, calls: Calls) -> None:
        self.budget, self.calls = budget, calls
        self.refused: str | None = None  # the first thing that did not fit
        self.limited = budget != Budget()
        self._held = 0

    def hold(self, evaluations: int) -> None:
        """Reserve the last `evaluations` for validation."""
        self._held = evaluations

    def room(self, phase: Phase) -> int:
        """Evaluations, of one solve and one cost call each, that this phase can still pay for."""
        if not self.limited:
            return UNLIMITED
        left = min(self.calls_left(kind, phase) for kind in KINDS)
        pace = self._pace()
        if self.budget.seconds is not None and pace > 0.0:
            left = min(left, self._seconds_left(phase) / pace)
        return max(0, int(left))

    def fits(self, phase: Phase, evaluations: int) -> bool:
        """Whether these evaluations can be paid for; a refusal is recorded."""
        if evaluations <= self.room(phase):
            return True
        self._refuse(f"{evaluations} evaluations ({phase})")
        return False

    def admit(self, kind: Kind, phase: Phase, number: int) -> None:
        """Raise if `number` calls do not fit."""
        if not self.limited or phase == "test":
            return
        if number > self.calls_left(kind, phase) or self._seconds_left(phase) <= 0.0:
            raise BudgetSpent(self._refuse(f"{number} {'solves' if kind == 'solve' else 'cost calls'} ({phase})"))

    def affords(self, kind: Kind, phase: Phase, number: int) -> int:
        """How many of `number` retries fit."""
        if not self.limited or phase == "test":
            return number
        if number > self.calls_left(kind, phase) or self._seconds_left(phase) <= 0.0:
            self._refuse(f"{number} more attempts ({phase})")
        return 0 if self._seconds_left(phase) <= 0.0 else max(0, min(number, int(self.calls_left(kind, phase))))

    def go_on(self, phase: Phase) -> None:
        """Raise if the seconds are spent, between two answers of one request."""
        if phase != "test" and self._seconds_left(phase) <= 0.0:
            raise BudgetSpent(self._refuse(f"the rest of a request ({phase})"))

    def calls_left(self, kind: Kind, phase: Phase) -> float:
        """Calls of this kind that the phase can still pay for, as far as their number is limited."""
        limit = self.budget.limit(kind)
        spent = self.calls.total(kind) + self.calls.unanswered[kind] - self.calls.shared[kind]  # others' are free
        return UNLIMITED if limit is None else limit - spent - self._held_back(phase)

    def _seconds_left(self, phase: Phase) -> float:
        if self.budget.seconds is None:
            return math.inf
        return self.budget.seconds - self.calls.seconds - self._held_back(phase) * self._pace()

    def _held_back(self, phase: Phase) -> int:
        return self._held if phase in TRAINING else 0

    def _pace(self) -> float:
        """Mean seconds of an evaluation so far."""
        return sum(self.calls.mean_seconds(kind) for kind in KINDS)

    def _refuse(self, request: str) -> str:
        spent = f"{self.calls.total('solve'):,} solves, {self.calls.total('cost'):,} cost calls, "
        spent += f"{self.calls.seconds:,.3g} seconds"
        if lost := self.calls.unanswered["solve"]:
            spent += f", {lost:,} solves that were begun and never answered"
        message = f"the budget has no room for {request}: it allows {self.budget}; paid so far: {spent}"
        self.refused = self.refused or message
        return message
