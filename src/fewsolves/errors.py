"""One tree of errors; each is also the builtin that a caller would catch, and says what to do."""

from __future__ import annotations


class FewsolvesError(Exception):
    """Base of every error that fewsolves raises on purpose."""


class InputError(FewsolvesError, ValueError):
    """A table or an argument is not usable; the message names the row, column or argument."""


class SolverError(FewsolvesError, RuntimeError):
    """`solve` or `cost` raised, or returned something that is not a decision or a number.

    `row` is the row of the user's table at which it happened.
    """

    def __init__(self, message: str, *, row: int) -> None:
        super().__init__(message)
        self.row = row

    def __reduce__(self) -> tuple[object, ...]:
        return _solver_error, (str(self), self.row)  # it crosses process borders


class Infeasible(FewsolvesError, ValueError):  # noqa: N818 (it is an answer)
    """For your `solve` to raise where a prediction leaves no feasible decision; `on_failure` says what follows."""


class BudgetSpent(FewsolvesError, RuntimeError):  # noqa: N818 (it is no fault)
    """A request would go beyond the budget; raised before anything of it is called."""


class LedgerError(FewsolvesError, OSError):
    """What was paid cannot be recorded or read: disk full, folder in use, another problem's ledger, a broken file."""


class NotApplicableError(FewsolvesError, ValueError):
    """The method does not fit the problem; the message names the assumption and a method that fits."""


def _solver_error(message: str, row: int) -> SolverError:
    return SolverError(message, row=row)
