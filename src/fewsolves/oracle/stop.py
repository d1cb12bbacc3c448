"""The end of a request before all its calls are answered: the user stopped the run, or the seconds are spent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fewsolves.errors import BudgetSpent
from fewsolves.execution.base import Answers, Failure, Phase

if TYPE_CHECKING:
    from fewsolves.oracle.account import Account


class Stop:
    """The reason why a request ends early; calls under way are waited for, and recorded."""

    def __init__(self, account: Account, phase: Phase) -> None:
        self.account, self.phase = account, phase
        self.why: BaseException | None = None
        if hasattr(account.execution, "on_wait"):
            account.execution.on_wait = self.look

    def look(self, *, more: bool = True) -> None:
        """Check whether the user stopped the run or the seconds are spent; `more`: answers are still missing."""
        if self.why is not None:
            return
        try:
            self.account.check()
            if more:
                self.account.budget_left.go_on(self.phase)
        except (KeyboardInterrupt, BudgetSpent) as why:
            finish = getattr(self.account.execution, "finish", None)
            if finish is None or not more:
                raise  # nothing is under way
            self.why = why
            finish(self.account.solving.grace)


def without_failures(answers: Answers) -> Answers:
    """The answers that are no failures."""
    kept = [k for k, value in enumerate(answers.values) if not isinstance(value, Failure)]
    seconds, attempts = [answers.seconds[k] for k in kept], [answers.attempts[k] for k in kept]
    return Answers(answers.at[kept], [answers.values[k] for k in kept], seconds, attempts)
