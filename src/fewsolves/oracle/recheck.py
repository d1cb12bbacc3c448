"""A check of a ledger that is opened again: a few recorded answers are computed once more.

The fingerprint covers code and data. A library, a model file or a service may still have changed; then the recorded
costs are no longer those of the problem, and the ledger must not be used.

    n       answers of different rows that are drawn at random and computed again
    s       share of the rows of which a change has altered the cost on record

A change is found with the probability 1 - (1 - s)^n or more: n = 59 finds s = 5 % with 95 % (`smallest_found`). Four
more are aimed: the largest and the smallest cost, and the two newest calls.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from fewsolves._internal.text import clean
from fewsolves.errors import FewsolvesWarning, LedgerError
from fewsolves.execution.base import KINDS, Failure
from fewsolves.ledger.answers import AIMED, aimed
from fewsolves.ledger.decision import pack_decision
from fewsolves.ledger.ledger import Ledger
from fewsolves.ledger.sqlite.description import HOW_TO_ADOPT
from fewsolves.ledger.sqlite.rows import Call, unpack
from fewsolves.oracle.budget import Budget
from fewsolves.oracle.probe import same_cost
from fewsolves.oracle.view import Oracle
from fewsolves.problem import Array

SURE = 0.95
DRAWN = 59  # answers: 1 - 0.95 ** 59 > SURE
CHECKED = DRAWN + AIMED
LEAST_CHECKED, BUDGET_SHARE = 3, 0.01  # of a budget: as many, or this share of it
MIN_RECHECK_SECONDS, RECHECK_SHARE = 1.0, 0.01  # seconds that this may take, or share of the recorded time
LONGEST_ERROR = 300  # characters of it in a warning


def check_paid(oracle: Oracle) -> None:
    """Raise if the solver or the cost no longer returns the recorded answers; `oracle` is that of the whole table.

    Costs are compared, since several decisions may be best. Calls that fail now compare nothing, and a warning has
    their number. No call is made if the answers are noisy, if a few of them take too long, or if the budget has no
    room.
    """
    ledger = oracle.ledger
    if ledger is None or oracle.problem.noisy is not None:
        return
    chosen = _chosen(ledger, oracle.budget_left.budget)
    rows = np.array([cost.row for cost, _ in chosen], dtype=int)
    if ((rows < 0) | (rows >= len(oracle))).any():
        return  # a row that makes no sense is never an answer
    failed = list[Failure]()
    for k, now in _costs_now(oracle, rows, [solve for _, solve in chosen]):
        before = chosen[k][0].value
        if isinstance(now, Failure):
            failed.append(now)
        elif isinstance(before, float) and not same_cost(now, before):
            raise LedgerError(
                f"{ledger.file.path} has answers that the problem no longer gives: the cost at row {rows[k]} was "
                f"{before:g} and is now {now:g} for the same prediction. Give another folder, or adopt it "
                f"({HOW_TO_ADOPT}) if the recorded answers still hold"
            )
    if failed:
        warnings.warn(
            f"{ledger.file.path} is used again, but {len(failed)} of {len(rows)} recorded answers could not be "
            f"checked, because the calls fail now; first error: {clean(failed[0].message, LONGEST_ERROR)}. Fix "
            f"this, and start again: the answers on record may be out of date",
            FewsolvesWarning,
            stacklevel=3,
        )


def _chosen(ledger: Ledger, budget: Budget) -> list[tuple[Call, Call | None]]:
    """Recorded costs, each with its solve, that budget and time leave room for; a label has no solve of its own."""
    drawn = ledger.sample_paid(CHECKED, seed=ledger.last)
    spent = [cost.seconds + (0.0 if solve is None else solve.seconds) for cost, solve in drawn]
    allowed = max(MIN_RECHECK_SECONDS, RECHECK_SHARE * sum(spent) / max(1, len(spent)) * ledger.last / 2)
    in_time = [one for one, seconds in zip(drawn, np.cumsum(spent), strict=True) if seconds <= allowed]
    return in_time[: _affordable(budget, ledger)]


def _costs_now(oracle: Oracle, rows: Array, solves: list[Call | None]) -> Iterator[tuple[int, Any]]:
    """Positions, and the costs that the problem gives there now, or the failures."""
    if not len(rows):
        return
    y = oracle.Y[rows]
    y_hat = np.array([y[k] if one is None else unpack(one.y_hat, oracle.n_y) for k, one in enumerate(solves)])
    decisions = oracle.account.call_again("solve", rows, y_hat)
    solved = [k for k, z in enumerate(decisions) if not isinstance(z, Failure)]
    yield from ((k, z) for k, z in enumerate(decisions) if isinstance(z, Failure))
    if solved:
        arguments = [pack_decision(decisions[k]).argument() for k in solved]
        costs = oracle.account.call_again("cost", rows[solved], y[solved], arguments)
        yield from zip(solved, costs, strict=True)


def smallest_found(number: int) -> float:
    """The smallest share of changed rows that a check of this many answers finds with 95 %."""
    return float(1 - (1 - SURE) ** (1 / max(1, number - aimed(number))))


def _affordable(budget: Budget, ledger: Ledger) -> int:
    """Answers that a budget has room for; it is there for other things."""
    number = CHECKED
    for kind in KINDS:
        limit = budget.limit(kind)
        if limit is not None:
            share = max(LEAST_CHECKED, int(BUDGET_SHARE * limit))
            number = min(number, share, max(0, int(limit - ledger.begun(kind))))
    return number
