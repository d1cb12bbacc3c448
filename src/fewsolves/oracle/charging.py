"""Charging: a call is spent when it is sent, on disk before it begins, whatever becomes of it.

begun        sent to the user's function        answered     counted with their seconds
unanswered   begun and never answered: under way when a run was killed, or given up; of a budget they are spent
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from fewsolves.execution.base import KINDS, Kind, Phase
from fewsolves.ledger.ledger import Ledger
from fewsolves.oracle.budget import BudgetLeft
from fewsolves.oracle.calls import Calls


@dataclass
class Charge:
    """The calls of one request."""

    kind: Kind
    phase: Phase
    begun: int = 0
    answered: int = 0


class Charging:
    """Charges each call to the request under way, in the counts and, as long as it is open, in the ledger."""

    def __init__(self, calls: Calls, budget_left: BudgetLeft, ledger: Ledger | None) -> None:
        self.calls, self.budget_left, self._ledger = calls, budget_left, ledger
        self.charge = Charge("solve", "test")  # of the request under way
        self.seconds = 0.0  # that writing charges has taken: no part of a call
        self._passed_by = dict.fromkeys(KINDS, 0)

    @property
    def ledger(self) -> Ledger | None:
        """The ledger while it is open: an oracle may be used after its run."""
        return None if self._ledger is None or self._ledger.closed else self._ledger

    @contextmanager
    def during(self, charge: Charge) -> Iterator[None]:
        """Charge calls that begin meanwhile to this request; those without an answer in the end stay charged."""
        self.charge = charge
        try:
            yield
        finally:
            lost = charge.begun - charge.answered
            if lost > 0 and charge.phase != "test":
                self.calls.unanswered[charge.kind] += lost
                if (ledger := self.ledger) is not None:
                    ledger.give_up(charge.kind, lost)

    def sent(self, number: int) -> None:
        """Charge calls that are about to begin."""
        charge = self.charge
        charge.begun += number
        if self._ledger is None:  # there are calls that take no longer than a look for it
            return
        if charge.phase != "test" and (ledger := self.ledger) is not None:
            began = time.perf_counter()
            ledger.charge(charge.kind, number)
            self.seconds += time.perf_counter() - began

    def answered(self, charge: Charge, number: int, seconds: float) -> None:
        """Record that `number` calls of a charge have an answer."""
        charge.answered += number
        self.calls.add(charge.kind, charge.phase, number, seconds)

    def may_repeat(self, charge: Charge, number: int) -> int:
        """How many of these calls may be made again, beyond those that have begun."""
        return max(0, self.budget_left.affords(charge.kind, charge.phase, charge.begun + number) - charge.begun)

    def count_unanswered(self, kinds: Collection[Kind]) -> None:
        """Calls of earlier starts of this run without an answer are spent, once the replay has come there.

        All of `kinds`, where calls are made that are no replay.
        """
        if (ledger := self.ledger) is not None:
            for kind, number in ledger.unanswered(kinds):
                self.calls.unanswered[kind] += number

    def count_passed_by(self, kind: Kind, recorded: int, *, calls: bool) -> None:
        """Calls that earlier starts paid and this one did not repeat are spent, once this one `calls` by itself.

        A run that goes another way than before, as it may in the asynchronous mode, skips some of its former requests;
        so does one that calls a row again that failed. `recorded` attempts belong to the request at hand. A call that
        is repeated later after all is counted then, and no longer here.
        """
        if (ledger := self.ledger) is not None:
            before, unanswered = self._passed_by[kind], self.calls.unanswered
            counted = self.calls.total(kind) - self.calls.shared[kind] + unanswered[kind] - before
            now = max(0, ledger.begun(kind) - counted - recorded)
            self._passed_by[kind] = now if calls else min(now, before)
            unanswered[kind] += self._passed_by[kind] - before
