"""Follow a run through its ledger, read-only: calls paid and when, and failures, equal ones together."""

from __future__ import annotations

import json
import re
import sqlite3
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from fewsolves._internal.text import clean
from fewsolves.errors import LedgerError
from fewsolves.execution.base import KINDS, PHASES, paid
from fewsolves.ledger.reading import open_to_read
from fewsolves.ledger.sqlite.description import read_description
from fewsolves.ledger.sqlite.rows import PAID, REUSED, Call

AT_ROW = re.compile(r" at row \d+")
LISTED_ROWS = 8  # of failures that are alike
MAX_FAILURE_GROUPS = 50
LONGEST_MESSAGE = 300


class Start(NamedTuple):
    """The newest start of a run."""

    run: int
    began: float | None  # seconds since 1970
    terms: Mapping[str, Any]
    ended: float | None
    message: str | None


@dataclass
class FailureGroup:
    """Calls that failed alike."""

    number: int = 0
    rows: list[int] = field(default_factory=list)  # the first of them
    more: bool = False  # whether there are other rows

    def take(self, row: int) -> None:
        self.number += 1
        if row in self.rows:
            return
        if len(self.rows) < LISTED_ROWS:
            self.rows.append(row)
        else:
            self.more = True

    def __str__(self) -> str:
        """The rows, such as "rows 3, 17, ..."."""
        more = ", ..." if self.more else ""
        return f"{'row' if len(self.rows) == 1 else 'rows'} {', '.join(map(str, self.rows))}{more}"


@dataclass
class Followed:
    """The state of one run so far, from its ledger."""

    counts: dict[str, Counter[str]] = field(default_factory=lambda: {kind: Counter() for kind in KINDS})  # by phase
    shared: int = 0  # solves that another run had paid for
    seconds: float = 0.0  # in the user's functions
    failures: dict[tuple[str, str, str], FailureGroup] = field(default_factory=dict)  # by kind, status and message
    failed: int = 0
    solved_at: list[float] = field(default_factory=list)  # when solves were answered, where that is known

    def paid(self, kind: str) -> int:
        """Calls that count against the budget: all but those of the test."""
        return paid(self.counts[kind])


class Following:
    """A ledger that is read repeatedly; each time only the new rows."""

    def __init__(self, folder: Path) -> None:
        self._file = open_to_read(folder)
        self._seq = 0
        self._run: int | None = None
        self.meta: dict[str, str] = {}
        self.followed = Followed()

    def refresh(self) -> Start:
        """Read the new rows of the run that was started last."""
        try:
            start = self._newest()
            if start.run != self._run:
                self._forget(start.run)
            for call in self._file.calls(f"seq > {self._seq}"):
                if call is None:
                    continue  # damaged
                self._seq = call.seq
                if call.run == start.run and call.kind in KINDS and call.phase in PHASES:
                    self._take(call)
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
            return Start(run, _time(began), _object(terms), _time(ended), None if message is None else str(message))
        runs = self._file.query("SELECT coalesce(max(id), 0) FROM runs")  # an older version recorded no starts
        return Start(runs[0][0], None, {}, None, None)

    def _forget(self, run: int) -> None:
        self._run, self._seq, self.followed = run, 0, Followed()
        self.meta = read_description(self._file).meta

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
        if answer.status not in (PAID, REUSED):
            followed.failed += 1
            text = AT_ROW.sub("", clean(call.message or "", LONGEST_MESSAGE))
            group = followed.failures.setdefault((call.kind, call.status, text), FailureGroup())
            group.take(call.row)
            if len(followed.failures) > MAX_FAILURE_GROUPS:
                del followed.failures[next(iter(followed.failures))]


def _time(value: Any) -> float | None:
    """Seconds since 1970, where it is such a number."""
    return float(value) if isinstance(value, int | float) and 0 <= value < 1e11 else None


def _object(text: Any) -> Mapping[str, Any]:
    try:
        found = json.loads(text)
    except (TypeError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
