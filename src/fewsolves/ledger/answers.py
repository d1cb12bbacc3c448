"""Answers on record, read back: a row is taken only where it is whole and answers what is asked.

The index says where to look, and is read without checksums. So every row is fetched with its own, and must itself say
what it is: of which run, in which place, to which key. What is damaged is said, and that call is made again.
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

SAME = 1e-6  # relative difference of two predictions at one position that other last bits explain


class Answers:
    """Of the calls in a file, for one run; `failures`: those at its own positions are answers too."""

    def __init__(self, file: LedgerFile, run: int, index: Index, n_y: int, *, failures: bool) -> None:
        self._file, self._run, self._index, self._n_y, self._failures = file, run, index, n_y, failures
        self._imported = {run for (run,) in file.query("SELECT id FROM runs WHERE identity = ?", IMPORTED)}

    def find(self, call: PendingCall, *, content: bool) -> RecordedAnswer | None:
        """The recorded answer, by position or, with `content`, by what is asked."""
        found = self._at_position(call)
        if found is not None and (self._failures or found.status == PAID):
            return self._recorded(found, by_position=True)
        seq = self._index.paid[call.kind].get(call.key) if content else None
        found = self._fetch(seq) if seq is not None else None
        if found is None or found.status != PAID or found.key != call.key:
            return None
        return self._recorded(found, by_position=False)

    def recall(self, kind: str, keys: Sequence[bytes]) -> dict[bytes, Any]:
        """What was asked before the checkpoint that this run goes on from, by key."""
        seqs = {key: seq for key in keys if (seq := self._index.remembered[kind].get(key)) is not None}
        calls = {key: self._answer(self._fetch(seq)) for key, seq in seqs.items()}
        whole = {key: call for key, call in calls.items() if call is not None and (call.kind, call.key) == (kind, key)}
        found = {key: self._recorded(call, by_position=False) for key, call in whole.items()}
        return {key: one.value for key, one in found.items() if one is not None}

    def some_costs(self, rows: int, most: int, *, seed: int) -> list[tuple[Call, Call | None]]:
        """At most so many costs of the first `rows`, drawn at random, each with its solve where it is not the label's.

        What was imported is left out: nobody here has paid for it.
        """
        found: list[tuple[Call, Call | None]] = []
        tried = np.random.default_rng(seed).permutation(rows)[: 20 * most] + 1
        for seq in tried.tolist():
            cost = self._file.fetch(seq)
            if cost is None or cost.kind != "cost" or cost.status != PAID or cost.run in self._imported:
                continue
            solve = None if cost.solve is None else self._file.fetch(cost.solve)
            if (cost.solve is None and cost.phase == "labels") or (solve is not None and is_evaluation(solve, cost)):
                found.append((cost, solve))
            if len(found) == most:
                break
        return found

    def _at_position(self, call: PendingCall) -> Call | None:
        """The answer to what this run asked in that place before, where that was the same, up to last bits."""
        seq = self._index.at_position(call)
        asked = self._fetch(seq) if seq is not None else None
        if asked is None or asked.run != self._run or asked.position != call.position:
            return None
        found = self._answer(asked)
        if found is None or call.y_hat is None or found.key == call.key:
            return found if found is not None and found.key == call.key else None
        try:
            recorded = unpack(found.y_hat, self._n_y)
        except ValueError:
            return None
        near = np.abs(recorded - call.y_hat).max() <= SAME * max(np.abs(recorded).max(), 1e-300)
        return found if near else None

    def _answer(self, asked: Call | None) -> Call | None:
        """The row that has the answer: this one, or the one that it refers to, of the same key."""
        if asked is None or asked.status != REUSED:
            return asked
        found = None if asked.of is None else self._fetch(asked.of)
        same = found is not None and (found.kind, found.key, found.status) == (asked.kind, asked.key, PAID)
        return found if same else None

    def _recorded(self, call: Call, *, by_position: bool) -> RecordedAnswer | None:
        try:
            own = call.run == self._run
            return RecordedAnswer(value_of(call), call.seconds, call.seq, own, by_position, call.attempt)
        except ValueError as error:
            self._warn(f"row {call.seq} of {self._file.path} makes no sense ({error})")
            return None

    def _fetch(self, seq: int) -> Call | None:
        call = self._file.fetch(seq)
        if call is None:
            self._warn(f"row {seq} of {self._file.path} is damaged")
        return call

    def _warn(self, what: str) -> None:
        told = f"{what}; that call is made again. See `fewsolves ledger verify {self._file.path.parent}`"
        warnings.warn(told, stacklevel=2)
