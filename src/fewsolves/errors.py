"""One tree of errors; each is also the builtin that a caller would catch, and says what to do."""

from __future__ import annotations

from typing import Any

from fewsolves._internal.text import plain

LONGEST_CALL = 2000  # characters of a call in a message


class FewsolvesError(Exception):
    """Base of every error that fewsolves raises on purpose; its text has no control sequences of a terminal."""

    def __str__(self) -> str:
        return plain(super().__str__())


class FewsolvesWarning(UserWarning):
    """Base of the warnings about data and answers, such as rows that a score leaves out."""


class InputError(FewsolvesError, ValueError):
    """A table or an argument is not usable; the message names the row, column or argument."""


class InputTypeError(InputError, TypeError):
    """A table or an argument is of a kind that cannot be used, such as a generator or a sparse matrix."""


class NotSupportedError(InputError, NotImplementedError):
    """The operating system or the environment lacks something that an argument needs; the message says what to do."""


class SolverError(FewsolvesError, RuntimeError):
    """`solve` or `cost` raised, or returned something that is not a decision or a number.

    Args:
        message: What happened, and where.
        row: The row of the user's table at which it happened.
        kind: "solve" or "cost" where a single call failed, else None.
        arguments: What that call got, in a copy: ``problem.solve(*error.arguments)`` does it again.
    """

    def __init__(self, message: str, *, row: int, kind: str | None = None, arguments: tuple[Any, ...] = ()) -> None:
        super().__init__(message)
        self.row, self.kind, self.arguments = row, kind, arguments
        if kind is not None and arguments:
            self.add_note(f"to see it again: problem.{kind}(*error.arguments), or {reproduction(kind, arguments)}")

    @property
    def y_hat(self) -> Any:
        """The prediction of a solve that failed."""
        return self.arguments[0] if self.kind == "solve" and self.arguments else None

    def __reduce__(self) -> tuple[object, ...]:
        return _solver_error, (str(self), self.row)  # it crosses process borders


class Infeasible(FewsolvesError, ValueError):  # noqa: N818 (it is an answer)
    """For your `solve` to raise where a prediction leaves no feasible decision; `on_failure` says what follows."""


class BudgetSpent(FewsolvesError, RuntimeError):  # noqa: N818 (it is no fault)
    """A request would go beyond the budget; raised before anything of it is called."""


class LedgerError(FewsolvesError, OSError):
    """The ledger cannot be written or read: disk full, folder in use, another problem's ledger, a broken file."""


class NotApplicableError(FewsolvesError, ValueError):
    """The method does not fit the problem; the message names the assumption and a method that fits."""


def reproduction(kind: str, arguments: tuple[Any, ...]) -> str:
    """The call of a user's function as Python has it; what is long is cut."""
    shown = ", ".join(f"np.array({one.tolist()})" if hasattr(one, "tolist") else repr(one) for one in arguments)
    return f"problem.{kind}({shown})" if len(shown) <= LONGEST_CALL else f"problem.{kind}({shown[:LONGEST_CALL]} ...)"


def _solver_error(message: str, row: int) -> SolverError:
    return SolverError(message, row=row)
