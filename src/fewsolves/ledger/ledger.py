"""The durable record of everything paid for: looked up before a call, written before its answer is used.

A call is looked up twice (`ledger.sqlite.index`). First by its position in the run: a restarted run is a replay, which
makes the same calls in the same order, and reuses the recorded answer even where rounding differs on this machine. Then
by its key: any run may have paid for the same call.

Calls are charged before they are made (`ledger.sqlite.charges`). Calls that were charged and never answered count from
the position in the run at which that was noticed, so that a replay finds the budget as it was.
"""

from __future__ import annotations

import bisect
import contextlib
import shutil
import sqlite3
import warnings
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fewsolves.errors import InputError, LedgerError
from fewsolves.execution.base import KINDS, Failure, Kind
from fewsolves.ledger.answers import Answers
from fewsolves.ledger.decision import PackedDecision
from fewsolves.ledger.folder_lock import lock_folder
from fewsolves.ledger.identity.fingerprint import fingerprint
from fewsolves.ledger.identity.held_data import after_run
from fewsolves.ledger.keys import solve_keys
from fewsolves.ledger.opening import (
    HELD,
    ProblemReading,
    ReadingOf,
    check_belongs,
    enter,
    keep_items,
    make_usable,
    note_end,
    note_start,
    now,
    recorded_items,
)
from fewsolves.ledger.place import Place
from fewsolves.ledger.sqlite.charges import Charges
from fewsolves.ledger.sqlite.description import read_description
from fewsolves.ledger.sqlite.file import INSERT, LEDGER_FILE, LedgerFile
from fewsolves.ledger.sqlite.index import Index
from fewsolves.ledger.sqlite.measured import Measured
from fewsolves.ledger.sqlite.rows import (
    PAID,
    REUSED,
    Call,
    PendingCall,
    RecordedAnswer,
    checksum,
    columns_of,
)
from fewsolves.ledger.sqlite.writer import Writer
from fewsolves.ledger.tally import Tally
from fewsolves.problem import Array, Problem


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
        reading: ProblemReading | None = None,
    ) -> None:
        self._reading = reading or ProblemReading()
        self.folder, self.n_y = folder, n_y
        self._wrote = False
        self._start: int | None = None
        make_usable(folder)
        self._lock = lock_folder(folder)
        try:
            new = not (folder / LEDGER_FILE).exists()
            self.file = LedgerFile(folder / LEDGER_FILE, write=True)
            self._place = Place(self.file)
            try:
                check_belongs(self.file, parts, truths, n_y, adopt=adopt, reading=self._reading)
                self.run, self.first = enter(self.file, identity, about or {})
                self._index = Index(self.file, self.run)
                self._charges = Charges(self.file, self.run, self._index.attempts)
                self._measured = Measured(self.file, self.run)
                self._seq, self._replayed = self.file.last(), 0
                for kind, number in self._charges.missing().items():
                    self._charges.give_up(self._seq + 1, kind, number, begun=False)
                self._answers = Answers(self.file, self.run, self._index, n_y, failures=replays_failures)
            except BaseException as error:
                self.file.close()
                if isinstance(error, sqlite3.Error) and not isinstance(error, LedgerError):
                    raise self.file.unusable(error) from error
                raise
        except BaseException:
            self._lock.close()
            raise
        self.closed = False
        self.call_counts: Counter[tuple[str, str, int]] = Counter()
        self._uncounted = list(self._charges.unanswered)
        self.opened_with = self._seq  # rows that were there
        self._had_begun = {kind: self.begun(kind) for kind in KINDS}
        self._tally = Tally(folder, self.run, identity, new=new)
        try:
            self._writer = Writer(
                self.file.connection, self.file.lock, INSERT, lambda row: self._tally.note(last=row[0])
            )
        except BaseException:
            self._tally.close()
            self.file.close()
            self._lock.close()
            raise
        try:
            self._look_for_losses()
        except BaseException:
            self.close()
            raise

    def pending(
        self,
        kind: str,
        phase: str,
        rows: Array,
        keys: Sequence[bytes],
        *,
        y_hat: Array | None = None,
        drawn: tuple[Array, Array] | None = None,
        decision_keys: Sequence[bytes] | None = None,
        solved_by: Sequence[bytes] | None = None,
    ) -> list[PendingCall]:
        """Calls that are about to be made, with their positions.

        Solves have `y_hat`, and `drawn` says how these points were drawn. Cost calls have the keys of the decisions,
        and of the solves that returned them.
        """
        calls, again = [], Counter[int]()
        for i, (row, key) in enumerate(zip(rows.tolist(), keys, strict=True)):
            k = self.call_counts[kind, phase, row] + again[row]
            again[row] += 1
            calls.append(
                PendingCall(
                    kind,
                    phase,
                    row,
                    k,
                    key,
                    None if y_hat is None else y_hat[i],
                    None if drawn is None else (drawn[0][i], np.broadcast_to(drawn[1], drawn[0].shape)[i]),
                    None if decision_keys is None else decision_keys[i],
                    None if solved_by is None else self.paid["solve"].get(solved_by[i]),
                )
            )
        return calls

    def find(self, call: PendingCall, *, content: bool) -> RecordedAnswer | None:
        """The recorded answer, by position or, with `content`, by key."""
        return self._answers.find(call, content=content)

    def made(self, calls: Sequence[PendingCall], recorded: Mapping[int, RecordedAnswer]) -> None:
        """Note that these calls are being made, some of them `recorded`: later calls get the next positions."""
        for call in calls:
            self.call_counts[call.kind, call.phase, call.row] += 1
        self._replayed += sum(one.by_position for one in recorded.values())
        reused = {k: one for k, one in recorded.items() if not one.by_position and one.seq is not None}
        self._put(
            [
                Call(self._next(), self.run, *calls[k].position, calls[k].key, REUSED, of=one.seq)
                for k, one in reused.items()
            ]
        )

    def record(
        self,
        calls: Sequence[PendingCall],
        values: Sequence[PackedDecision | float | Failure],
        seconds: Sequence[float],
        attempts: Sequence[int],
    ) -> None:
        """Write answers as they land; they are durable after `barrier`."""
        rows, at = [], now()
        for call, value, spent, attempt in zip(calls, values, seconds, attempts, strict=True):
            row = Call(self._next(), self.run, *call.position, call.key, PAID, attempt, float(spent))
            rows.append(row._replace(**columns_of(call, value), at=at))
            if not isinstance(value, Failure):
                self.paid[call.kind][call.key] = row.seq
        self._put(rows)

    def note_start(self, terms: Mapping[str, Any]) -> None:
        """Record a start of this run with its terms, for `fewsolves watch`."""
        try:
            self._start = note_start(self.file, self.run, terms)
        except sqlite3.Error as error:
            self.close()
            raise self.file.unusable(error) from error

    def note_end(self, message: str) -> None:
        """Record the end of this start with its last message; if that cannot be written, no paid answer is lost."""
        if self._start is not None:
            with contextlib.suppress(sqlite3.Error):
                note_end(self.file, self._start, message)

    def barrier(self) -> None:
        """Returns when everything recorded is on disk; raises if the file is no longer at its place."""
        try:
            self._writer.barrier()
        except sqlite3.Error as error:
            raise self._unwritable(error) from error
        self._place.check()

    def charge(self, kind: Kind, number: int) -> None:
        """Charge `number` calls that are about to begin; the charge is on disk when this returns."""
        self._place.check()
        try:
            self._charges.begin(kind, number)
        except sqlite3.Error as error:
            raise self._unwritable(error) from error
        self._tally.note(begun={kind: self.begun(kind) for kind in KINDS})

    def measured(self, name: str, measure: Callable[[], float]) -> float:
        """The time that this run recorded under that name, else the one measured now; on disk when this returns."""
        try:
            return self._measured.get(name, measure)
        except sqlite3.Error as error:
            raise self._unwritable(error) from error

    def give_up(self, kind: Kind, number: int) -> None:
        """Record that `number` charged calls will have no answer; the caller has counted them."""
        with contextlib.suppress(sqlite3.Error):  # the next start notices it
            self._charges.give_up(self._seq + 1, kind, number, begun=True)

    def charge_at_least(self, begun: Mapping[Kind, int]) -> None:
        """Charge the calls in `begun`, a count kept elsewhere, that are not on record."""
        for kind, number in begun.items():
            missing = number - self._had_begun[kind]
            if missing > 0:
                self._had_begun[kind] = number
                self.charge_unrecorded(kind, missing)

    def charge_unrecorded(self, kind: Kind, number: int) -> None:
        """Charge `number` calls that will not be recorded; they count once the replay is over."""
        self.charge(kind, number)
        self.give_up(kind, number)
        self._uncounted += self._charges.unanswered[-1:]

    def begun(self, kind: Kind) -> int:
        """Calls of this run in all its starts, without those of the test."""
        return self._charges.begun(kind)

    def sample_paid(self, most: int, *, seed: int) -> list[tuple[Call, Call | None]]:
        """At most `most` recorded costs, drawn at random, each with its solve unless it is a label's."""
        return self._answers.some_costs(self.opened_with, most, seed=seed)

    def unanswered(self, kinds: Collection[str]) -> Iterator[tuple[Kind, int]]:
        """Unanswered calls of earlier starts, each once: those that the replay has reached, and all of `kinds`."""
        left, self._uncounted = self._uncounted, []
        for one in left:
            seq, kind, number = one
            if kind in kinds or self._wrote or self._replayed >= bisect.bisect_left(self._index.own, seq):
                yield kind, number
            else:
                self._uncounted.append(one)

    @property
    def paid(self) -> dict[str, dict[bytes, int]]:
        """Rows of answered calls of all runs, by kind and key."""
        return self._index.paid

    @property
    def replays(self) -> bool:
        """Whether the replay of earlier starts is still under way; no checkpoint is written meanwhile."""
        return not self._wrote and self._replayed < len(self._index.own)

    def recall(self, kind: str, keys: Sequence[bytes]) -> dict[bytes, Any]:
        """Answers from before the checkpoint that this run continues from, without a call."""
        return self._answers.recall(kind, keys)

    def has_paid(self, kind: str, key: bytes) -> bool:
        """Whether some run has paid for this call and has its answer."""
        return key in self.paid[kind]

    @property
    def last(self) -> int:
        """The newest row."""
        return self._seq

    def go_on_from(self, last: int, unanswered: Mapping[Kind, int], counted: Mapping[Kind, int] | None = None) -> None:
        """Continue from a checkpoint: count and remember all calls up to the row `last`.

        Calls had been `counted` by then, and others as `unanswered`. What was counted and is not on record was answered
        all the same: costs of known decisions.
        """
        self._replayed = bisect.bisect_right(self._index.own, last)
        recorded = self._index.attempts_until(last)
        for kind, number in (counted or {}).items():
            self._charges.settle(kind, number - recorded[kind])
        self.count_again(unanswered)
        self.call_counts = self._index.remember(last)

    def count_again(self, unanswered: Mapping[Kind, int]) -> None:
        """Let calls without an answer be counted, but for those `unanswered` ones that had been."""
        self._uncounted, counted = [], Counter(unanswered)
        for one in self._charges.unanswered:
            seq, kind, number = one
            known = min(number, counted[kind])
            counted[kind] -= known
            if number > known:
                self._uncounted.append((seq, kind, number - known))

    def settle(self, counted: Mapping[Kind, int]) -> None:
        """Of the calls without a record, take those as answered that a finished run has `counted` among its calls.

        Costs of known decisions are answered in this process and never recorded.
        """
        for kind, number in counted.items():
            self._charges.settle(kind, number - self._index.attempts[kind])

    def close(self) -> None:
        """Commit what is left and release the lock."""
        self.closed = True
        try:
            self._writer.close()
            self._tally.close()
            with contextlib.suppress(sqlite3.Error, InputError):  # then a few calls that never began count as paid
                self._charges.close()
                self._stop_comparing_changed_data()
        finally:
            self.file.close()
            self._lock.close()

    def _look_for_losses(self) -> None:
        """Warn if recorded rows are gone, and keep their calls charged."""
        missing, begun = self._tally.last - self._seq, self._tally.begun
        self._tally.note(last=self._seq)
        if missing > 0:
            warnings.warn(
                f"the ledger in {self.folder} has lost {missing:,} rows that were on record: its log "
                f"({self.file.path.name}-wal) was removed or cut, or the file is an older one. Those calls are made "
                f"again where they are needed; a budget counts them twice",
                stacklevel=4,
            )
            self.charge_at_least(begun)

    def _stop_comparing_changed_data(self) -> None:
        """Mark data that this run has changed itself: the next start does not compare them."""
        recorded = recorded_items(read_description(self.file).meta.get(HELD))
        updated = after_run(recorded, self._reading.held())
        if recorded and updated != recorded:
            keep_items(self.file, updated)

    def _next(self) -> int:
        self._seq += 1
        return self._seq

    def _unwritable(self, error: sqlite3.Error) -> LedgerError:
        free, advice = f"{shutil.disk_usage(self.folder).free:,} bytes are free there", "make room, or check the disk"
        if getattr(error, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            free, advice = "another program has it open", "end that program"
        elif getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_CANTOPEN:  # of files beside it
            advice = "raise the limit of open files (ulimit -n), or check the rights of its folder"
        return LedgerError(
            f"the ledger {self.file.path} cannot be written ({error}; {free}). Everything used so far is on record: "
            f"{advice}, then start the same run with the same folder again"
        )

    def _put(self, rows: Sequence[Call]) -> None:
        self._wrote = self._wrote or bool(rows)
        self._writer.put([(*row, checksum(row)) for row in rows])


def open_ledger(
    folder: Path, problem: Problem, Y: Array, *, identity: str, about: Mapping[str, Any] | None = None, **options: bool
) -> Ledger:
    """The ledger in `folder` for this problem over the table Y; made where there is none."""
    truths = solve_keys(np.arange(len(Y)), Y, own=problem.instances is not None)
    parts = fingerprint(problem, Y)
    reading = ReadingOf(problem, Y)
    return Ledger(folder, parts, truths, Y.shape[1], identity=identity, about=about, reading=reading, **options)
