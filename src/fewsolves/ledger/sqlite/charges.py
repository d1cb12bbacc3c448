"""Charges of a run: how many calls it has begun, on disk before they begin, so that a budget holds across kills.

    charged       calls of a kind that have begun, or were about to; one number for each run and kind
    recorded      attempts in the rows of the run
    unanswered    charged and never recorded: calls under way at a kill, or given up

A sync takes milliseconds. So where calls follow each other quickly, those of about `QUICK_CALL_SECONDS` are charged in
advance; after a kill, calls that never began count as paid, and never the other way round. A clean shutdown refunds
calls that were charged but never started. Calls of the test are outside the budget and are not charged.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

from fewsolves.execution.base import KINDS, Kind
from fewsolves.ledger.sqlite.file import LedgerFile

QUICK_CALL_SECONDS = 0.05
MAX_CHARGED_AHEAD = 4096  # calls that are charged ahead
MAX_CALLS = 2**53  # a larger number means that the row is damaged


class Charges:
    """The charges of one run; `recorded` counts the attempts in its rows when it is opened."""

    def __init__(
        self, file: LedgerFile, run: int, recorded: Mapping[Kind, int], *, quick: float = QUICK_CALL_SECONDS
    ) -> None:
        self._file, self._run, self._quick = file, run, quick
        known = _whole(file.query("SELECT seq, run, kind, number, checksum FROM unanswered WHERE run = ?", run))
        on_file = _whole(file.query("SELECT 0, run, kind, number, checksum FROM charges WHERE run = ?", run))
        self.unanswered: list[tuple[int, Kind, int]] = sorted(known)
        self._begun = {kind: recorded[kind] + sum(n for _, k, n in known if k == kind) for kind in KINDS}
        self._charged = dict(self._begun) | {kind: number for _, kind, number in on_file}
        self._settled = dict.fromkeys(KINDS, 0)
        self._ahead, self._last = dict.fromkeys(KINDS, 1), dict.fromkeys(KINDS, float("-inf"))

    def missing(self) -> dict[Kind, int]:
        """Calls that were charged before this start and never recorded, by kind."""
        missing = {kind: self._charged[kind] - self._begun[kind] for kind in KINDS}
        return {kind: number for kind, number in missing.items() if number > 0}

    def give_up(self, seq: int, kind: Kind, number: int, *, begun: bool) -> None:
        """Record, at a position in the ledger, that calls have no answer; `begun`: they are charged in this start."""
        self._file.change(
            "INSERT INTO unanswered VALUES (?, ?, ?, ?, ?)",
            [(seq, self._run, kind, number, _checksum(seq, self._run, kind, number))],
        )
        self.unanswered.append((seq, kind, number))
        if not begun:
            self._begun[kind] += number

    def settle(self, kind: Kind, answered: int) -> None:
        """Take calls that were answered without a record out of those without an answer, the oldest first."""
        for k, (seq, of, number) in enumerate(self.unanswered):
            if of == kind:
                taken = max(0, min(number, answered - self._settled[kind]))
                self._settled[kind] += taken
                self.unanswered[k] = seq, of, number - taken

    def begin(self, kind: Kind, number: int) -> None:
        """Charge `number` calls that are about to begin; the charge is on disk when this returns."""
        self._begun[kind] += number
        if self._begun[kind] > self._charged[kind]:
            now = time.monotonic()
            quick = now - self._last[kind] < self._quick
            self._ahead[kind] = (
                min(2 * self._ahead[kind], MAX_CHARGED_AHEAD) if quick else max(self._ahead[kind] // 2, 1)
            )
            self._write(kind, self._begun[kind] + self._ahead[kind] - 1)
            self._last[kind] = time.monotonic()

    def begun(self, kind: Kind) -> int:
        """Calls in all starts of the run."""
        return self._begun[kind]

    def close(self) -> None:
        """Refund what was charged in advance."""
        for kind in KINDS:
            if self._charged[kind] > self._begun[kind]:
                self._write(kind, self._begun[kind])

    def _write(self, kind: Kind, number: int) -> None:
        row = self._run, kind, number, _checksum(0, self._run, kind, number)
        self._file.change("INSERT OR REPLACE INTO charges VALUES (?, ?, ?, ?)", [row])
        self._charged[kind] = number


def _whole(rows: list[tuple[Any, ...]]) -> list[tuple[int, Kind, int]]:
    """Position, kind and number of the whole rows; damaged rows are not counted."""
    return [
        (seq, kind, number)
        for seq, run, kind, number, checksum in rows
        if kind in KINDS
        and type(seq) is type(number) is int
        and 0 <= number <= MAX_CALLS
        and checksum == _checksum(seq, run, kind, number)
    ]


def _checksum(seq: int, run: int, kind: Kind, number: int) -> bytes:
    return blake2b(repr((seq, run, kind, number)).encode(), digest_size=8).digest()
