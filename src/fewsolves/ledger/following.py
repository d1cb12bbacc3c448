"""Follow a run through its ledger, read-only: calls paid and when, failures, and the regret reached.

A reading of the validation rows is a block of their solves: it ends with the last of them, or where a row comes again.
The first block defines these rows; solves of other rows in that phase audit a surrogate. A remembered answer is in no
block, so a row counts with its last regret.
"""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from fewsolves.errors import LedgerError
from fewsolves.execution.base import KINDS, PHASES
from fewsolves.ledger.reading import LISTED_FAILURES, open_to_read
from fewsolves.ledger.sqlite.description import read_description
from fewsolves.ledger.sqlite.rows import PAID, REUSED, Call


class Start(NamedTuple):
    """The newest start of a run."""

    run: int
    began: float | None  # seconds since 1970
    terms: Mapping[str, Any]
    ended: float | None
    message: str | None


@dataclass
class Followed:
    """The state of one run so far, from its ledger."""

    counts: dict[str, Counter[str]] = field(default_factory=lambda: {kind: Counter() for kind in KINDS})  # by phase
    shared: int = 0  # solves that another run had paid for
    seconds: float = 0.0  # in the user's functions
    failures: list[tuple[int, str, str, str]] = field(default_factory=list)  # row, kind, status, message: the newest
    failed: int = 0
    solved_at: list[float] = field(default_factory=list)  # when solves were answered, where that is known
    readings: list[tuple[int, float]] = field(default_factory=list)  # solves paid until then, mean regret

    def paid(self, kind: str) -> int:
        """Calls that count against the budget: all but those of the test."""
        return sum(number for phase, number in self.counts[kind].items() if phase != "test")


class Following:
    """A ledger that is read repeatedly; each time only the new rows."""

    def __init__(self, folder: Path) -> None:
        self._file = open_to_read(folder)
        self._seq = 0
        self._truths: dict[int, bytes] = {}
        self._run: int | None = None
        self._expected = 0  # validation rows
        self.meta: dict[str, str] = {}
        self.followed = Followed()

    def refresh(self) -> Start:
        """Read the new rows of the run that was started last."""
        try:
            start = self._newest()
            if start.run != self._run:
                self._forget(start.run)
            self._expected = int(dict(start.terms.get("rows") or {}).get("valid") or 0)
            for call in self._file.calls(f"seq > {self._seq}"):
                if call is None:
                    continue  # damaged
                self._seq = call.seq
                if call.run == start.run and call.kind in KINDS and call.phase in PHASES:
                    self._take(call)
            if self._block and self._complete and all(self._mean_cost(*one) is not None for one in self._block.items()):
                self._end_of_reading()
        except sqlite3.Error as error:
            raise LedgerError(f"the ledger {self._file.path} cannot be read: {error}") from error
        return start

    def close(self) -> None:
        self._file.close()

    def _newest(self) -> Start:
        found = self._file.query("SELECT run, began, terms, ended, told FROM starts ORDER BY number DESC LIMIT 1")
        if found:
            run, began, terms, ended, message = found[0]
            if not isinstance(run, int):
                raise LedgerError(f"the ledger {self._file.path} is damaged: its last start names no run")
            return Start(run, began, _object(terms), ended, message)
        runs = self._file.query("SELECT coalesce(max(id), 0) FROM runs")  # an older version recorded no starts
        return Start(runs[0][0], None, {}, None, None)

    def _forget(self, run: int) -> None:
        self._run, self._seq, self.followed = run, 0, Followed()
        self.meta, self._truths = read_description(self._file)
        self._labels: dict[bytes, bytes] = {}  # decision by the key of the solve at a truth
        self._costs: dict[tuple[int, bytes], list[float]] = {}  # by row and decision, of labels and validation
        self._block: dict[int, bytes] = {}  # decision by row, of the reading under way
        self._regrets: dict[int, float] = {}  # last regret by validation row
        self._paid = 0  # solves until its last one
        self._rows: frozenset[int] = frozenset()  # validation rows

    def _take(self, call: Call) -> None:
        followed, answer = self.followed, call
        followed.counts[call.kind][call.phase] += call.attempt
        if call.status == REUSED:
            followed.shared += call.kind == "solve" and call.phase != "test"
            answer = (None if call.of is None else self._file.fetch(call.of)) or call
        else:
            followed.seconds += call.seconds
            if call.kind == "solve" and call.at is not None:
                followed.solved_at.append(call.at)
        decision = answer.decision_key
        if answer.status not in (PAID, REUSED):
            followed.failed += 1
            followed.failures = [
                *followed.failures[1 - LISTED_FAILURES :],
                (call.row, call.kind, call.status, call.message or ""),
            ]
        elif decision is None:
            pass  # the row that it refers to is damaged
        elif call.kind == "solve":
            self._solved(call.phase, call.row, call.key, decision)
        elif answer.value is not None and call.phase in ("labels", "validation"):
            self._costs.setdefault((call.row, decision), []).append(answer.value)

    def _solved(self, phase: str, row: int, key: bytes, decision: bytes) -> None:
        if phase == "labels":
            self._labels[key] = decision
        elif phase == "validation":
            if row in self._block or self._complete:
                self._end_of_reading()
            if not self._rows or row in self._rows:
                self._block[row] = decision
                self._paid = self.followed.paid("solve")

    @property
    def _complete(self) -> bool:
        """Whether the block has all validation rows."""
        return 0 < (len(self._rows) or self._expected) <= len(self._block)

    def _end_of_reading(self) -> None:
        self._rows = self._rows or frozenset(self._block)
        for row, decision in self._block.items():
            cost = self._mean_cost(row, decision)
            optimum = self._mean_cost(row, self._labels.get(self._truths.get(row, b""), b""))
            if cost is not None and optimum is not None:
                self._regrets[row] = cost - optimum
        self._block = {}
        if self._regrets:
            mean = sum(self._regrets.values()) / len(self._regrets)
            self.followed.readings.append((self._paid, mean))

    def _mean_cost(self, row: int, decision: bytes) -> float | None:
        """Over the draws of a noisy cost."""
        found = self._costs.get((row, decision))
        return sum(found) / len(found) if found else None


def _object(text: Any) -> Mapping[str, Any]:
    try:
        found = json.loads(text)
    except (TypeError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
