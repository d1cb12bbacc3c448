"""A check of a ledger that is opened again: a few recorded answers are computed once more.

The fingerprint covers code and data. A library, a model file or a service may still have changed; then the recorded
costs are no longer those of the problem, and the ledger must not be used.
"""

from __future__ import annotations

import numpy as np

from fewsolves.errors import LedgerError
from fewsolves.execution.base import KINDS, Failure
from fewsolves.ledger.decision import pack_decision
from fewsolves.ledger.sqlite.description import HOW_TO_ADOPT
from fewsolves.ledger.sqlite.rows import unpack
from fewsolves.oracle.probe import same_cost
from fewsolves.oracle.view import Oracle

CHECKED = 3  # answers
MIN_RECHECK_SECONDS, RECHECK_SHARE = 1.0, 0.01  # seconds that this may take, or share of the recorded time


def check_paid(oracle: Oracle) -> None:
    """Raise if the solver or the cost no longer returns the recorded answers; `oracle` is that of the whole table.

    Costs are compared, since several decisions may be best. No call is made if the answers are noisy, if a few of
    them take too long, or if the budget has no room.
    """
    account, ledger = oracle.account, oracle.ledger
    if ledger is None or oracle.problem.noisy is not None:
        return
    budget = oracle.budget_left.budget
    left = min(
        (limit - ledger.begun(kind) for kind in KINDS if (limit := budget.limit(kind)) is not None), default=None
    )
    number = CHECKED if left is None else max(0, min(CHECKED, int(left)))
    drawn = ledger.sample_paid(CHECKED, seed=ledger.last)
    spent = [cost.seconds + (0.0 if solve is None else solve.seconds) for cost, solve in drawn]
    allowed = max(MIN_RECHECK_SECONDS, RECHECK_SHARE * sum(spent) / max(1, len(spent)) * ledger.last / 2)
    chosen = [one for one, seconds in zip(drawn, np.cumsum(spent), strict=True) if seconds <= allowed][:number]
    if not chosen:
        return
    rows = np.array([cost.row for cost, _ in chosen])
    if rows.min() < 0 or rows.max() >= len(oracle):
        return  # a row that makes no sense is never an answer
    y = oracle.Y[rows]
    y_hat = np.array([y[k] if s is None else unpack(s.y_hat, oracle.n_y) for k, (_, s) in enumerate(chosen)])
    decisions = account.call_again("solve", rows, y_hat)
    solved = np.array([k for k, z in enumerate(decisions) if not isinstance(z, Failure)], dtype=int)
    if not len(solved):
        return
    arguments = [pack_decision(decisions[k]).argument() for k in solved]
    costs = account.call_again("cost", rows[solved], y[solved], arguments)
    for k, now in zip(solved.tolist(), costs, strict=True):
        before = chosen[k][0].value
        if not isinstance(now, Failure) and isinstance(before, float) and not same_cost(now, before):
            raise LedgerError(
                f"{ledger.file.path} has answers that the problem no longer gives: the cost at row {rows[k]} was "
                f"{before:g} and is now {now:g} for the same prediction. Give another folder, or adopt it "
                f"({HOW_TO_ADOPT}) if the recorded answers still hold"
            )
