"""progress.json in the folder of a run: its state so far, for `fewsolves watch`.

The run writes the same start, best and time left that its progress line shows, and at the end those of its summary; and
its calls, since a ledger has no cost calls at known decisions. A file that cannot be written does not end a run, and
one that is not of this form is ignored.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import socket
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from fewsolves._internal.platform import POSIX
from fewsolves._internal.text import clean
from fewsolves.execution.base import KINDS, PHASES, paid
from fewsolves.fitting.result import Fit
from fewsolves.oracle import Calls
from fewsolves.training.expected import Expected, TimeLeft
from fewsolves.training.history import EpochRecord, History
from fewsolves.training.reached import Reached

FILE_NAME = "progress.json"
MAX_BYTES = 4 << 20  # ten thousand readings take about 400 kB
REFRESH = 2.0  # seconds between two states that are written because calls were answered


@dataclass(frozen=True)
class RunProgress:
    """The content of progress.json."""

    reached: Reached
    readings: tuple[tuple[int, float], ...] = ()  #: solves paid until then, mean regret
    bests: tuple[float, ...] = ()  #: the best so far at each reading, as the run estimates it; empty: not recorded
    stages: tuple[tuple[int, str, bool], ...] = ()  #: solves paid at the end, name or "", whether the change was taken
    ended: bool = False  #: with a result
    stopped: bool = False  #: by the user, before its end
    kept_start: bool = False  #: nothing clearly beat the start
    pid: int = 0
    host: str = ""
    left: str = ""  #: the time left in words, as the progress line has it
    calls: Mapping[str, Mapping[str, int]] = field(default_factory=dict)  #: by kind and phase

    @property
    def process_is_gone(self) -> bool:
        """Whether the process that wrote it was on this machine and is no more."""
        if self.ended or not POSIX or self.pid <= 0 or self.host != socket.gethostname():
            return False
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return True
        except (OSError, OverflowError):
            return False
        return False


class ProgressFile:
    """A callback that keeps the file up to date."""

    def __init__(self, folder: Path, expected: Expected | None = None) -> None:
        """`expected` has the solves that the run will pay, as far as they are known."""
        self._path, self._history, self._calls = folder / FILE_NAME, History(Calls()), Calls()
        self._left = TimeLeft(expected or Expected(), time.monotonic())
        self._due = 0.0

    def begin(self, history: History) -> None:
        """The run begins, or goes on."""
        self._history = history
        self._write_state()

    def __call__(self, record: EpochRecord) -> None:
        now = time.monotonic()
        self._left.note_epoch(record, now)
        if record.validation_regret is not None or now >= self._due:
            self._write_state()

    def on_answer(self, calls: Calls) -> None:
        """Calls have been answered; most of the time nothing is due."""
        self._calls, now = calls, time.monotonic()
        self._left.note_answer(calls, now)
        if now >= self._due:
            self._write_state()

    def end(self, fitted: Fit) -> None:
        """The run has a result."""
        summary, readings = fitted.summary, _readings(fitted.history)
        stages = list(zip(readings[1:], fitted.report.get("stages", ()), strict=False))  # the first is of the start
        facts = {
            "ended": True,
            "stopped": fitted.interrupted,
            "kept_start": summary.kept_start,
            "stages": [[solves, str(one["stage"]), bool(one["accepted"])] for (solves, _), one in stages],
        }
        if stages and summary.reached.start is not None:
            levels = estimated_levels(summary.reached, [one for _, one in stages])
            facts["readings"] = [readings[0], *zip((solves for (solves, _), _ in stages), levels, strict=True)]
            facts["bests"] = []  # the stages say which changes were taken
        self._calls = fitted.oracle.calls
        self._write(fitted.history, summary.reached, facts)

    def _write_state(self) -> None:
        now = time.monotonic()
        self._due = now + REFRESH
        self._write(self._history.records, self._history.reached, {"left": self._left.words(now)})

    def _write(self, records: Sequence[EpochRecord], reached: Reached, facts: Mapping[str, Any]) -> None:
        known: dict[str, Any] = {
            "format": 1,
            "pid": os.getpid(),
            "host": socket.gethostname(),
            "readings": _readings(records),
            "bests": [one.best_regret for one in _read(records)],
            "stages": _stages(_read(records)),
        }
        known["calls"] = {kind: self._calls.by_phase(kind) for kind in KINDS}
        text = json.dumps(known | reached._asdict() | dict(facts))
        beside = self._path.with_name(f".{FILE_NAME}.{os.getpid()}.part")
        with contextlib.suppress(OSError):
            beside.write_text(text, encoding="utf-8")
            beside.replace(self._path)


def estimated_levels(reached: Reached, stages: Sequence[Mapping[str, Any]]) -> list[float]:
    """The regret after each stage by its estimated change; the last change that was taken leads to the result.

    The estimates use the predictions of all rows, as the summary does. The readings are means over the evidence rows.
    """
    assert reached.start is not None
    levels, best, last = list[float](), reached.start, -1
    for k, one in enumerate(stages):
        before = reached.start if str(one["stage"]).startswith("stage 1:") else best
        levels.append(before + float(one["change"]))
        if one["accepted"]:
            best, last = levels[-1], k
    if last >= 0 and reached.best is not None:
        levels[last] = reached.best
    return levels


def _stages(read: Sequence[EpochRecord]) -> list[tuple[int, str, bool]]:
    """The stages so far. A change was taken if the best moved with it, and not back to the start."""
    return [
        (paid(one.solves), one.judged, one.best_regret not in (before.best_regret, one.start_regret))
        for before, one in pairwise(read)
        if one.judged is not None
    ]


def _readings(records: Sequence[EpochRecord]) -> list[tuple[int, float]]:
    """Solves paid until then, and the regret, of each reading."""
    return [(paid(one.solves), one.validation_regret or 0.0) for one in _read(records)]


def _read(records: Sequence[EpochRecord]) -> list[EpochRecord]:
    """Those with a reading of the regret."""
    return [one for one in records if one.validation_regret is not None and math.isfinite(one.validation_regret)]


def read_progress(folder: Path) -> RunProgress | None:
    """The progress in a folder; None where the file is missing or has another form."""
    path = folder / FILE_NAME
    try:
        if not path.is_file() or path.stat().st_size > MAX_BYTES:
            return None
        found = json.loads(path.read_text(encoding="utf-8"))
        return RunProgress(
            Reached(_regret(found["start"]), _regret(found["best"])),
            tuple((int(solves), float(regret)) for solves, regret in found["readings"] if math.isfinite(regret)),
            stages=tuple((int(solves), str(name), bool(taken)) for solves, name, taken in found.get("stages", ())),
            bests=_bests(found),
            ended=bool(found.get("ended")),
            stopped=bool(found.get("stopped")),
            kept_start=bool(found.get("kept_start")),
            pid=int(found["pid"]),
            host=str(found["host"]),
            left=clean(str(found.get("left", "")), 100),
            calls={kind: {phase: int(counts[phase]) for phase in PHASES} for kind, counts in _counts(found)},
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
        return None


def _counts(found: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    """Calls by kind; none in a file of an earlier version."""
    return [(kind, found["calls"][kind]) for kind in KINDS] if "calls" in found else []


def _bests(found: Mapping[str, Any]) -> tuple[float, ...]:
    """None in a file of an earlier version, or where one of them is not known."""
    known = [_regret(one) for one in found.get("bests", ())]
    complete = [one for one in known if one is not None]
    return tuple(complete) if len(complete) == len(found["readings"]) else ()


def _regret(value: Any) -> float | None:
    return None if value is None or not math.isfinite(value) else float(value)
