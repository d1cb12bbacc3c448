"""The solves that a run will pay, as far as they are known before it begins, and the time left.

The time left is the shortest of these, whichever are known:

    solves     those that are left of the run's total, at the pace of the part under way
    epochs     those that are left, at the pace so far (`EpochRecord.left`, which also knows the budget's solves)
    seconds    those that are left of the budget, at the share of the time that the user's functions take

Where none is known, the usual number of solves of the method gives an estimate, or the part under way has a time.
Before the training, solves that are fast have a time for the labels alone: what training computes takes longer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from fewsolves._internal.text import duration
from fewsolves.oracle import Budget, Calls
from fewsolves.training.history import EpochRecord

LABEL_PHASES = ("probe", "labels")
ENOUGH = 0.1  # share of the time so far after which a part has a pace of its own
FAST = 0.05  # seconds of a solve up to which its pace says little of a training's


@dataclass(frozen=True)
class Expected:
    """Solves by part of a run; None where nothing is known before."""

    labels: int | None = None  #: best decisions at the true parameters
    training: int | None = None  #: everything after them
    probes: int = 0  #: solves that try the problem; no bar counts them
    used_up: bool = False  #: whether a run usually pays all of it, so that the time left is an estimate and no bound
    budget: Budget = field(default_factory=Budget)  #: the most that may be paid
    usual: int | None = None  #: all solves of a usual run with this method, where that was measured; no bound

    def bar(self, solves: Mapping[str, int]) -> tuple[str, int, int | None]:
        """The part under way, the solves paid in it, and their total."""
        labels = solves.get("labels", 0)
        others = sum(number for phase, number in solves.items() if phase not in (*LABEL_PHASES, "test"))
        if others == 0:
            return "labels", labels, None if self.labels is None else max(self.labels, labels)
        return "training", others, None if self.training is None else max(self.training, others)


def time_left(seconds: float, *, sure: bool) -> str:
    """In words, with two digits: a bound where it is sure, else an estimate.

    >>> time_left(187.3, sure=False), time_left(0.2, sure=True)
    ('about 3.1 min left', 'at most 1 s left')
    """
    return f"{'at most' if sure else 'about'} {_rough(seconds)} left"


def _rough(seconds: float) -> str:
    return duration(max(seconds, 1.0), digits=2)


class _Point(NamedTuple):
    """The calls that this process has paid until a moment."""

    now: float
    paid: int
    spent: float  # seconds in the user's functions, added up over the workers


class TimeLeft:
    """The time left of a run in words, at every moment of it."""

    def __init__(self, expected: Expected, now: float) -> None:
        """The run begins `now`."""
        self._expected = expected
        self._origin = _Point(now, 0, 0.0)
        self._last = self._origin
        self._training: _Point | None = None  # when it began
        self._calls: Calls | None = None
        self._epoch: tuple[EpochRecord, float] | None = None  # the last one, and when it ended

    def note_epoch(self, record: EpochRecord, now: float) -> None:
        """An epoch has ended."""
        self._epoch = record, now

    def note_answer(self, calls: Calls, now: float) -> None:
        """Calls have been answered; those that are replayed or that others have paid say nothing of the pace."""
        self._calls = calls
        if self._epoch is not None and self._epoch[0].stage == "start":
            # the start is done; it pays for nothing, and so its time is no part of the pace
            rested = max(0.0, self._epoch[1] - self._last.now)
            self._origin, self._last = (one._replace(now=one.now + rested) for one in (self._origin, self._last))
            self._epoch = None
        paid = calls.total() - calls.shared["solve"] - calls.replayed["solve"]
        before, self._last = self._last, _Point(now, paid, calls.seconds)
        if paid <= self._origin.paid:
            self._origin = self._last
        elif self._training is None and self._expected.bar(calls.by_phase("solve"))[0] == "training":
            self._training = before

    def words(self, now: float) -> str:
        """Such as "at most 14 s left"."""
        expected, epoch = self._expected, self._epoch
        if self._training is None and (self._seconds_per_solve or FAST) < FAST:
            return self._part_left()
        parts = (expected.labels, expected.training, expected.probes)
        whole = None if None in parts else sum(part or 0 for part in parts)
        bounds = [*self._by_solves(whole), *self._by_seconds()]
        if epoch is not None and epoch[0].left is not None:
            bounds.append(epoch[0].left - (now - epoch[1]))
        if bounds:
            return time_left(min(bounds), sure=not expected.used_up)
        usual = self._by_solves(expected.usual)
        return time_left(usual[0], sure=False) if usual and usual[0] > 0 else self._part_left()

    def _part_left(self) -> str:
        """Where the whole is not known: the time of the labels or of the start, else when more will be known."""
        record = None if self._epoch is None else self._epoch[0]
        name, done, total = self._expected.bar({} if self._calls is None else self._calls.by_phase("solve"))
        if name == "labels" and total is not None and done < total and self._seconds_per_solve is not None:
            return f"labels done in about {_rough((total - done) * self._seconds_per_solve)}"
        if record is not None and record.stage == "train":
            return "time left not known: no budget is set"
        if record is not None and record.epochs is not None and record.epoch < record.epochs:
            return f"start done in at most {_rough(record.seconds / record.epoch * (record.epochs - record.epoch))}"
        return f"time left known after the first {'solves' if done == 0 else 'epoch'}"

    def _by_solves(self, total: int | None) -> list[float]:
        """Seconds until this many solves are paid; empty where the number or the pace is not known."""
        if total is None or self._calls is None or self._seconds_per_solve is None:
            return []
        done = self._calls.total() - self._calls.shared["solve"]
        return [max(0, total - done) * self._seconds_per_solve]

    @property
    def _seconds_per_solve(self) -> float | None:
        """The pace of the part under way, or since the first solve; None before it."""
        first, last, training = self._origin, self._last, self._training
        if training is not None and last.now - training.now >= ENOUGH * (last.now - first.now):
            first = training
        if last.paid <= first.paid:
            return None
        passed = last.now - first.now
        if training is None:  # what came before the first solve is no part of the pace
            passed = min(passed, last.spent - first.spent)
        return passed / (last.paid - first.paid)

    def _by_seconds(self) -> list[float]:
        """Seconds until those of the budget are spent; empty where there are none, or none were spent yet."""
        most, first, last = self._expected.budget.seconds, self._origin, self._last
        if most is None or last.spent <= first.spent:
            return []
        return [max(0.0, most - last.spent) * (last.now - first.now) / (last.spent - first.spent)]
