"""Answers on record, read back: a row is used only if it is whole and answers this very call.

The index says where to look, and is read without checksums. So every row is fetched with its own checksum, and must
name its run, its position and its key. A damaged row causes a warning, and its call is made again.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from fewsolves.ledger.opening import IMPORTED
from fewsolves.ledger.sqlite.file import LedgerFile
from fewsolves.ledger.sqlite.index import Index
from fewsolves.ledger.sqlite.rows import (
    PAID,
    REUSED,
    Call,
    PendingCall,
    RecordedAnswer,
    is_evaluation,
    unpack,
    value_of,
)

AIMED = 4  # calls of a second look that are not drawn at random
SAME = 1e-6  # relative difference of two predictions at one position that floating-point rounding explains


class Answers:
    """Answers of the calls in a file, for one run; `failures`: a failure at its own position is an answer too."""

    def __init__(self, file: LedgerFile, run: int, index: Index, n_y: int, *, failures: bool) -> None:
        self._file, self._run, self._index, self._n_y, self._failures = file, run, index, n_y, failures
        self._imported = {run for (run,) in file.query("SELECT id FROM runs WHERE identity = ?", IMPORTED)}

    def find(self, call: PendingCall, *, content: bool) -> RecordedAnswer | None:
        """The recorded answer, by position or, with `content`, by key."""
        found = self._at_position(call)
        if found is not None and (self._failures or found.status == PAID):
            return self._recorded(found, by_position=True)
        seq = self._index.paid[call.kind].get(call.key) if content else None
        found = self._fetch(seq) if seq is not None else None
        if found is None or found.status != PAID or found.key != call.key:
            return None
        return self._recorded(found, by_position=False)

    def recall(self, kind: str, keys: Sequence[bytes]) -> dict[bytes, Any]:
        """Answers from before the checkpoint that this run continues from, by key."""
        seqs = {key: seq for key in keys if (seq := self._index.remembered[kind].get(key)) is not None}
        calls = {key: self._answer(self._fetch(seq)) for key, seq in seqs.items()}
        whole = {key: call for key, call in calls.items() if call is not None and (call.kind, call.key) == (kind, key)}
        found = {key: self._recorded(call, by_position=False) for key, call in whole.items()}
        return {key: one.value for key, one in found.items() if one is not None}

    def some_costs(self, rows: int, most: int, *, seed: int) -> list[tuple[Call, Call | None]]:
        """At most `most` costs of the first `rows` of the file, each with its solve unless it is a label's.

        They cover the table: no row of it comes twice, and rows come in random order. Every third one is aimed (see
        `aimed`): the largest cost, the newest, the smallest, the newest but one. Imported costs are left out: no run
        of this ledger has paid for them.
        """
        found: dict[int, tuple[Call, Call | None]] = {}
        for seq in _covering(self._costs(rows), np.random.default_rng(seed))[: 20 * most]:
            if len(found) == most:
                break
            cost = self._file.fetch(seq)
            if cost is None or cost.kind != "cost" or cost.status != PAID or cost.run in self._imported:
                continue
            solve = None if cost.solve is None else self._file.fetch(cost.solve)
            if (cost.solve is None and cost.phase == "labels") or (solve is not None and is_evaluation(solve, cost)):
                found.setdefault(cost.row, (cost, solve))
        return list(found.values())

    def _costs(self, rows: int) -> list[tuple[int, int, float]]:
        """Number, row of the table and value of costs on record, unchecked."""
        sql = "SELECT seq, row, value FROM calls WHERE kind = 'cost' AND status = ? AND seq <= ?"
        return [one for one in self._file.query(sql, PAID, rows) if type(one[1]) is int and type(one[2]) is float]

    def _at_position(self, call: PendingCall) -> Call | None:
        """The answer that this run recorded at this position, if the call was the same up to rounding."""
        seq = self._index.at_position(call)
        recorded = self._fetch(seq) if seq is not None else None
        if recorded is None or recorded.run != self._run or recorded.position != call.position:
            return None
        found = self._answer(recorded)
        if found is None or call.y_hat is None or found.key == call.key:
            return found if found is not None and found.key == call.key else None
        try:
            y_hat = unpack(found.y_hat, self._n_y)
        except ValueError:
            return None
        near = np.abs(y_hat - call.y_hat).max() <= SAME * max(np.abs(y_hat).max(), 1e-300)
        return found if near else None

    def _answer(self, recorded: Call | None) -> Call | None:
        """The row with the answer: this one, or the row that it refers to, if that has the same key."""
        if recorded is None or recorded.status != REUSED:
            return recorded
        found = None if recorded.of is None else self._fetch(recorded.of)
        same = found is not None and (found.kind, found.key, found.status) == (recorded.kind, recorded.key, PAID)
        return found if same else None

    def _recorded(self, call: Call, *, by_position: bool) -> RecordedAnswer | None:
        try:
            own = call.run == self._run
            return RecordedAnswer(value_of(call), call.seconds, call.seq, own, by_position, call.attempt)
        except ValueError as error:
            self._warn(f"row {call.seq} of {self._file.path} is invalid ({error})")
            return None

    def _fetch(self, seq: int) -> Call | None:
        call = self._file.fetch(seq)
        if call is None:
            self._warn(f"row {seq} of {self._file.path} is damaged")
        return call

    def _warn(self, damage: str) -> None:
        message = f"{damage}; that call is made again. See `fewsolves ledger verify {self._file.path.parent}`"
        warnings.warn(message, stacklevel=2)


def aimed(number: int) -> int:
    """How many of the first `number` calls of a second look are not drawn at random."""
    return min(AIMED, number // 3)


def _covering(costs: Sequence[tuple[int, int, float]], rng: np.random.Generator) -> list[int]:
    """Numbers of calls, one for each row in random order, with an aimed one in each third place at first."""
    if not costs:
        return []
    by_value, newest = sorted(costs, key=lambda one: one[2]), sorted(costs)[-2:]
    special = [by_value[-1], newest[-1], by_value[0], newest[0]][:AIMED]
    drawn = {costs[k][1]: costs[k][0] for k in rng.permutation(len(costs)).tolist()}  # of each row, any one
    order = [drawn[row] for row in rng.permutation(sorted(drawn)).tolist()]
    for k, (seq, _, _) in enumerate(special):
        order.insert(3 * k + 2, seq)
    return order
