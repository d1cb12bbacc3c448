"""The durable record of everything paid for: looked up before a call, written before its answer is used.

A request is looked up twice. By its position in the run first: a run that is started again asks the same questions in
the same order, and takes the recorded answer even where this machine computes other last bits. Then by its content:
whoever asked the same before has paid for it.

    own        position -> seq    rows of this run, or what they refer to
    content    (kind, key) -> seq    rows of all runs that have an answer
    until      requests up to this seq are behind a checkpoint: they are remembered, not asked again
"""

from __future__ import annotations

import shutil
import sqlite3
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fewsolves.errors import LedgerError
from fewsolves.execution.base import Failure
from fewsolves.ledger.file import FILE, INSERT, LedgerFile
from fewsolves.ledger.fingerprint import fingerprint
from fewsolves.ledger.keys import solve_key
from fewsolves.ledger.lock import FolderLock
from fewsolves.ledger.opening import check_belongs, enter, make_usable
from fewsolves.ledger.rows import KNOWN, PAID, Call, Found, Request, answer, checksum, columns_of, unpack
from fewsolves.ledger.writer import Writer
from fewsolves.problem import Array, Problem

SAME = 1e-6  # relative difference of two predictions at one position that other last bits explain


class Ledger:
    """Open for one run; the folder is locked until `close`."""

    def __init__(
        self,
        folder: Path,
        parts: Mapping[str, str],
        truths: Sequence[bytes],
        n_y: int,
        *,
        identity: str,
        about: Mapping[str, Any] | None = None,
        adopt: bool = False,
        replays_failures: bool = False,
    ) -> None:
        self.folder, self.n_y, self.replays_failures = folder, n_y, replays_failures
        make_usable(folder)
        try:
            self._lock = FolderLock(folder)
        except LedgerError:
            raise
        except OSError as error:
            raise LedgerError(f"{folder} cannot be written to: {error.strerror}; give another folder") from error
        try:
            self.file = LedgerFile(folder / FILE, write=True)
            try:
                check_belongs(self.file, parts, truths, n_y, adopt=adopt)
                self.run, self.first = enter(self.file, identity, about or {})
                self._index()
            except sqlite3.Error as error:
                raise self.file.unusable(error) from error
        except BaseException:
            self._lock.close()
            raise
        self.closed = False
        self.asked: Counter[tuple[str, str, int]] = Counter()
        self._writer = Writer(self.file.connection, self.file.lock, INSERT)

    def requests(
        self,
        kind: str,
        phase: str,
        rows: Array,
        keys: Sequence[bytes],
        columns: Sequence[Any],
        solves: Sequence[int | None] | None = None,
        drawn: tuple[Array, Array] | None = None,
    ) -> list[Request]:
        """Name the requests by their positions; `columns` are those of the user's function."""
        requests, again = [], Counter[int]()
        for i, (row, key) in enumerate(zip(rows.tolist(), keys, strict=True)):
            k = self.asked[kind, phase, row] + again[row]
            again[row] += 1
            how = None if drawn is None else (drawn[0][i], np.broadcast_to(drawn[1], drawn[0].shape)[i])
            what = columns[-1][i]
            y_hat, decision = (what, None) if kind == "solve" else (None, what)
            requests.append(Request(kind, phase, row, k, key, y_hat, decision, solves[i] if solves else None, how))
        return requests

    def made(self, requests: Sequence[Request]) -> None:
        """These requests are being made: count them, so that the next ones get the next positions."""
        for request in requests:
            self.asked[request.kind, request.phase, request.row] += 1

    def find(self, request: Request, *, content: bool) -> Found | None:
        """The recorded answer, by position or, with `content`, by what is asked."""
        seq = self.own.get(request.position)
        call = self._fetch(seq) if seq is not None else None
        if call is not None and self._is(call, request) and (self.replays_failures or call.status == PAID):
            return self._found(call)
        seq = self.content.get((request.kind, request.key)) if content else None
        call = self._fetch(seq) if seq is not None else None
        if call is None or call.status != PAID or call.key != request.key:
            return None
        found = self._found(call)
        if found is not None:
            row = Call(self._next(), self.run, *request.position, request.key, KNOWN, of=call.seq)
            self._put([row])
            self.own[request.position] = call.seq
        return found

    def record(
        self,
        requests: Sequence[Request],
        values: Sequence[Any],
        seconds: Sequence[float],
        attempts: Sequence[int],
    ) -> None:
        """Write answers as they land; they are durable after `barrier`."""
        rows = []
        for request, value, spent, attempt in zip(requests, values, seconds, attempts, strict=True):
            row = Call(self._next(), self.run, *request.position, request.key, PAID, attempt, float(spent))
            rows.append(row._replace(**columns_of(request, value)))
            self.own[request.position] = row.seq
            if not isinstance(value, Failure):
                self.content[request.kind, request.key] = row.seq
        self._put(rows)

    def barrier(self) -> None:
        """Returns when everything recorded is on disk."""
        try:
            self._writer.barrier()
        except sqlite3.Error as error:
            free = shutil.disk_usage(self.folder).free
            raise LedgerError(
                f"the ledger {self.file.path} cannot be written ({error}; {free:,} bytes are free there). Everything "
                f"used so far is on record: make room, then start the same run with the same folder again"
            ) from error

    def recall(self, kind: str, keys: Sequence[bytes]) -> dict[bytes, Any]:
        """What was asked before the checkpoint that this run goes on from, without a request."""
        calls = {key: self._fetch(self.remembered[kind, key]) for key in keys if (kind, key) in self.remembered}
        found = {key: self._found(call) for key, call in calls.items() if call is not None}
        return {key: one.value for key, one in found.items() if one is not None}

    def seq_of(self, key: bytes) -> int | None:
        """The row of the solve with this content, for the cost calls that follow from it."""
        return self.content.get(("solve", key))

    @property
    def last(self) -> int:
        """The newest row."""
        return self._seq

    def go_on_from(self, last: int) -> None:
        """Everything up to the row `last` was asked before a checkpoint: count and remember it."""
        columns = "seq, run, kind, phase, row, key, status, of"
        self.asked.clear()
        for seq, run, kind, phase, row, key, status, of in self.file.scan(columns):
            if run == self.run and seq <= last:
                self.asked[kind, phase, row] += 1
                self.remembered[kind, key] = of if status == KNOWN else seq

    def close(self) -> None:
        """Commits what is left and lets others in."""
        self.closed = True
        self._writer.close()
        self.file.close()
        self._lock.close()

    def _is(self, call: Call, request: Request) -> bool:
        """Whether the recorded call asked the same, up to last bits."""
        if call.kind != request.kind:
            return False
        if request.y_hat is None or call.key == request.key:
            return call.key == request.key
        try:
            recorded = unpack(call.y_hat, self.n_y)
        except ValueError:
            return False
        return bool(np.abs(recorded - request.y_hat).max() <= SAME * max(np.abs(recorded).max(), 1e-300))

    def _found(self, call: Call) -> Found | None:
        try:
            return Found(answer(call), call.seconds, call.seq, call.run == self.run, call.attempt)
        except ValueError as error:
            self._warn(f"row {call.seq} of {self.file.path} makes no sense ({error})")
            return None

    def _fetch(self, seq: int) -> Call | None:
        call = self.file.fetch(seq)
        if call is None:
            self._warn(f"row {seq} of {self.file.path} is damaged")
        return call

    def _warn(self, what: str) -> None:
        warnings.warn(f"{what}; that call is made again. See `fewsolves ledger verify {self.folder}`", stacklevel=2)

    def _next(self) -> int:
        self._seq += 1
        return self._seq

    def _put(self, rows: Sequence[Call]) -> None:
        self._writer.put([(*row, checksum(row)) for row in rows])

    def _index(self) -> None:
        self.own: dict[tuple[str, str, int, int], int] = {}
        self.content: dict[tuple[str, bytes], int] = {}
        self.remembered: dict[tuple[str, bytes], int] = {}
        self._seq = self.file.last()
        for seq, run, kind, phase, row, k, key, status, of in self.file.scan(
            "seq, run, kind, phase, row, k, key, status, of"
        ):
            if run == self.run:
                self.own[kind, phase, row, k] = of if status == KNOWN else seq
            if status == PAID:
                self.content[kind, key] = seq


def open_ledger(
    folder: Path, problem: Problem, Y: Array, *, identity: str, about: Mapping[str, Any] | None = None, **options: bool
) -> Ledger:
    """The ledger in `folder` for this problem over the table Y; made where there is none."""
    own = problem.instances is not None
    truths = [solve_key(y, row if own else None) for row, y in enumerate(Y)]
    parts = fingerprint(problem, Y)
    return Ledger(folder, parts, truths, Y.shape[1], identity=identity, about=about, **options)
