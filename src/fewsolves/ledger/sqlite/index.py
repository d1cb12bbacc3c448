"""The index of the recorded calls, read when a ledger is opened: by position in the run, and by key.

positions     position -> seq    calls of this run before this start
paid          kind, key -> seq    calls of all runs that have an answer
remembered    kind, key -> seq    calls of this run before the checkpoint that it continues from
own           seq                 calls of this run, ascending: those that a replay repeats

It is read without checksums, so it only says where to look: the reader of an answer checks the row itself.
"""

from __future__ import annotations

from array import array
from collections import Counter
from typing import Any

from fewsolves.execution.base import KINDS, PHASES, Kind
from fewsolves.ledger.sqlite.file import LedgerFile
from fewsolves.ledger.sqlite.rows import PAID, REUSED, PendingCall

MAX_ATTEMPTS = 100  # of a row; a larger number means that the row is damaged
_CODES: dict[tuple[str, str], int] = {
    names: code for code, names in enumerate((kind, phase) for kind in KINDS for phase in PHASES)
}


class Index:
    """Index of the calls in a file, for one run."""

    def __init__(self, file: LedgerFile, run: int) -> None:
        self._file, self._run = file, run
        self._positions: dict[int, int] = {}
        self.paid: dict[str, dict[bytes, int]] = {kind: {} for kind in KINDS}
        self.remembered: dict[str, dict[bytes, int]] = {kind: {} for kind in KINDS}
        self.own = array("q")
        self.attempts: dict[Kind, int] = dict.fromkeys(KINDS, 0)  # of this run, without those of the test
        columns = "seq, run, kind, phase, row, k, key, status, attempt"
        for seq, of_run, kind, phase, row, k, key, status, attempt in file.scan(columns):
            if of_run == run and (position := _packed(kind, phase, row, k)) is not None:
                self._positions[position] = seq
                self.own.append(seq)
                self.attempts[kind] += _attempts(phase, status, attempt)
            if status == PAID and kind in KINDS:
                self.paid[kind][key] = seq

    def at_position(self, call: PendingCall) -> int | None:
        """The row that this run recorded at that position."""
        position = _packed(*call.position)
        return None if position is None else self._positions.get(position)

    def remember(self, last: int) -> Counter[tuple[str, str, int]]:
        """Remember this run's calls up to the row `last`, and return their numbers by kind, phase and row."""
        counts: Counter[tuple[str, str, int]] = Counter()
        for seq, run, kind, phase, row, key in self._file.scan("seq, run, kind, phase, row, key"):
            if run == self._run and seq <= last and kind in KINDS:
                counts[kind, phase, row] += 1
                self.remembered[kind][key] = seq
        return counts

    def attempts_until(self, last: int) -> dict[Kind, int]:
        """`attempts` of the calls up to the row `last`."""
        attempts: dict[Kind, int] = dict.fromkeys(KINDS, 0)
        for seq, run, kind, phase, status, attempt in self._file.scan("seq, run, kind, phase, status, attempt"):
            if run == self._run and seq <= last and kind in KINDS:
                attempts[kind] += _attempts(phase, status, attempt)
        return attempts


def _attempts(phase: str, status: str, attempt: Any) -> int:
    """The attempts of a row, none in the test or where an answer was reused."""
    counted = status != REUSED and phase != "test" and type(attempt) is int
    return min(max(attempt, 1), MAX_ATTEMPTS) if counted else 0


def _packed(kind: str, phase: str, row: int, k: int) -> int | None:
    """A position as one number, which takes a third of the memory of a tuple; None for that of a damaged row."""
    code = _CODES.get((kind, phase))
    if code is None or type(row) is not int or type(k) is not int:
        return None
    return ((row << 40) + k) * len(_CODES) + code
