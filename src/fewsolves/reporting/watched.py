"""One run as `fewsolves watch` shows it: what its ledger and its progress.json say, and its state in words.

Start, best, time left and calls are those that the run itself has written (`fitting.progress_file`), so that page,
terminal and summary agree.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from fewsolves._internal.text import clean, duration
from fewsolves.errors import LedgerError
from fewsolves.execution.base import PHASES, paid
from fewsolves.fitting.progress_file import RunProgress, read_progress
from fewsolves.ledger.following import Followed, Following, Start
from fewsolves.ledger.sqlite.file import LEDGER_FILE
from fewsolves.training.expected import time_left
from fewsolves.training.reached import Reached

RECENT = 3600.0  # seconds over which the pace is measured
SILENT = 10.0  # multiple of the usual gap between answers after which a run counts as silent
ERROR = "It was ended by "  # before the message of a run that an error ended

State = Literal["waiting", "running", "silent", "gone", "failed", "stopped", "ended"]
UNDER_WAY: tuple[State, ...] = ("running", "silent")
NEEDS_ATTENTION: tuple[State, ...] = ("silent", "gone", "failed")


@dataclass(frozen=True)
class Watched:
    """A run at one moment."""

    folder: Path
    title: str
    state: State
    message: str  #: the state in a sentence or two
    start: Start | None = None
    run: Followed | None = None
    progress: RunProgress | None = None
    clock: float = 0.0

    @property
    def reached(self) -> Reached:
        return Reached() if self.progress is None else self.progress.reached

    @property
    def method(self) -> str:
        return clean(str((self.start.terms if self.start else {}).get("method") or "not recorded"), 60)

    @property
    def solves(self) -> int:
        """Paid by this run."""
        return 0 if self.run is None else self.run.paid("solve") - self.run.shared

    @property
    def limits(self) -> dict[str, float]:
        """Of its budget."""
        given = self.start.terms.get("budget") if self.start else None
        names = ("solves", "cost_calls", "seconds")
        found = {name: given.get(name) for name in names} if isinstance(given, Mapping) else {}
        numbers = {name: value for name, value in found.items() if isinstance(value, int | float)}
        return {name: value for name, value in numbers.items() if value is not True and 0 < value < 1e15}

    @property
    def used(self) -> dict[str, float]:
        """Of the same."""
        assert self.run is not None
        return {"solves": self.solves, "cost_calls": paid(self.counts["cost"]), "seconds": self.run.seconds}

    @property
    def counts(self) -> dict[str, dict[str, int]]:
        """Calls by kind and phase: by the run, or by the ledger where that is ahead."""
        assert self.run is not None
        noted = {} if self.progress is None else self.progress.calls
        return {
            kind: {phase: max(found[phase], noted.get(kind, {}).get(phase, 0)) for phase in PHASES}
            for kind, found in self.run.counts.items()
        }

    @property
    def pace(self) -> float | None:
        """Solves per hour, of the last hour or since the first."""
        return pace([] if self.run is None else self.run.solved_at, self.ended or self.clock)

    @property
    def ended(self) -> float | None:
        return None if self.start is None else self.start.ended

    @property
    def left(self) -> str:
        """The time left in words: the run's own, else what the pace makes of the budget."""
        if self.progress is not None and self.progress.left:
            return self.progress.left.removesuffix(" left").removeprefix("time left ")
        used, found = self.used, self.pace
        if not self.limits:
            return "not known: no budget is set"
        if found is None or used["solves"] <= 0:
            return "not known yet"
        left = [
            3600 * (most - used[name]) / (found * used[name] / used["solves"])
            for name, most in self.limits.items()
            if used[name]
        ]
        return time_left(max(0.0, min(left)), sure=True).removesuffix(" left") if left else "not known yet"


class Watcher:
    """Reads one folder again and again; each time only what is new."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._following: Following | None = None
        self._file: tuple[int, int] | None = None  # device and number of the ledger that is open
        self._seen = False

    def look(self, clock: float) -> Watched:
        """The run as it is now. A folder that was removed or replaced is noticed."""
        name = clean(self.folder.name, 80)
        try:
            start = self._refreshed()
        except (LedgerError, OSError) as error:
            self.close()
            if self._seen and not self.folder.exists():
                gone = "The folder was removed. When a run begins there again, this page follows it."
                return Watched(self.folder, name, "gone", gone)
            return Watched(self.folder, name, "waiting", f"Nothing to follow yet: {clean(str(error), 400)}")
        assert self._following is not None
        self._seen = True
        run, progress = self._following.followed, read_progress(self.folder)
        state, message = state_of(run, start, progress, clock)
        title = clean(self._following.meta.get("problem") or name, 80)
        return Watched(self.folder, title, state, message, start, run, progress, clock)

    def close(self) -> None:
        """The ledger is not needed any more."""
        if self._following is not None:
            self._following.close()
            self._following, self._file = None, None

    def _refreshed(self) -> Start:
        path = self.folder / LEDGER_FILE if self.folder.is_dir() else self.folder
        try:
            found = path.stat()
        except OSError:
            found = None
        there = None if found is None else (found.st_dev, found.st_ino)
        if self._following is not None and there != self._file:
            self.close()  # another ledger lies there, or none
        if self._following is None:
            self._following, self._file = Following(self.folder), there
        return self._following.refresh()


def state_of(run: Followed, start: Start, progress: RunProgress | None, clock: float) -> tuple[State, str]:
    """The state of a run, and a sentence about it."""
    if start.ended is not None:
        ago, message = f"{duration(max(1.0, clock - start.ended), digits=2)} ago", clean(start.message or "", 1000)
        if message.startswith(ERROR):
            return "failed", f"Failed {ago}. {message}"
        stopped = progress is not None and progress.stopped
        return ("stopped", f"Stopped {ago}. {message}") if stopped else ("ended", f"Ended {ago}. {message}")
    if progress is not None and progress.process_is_gone:
        after = "Everything paid is on record: the same call resumes it."
        return "gone", f"The process of this run ({progress.pid}) ended without a result. {after}"
    if not run.solved_at:
        return "running", "The run has begun, and no solve has been answered yet."
    silent, found = clock - run.solved_at[-1], pace(run.solved_at, run.solved_at[-1])
    usual = 3600.0 / found if found else RECENT
    if silent > max(60.0, SILENT * usual):
        return "silent", f"No solve has been answered for {duration(silent)}. Is it still running?"
    return "running", f"Running; the last answer came {duration(max(silent, 1.0), digits=2)} ago."


def pace(solved_at: list[float], clock: float) -> float | None:
    """Solves per hour, of the last hour or since the first."""
    if len(solved_at) < 2:
        return None
    since = max(solved_at[0], clock - RECENT)
    recent = [at for at in reversed(solved_at) if at >= since]
    return len(recent) / max(clock - since, 1.0) * 3600.0 or None
