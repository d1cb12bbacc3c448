"""Progress of training: one bar for each part of a run with its total, the budget, best and start regret, time left.

    terminal           a bar and a line, by rich; without rich as in a pipe
    notebook           the same below the cell
    pipe               a line every so often on stderr
    log                the same through `logging`, logger "fewsolves" at level INFO, where that is set up; a terminal or
                       pipe that a handler writes to gets no other lines

A line comes at the end of an epoch, and between two while solves are paid for: an epoch of a slow solver takes hours.
Every so often: after ten seconds, then after a tenth of the time so far, and at least every ten minutes.
`displays` has the places where it is shown.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from types import TracebackType

from fewsolves._internal.text import clean, duration
from fewsolves.execution.base import paid
from fewsolves.oracle import Calls
from fewsolves.training.displays import Display, State, displays
from fewsolves.training.expected import Expected, TimeLeft
from fewsolves.training.history import EpochRecord
from fewsolves.training.reached import Reached

REFRESH = 0.25  # seconds between two states of a live line


class Progress:
    """A callback that shows the part under way, what was paid and saved, the regret and the time left; for a `with`."""

    def __init__(
        self, label: str = "", *, quiet: bool = False, expected: Expected | None = None, refresh: float = REFRESH
    ) -> None:
        """`label` comes before each line; `quiet` leaves terminal and notebook alone, not a log that was set up."""
        self._label, self._quiet, self._refresh = clean(label), quiet, refresh
        self._displays: list[Display] = []
        self._expected = expected or Expected()
        self._began, self._wait = time.monotonic(), 0.0
        self._left = TimeLeft(self._expected, self._began)
        self._reached, self._epoch = Reached(), ""
        self._shared = 0  # solves that others had paid

    def __enter__(self) -> Progress:
        self._displays = displays(self._label, self._quiet)
        self._began = time.monotonic()
        self._left = TimeLeft(self._expected, self._began)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._each(lambda display: display.close(None))
        self._displays = []

    def __call__(self, record: EpochRecord) -> None:
        """An epoch has ended."""
        now = time.monotonic()
        self._reached = Reached(record.start_regret, record.best_regret)
        self._left.note_epoch(record, now)
        most = "" if record.epochs is None else f"/{record.epochs:,}"
        self._epoch = f"epoch {record.epoch:,}{most}"
        if record.stage == "start":
            if record.epochs != 1:  # else it is solved in closed form, and is over
                labels = State(*self._expected.bar(record.solves), ())  # most of them may come after the start
                words = (self._left.words(now),)
                self._show(State("start", record.epoch, record.epochs, words, unit="epochs", beside=labels))
            self._epoch = ""  # what is paid for next comes after the start
            return
        trusted = "" if record.trusted is None else f"surrogate trusted for {record.trusted:.0%}"
        saved = f"{record.saved:,} solves saved" if record.saved else ""
        self._show(self._state(record.solves, self._left.words(now), saved, trusted))

    def on_answer(self, calls: Calls) -> None:
        """Calls have been answered; most of the time nothing is due."""
        now, self._shared = time.monotonic(), calls.shared["solve"]
        self._left.note_answer(calls, now)
        if now < self._wait:
            return
        self._wait = now + self._refresh
        self._show(self._state(calls.by_phase("solve"), self._left.words(now)))

    def end(self, message: str) -> None:
        """The closing line."""
        line = clean(f"{message} · {duration(time.monotonic() - self._began)}")
        self._each(lambda display: display.close(line))
        self._displays = []

    def _state(self, solves: Mapping[str, int], left: str, *more: str) -> State:
        name, done, total = self._expected.bar(solves)
        own = paid(solves) - self._shared
        most = self._expected.budget.solves
        budget = f"{own:,} solves paid" if most is None else f"budget {own:,}/{most:,}"
        epoch = self._epoch if name == "training" and total is None else ""
        return State(
            name, done, total, tuple(part for part in (epoch, budget, *more, str(self._reached), left) if part)
        )

    def _show(self, state: State) -> None:
        self._each(lambda display: display.update(state))

    def _each(self, show: Callable[[Display], None]) -> None:
        for display in list(self._displays):
            try:
                show(display)
            except (OSError, ValueError):  # its stream was closed, or the reader of the pipe has gone
                self._displays.remove(display)
