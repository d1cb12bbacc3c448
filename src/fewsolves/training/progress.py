"""Progress of training: one live line, or a line at intervals.

    terminal           one line, by rich; without rich as in a pipe
    notebook           one line below the cell
    pipe               a line every so often on stderr
    log                the same through `logging`, logger "fewsolves" at level INFO, where that is set up; a terminal or
                       pipe that a handler writes to gets no other lines

A line comes at the end of an epoch, and between two while solves are paid for: an epoch of a slow solver takes hours.
Every so often: after ten seconds, then after a tenth of the time so far, and at least every ten minutes.
"""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable
from importlib import import_module
from types import TracebackType
from typing import Any, Protocol

from fewsolves._internal.text import clean, duration
from fewsolves.oracle import Calls
from fewsolves.training.history import EpochRecord

LOGGER = logging.getLogger("fewsolves")
FIRST, SHARE, LONGEST = 10.0, 0.1, 600.0  # seconds until the first line; of the time so far; longest interval
REFRESH = 0.25  # seconds between two states of a live line


class Display(Protocol):
    """Shows the newest line."""

    def update(self, line: str) -> None: ...
    def close(self, line: str | None) -> None: ...


class Progress:
    """A callback that shows epoch, regret, what was paid and saved, and the time that is left; for a `with`."""

    def __init__(self, label: str = "", *, quiet: bool = False) -> None:
        """`label` comes before each line; `quiet` leaves terminal and notebook alone, not a log that was set up."""
        self._label, self._quiet = clean(label), quiet
        self._displays: list[Display] = []
        self._began, self._wait = time.monotonic(), 0.0
        self._stage, self._in_start, self._regret, self._best = "", False, "", float("inf")
        self._seen: dict[str, int] = {}  # solves by phase, when the last line was made
        self._shared = 0  # solves that others had paid

    def __enter__(self) -> Progress:
        self._displays = _displays(self._label, self._quiet)
        self._began = time.monotonic()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for display in self._displays:
            display.close(None)
        self._displays = []

    def __call__(self, record: EpochRecord) -> None:
        """An epoch has ended."""
        regret = record.validation_regret
        if regret is not None:
            self._best = min(self._best, regret)
            best = "" if regret == self._best else f" (best {self._best:.4g})"
            self._regret = f"validation regret {regret:.4g}{best}"
        self._in_start = record.stage == "start"
        self._stage = f"{'warm start' if self._in_start else 'training'}, epoch {record.epoch}"
        self._seen = dict(record.solves)
        trusted = "" if record.trusted is None else f"surrogate trusted for {record.trusted:.0%}"
        saved = f", {record.saved:,} saved" if record.saved else ""
        left = "" if record.left is None else f", at most {duration(record.left)} left"
        paid = sum(number for phase, number in record.solves.items() if phase != "test") - self._shared
        self._show(self._stage, self._regret, f"{paid:,} solves paid{saved}", trusted, duration(record.seconds) + left)

    def on_answer(self, calls: Calls) -> None:
        """Calls have been answered; most of the time nothing is due."""
        now, self._shared = time.monotonic(), calls.shared["solve"]
        if now < self._wait:
            return
        self._wait = now + REFRESH
        solves = calls.by_phase("solve")
        grown = [phase for phase, number in solves.items() if number > self._seen.get(phase, 0)]
        during, self._seen = f"paying for {grown[-1].replace('online', 'training')}" if grown else "", solves
        paid = f"{calls.total() - self._shared:,} solves paid"
        stage = "" if grown and self._in_start else self._stage  # a start pays for nothing: what does comes after it
        self._show(stage, during, self._regret, paid, duration(now - self._began))

    def end(self, message: str) -> None:
        """The closing line."""
        line = self._line(message, duration(time.monotonic() - self._began))
        for display in self._displays:
            display.close(line)
        self._displays = []

    def _show(self, *parts: str) -> None:
        line = self._line(*parts)
        for display in self._displays:
            display.update(line)

    def _line(self, *parts: str) -> str:
        return clean(" · ".join(part for part in parts if part))


class Lines:
    """A line every so often, in a pipe or in a log."""

    def __init__(self, write: Callable[[str], None], label: str) -> None:
        self._write, self._label = write, f"{label}: " if label else ""
        self._began = time.monotonic()
        self._due = self._began + FIRST

    def update(self, line: str) -> None:
        now = time.monotonic()
        if now >= self._due:
            self._due = now + min(max(FIRST, SHARE * (now - self._began)), LONGEST)
            self._write(self._label + line)

    def close(self, line: str | None) -> None:
        if line is not None:
            self._write(self._label + line)


class LiveLine:
    """One line of a terminal, by rich."""

    def __init__(self, live: Any, text: Callable[[str], Any], label: str) -> None:
        self._live, self._text, self._label = live, text, label
        live.start()

    def update(self, line: str) -> None:
        self._live.update(self._text(f"{self._label}: {line}"))  # a string would be read as markup

    def close(self, line: str | None) -> None:
        self._live.stop()
        if line is not None:
            self._live.console.print(self._text(f"{self._label}: {line}"), soft_wrap=True)


class NotebookLine:
    """One line below the cell of a notebook."""

    def __init__(self, display: Callable[..., Any], label: str) -> None:
        self._handle, self._label = display(_Plain(""), display_id=True), label
        self._due = 0.0

    def update(self, line: str) -> None:
        now = time.monotonic()
        if now >= self._due:
            self._due = now + REFRESH
            self._handle.update(_Plain(f"{self._label}: {line}"))

    def close(self, line: str | None) -> None:
        if line is not None:
            self._handle.update(_Plain(f"{self._label}: {line}"))


class _Plain:
    """Text that a notebook shows without quotes."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


def _displays(label: str, quiet: bool) -> list[Display]:
    """The displays of this process, by its present stderr, notebook and logging."""
    found: list[Display] = []
    if LOGGER.isEnabledFor(logging.INFO) and LOGGER.hasHandlers():
        found.append(Lines(LOGGER.info, label))
    if not quiet and not (found and _log_is_on_screen()):
        found.append(_on_screen(label or "fewsolves"))
    return found


def _on_screen(label: str) -> Display:
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    if shell is not None and hasattr(shell, "kernel"):
        return NotebookLine(import_module("IPython.display").display, label)
    if sys.stderr.isatty():
        try:
            from rich.console import Console
            from rich.live import Live
            from rich.text import Text
        except ImportError:
            pass
        else:
            return LiveLine(Live(console=Console(stderr=True), refresh_per_second=4, transient=True), Text, label)
    return Lines(lambda line: print(line, file=sys.stderr, flush=True), label)


def _log_is_on_screen() -> bool:
    """Whether a handler of the log writes to stderr or stdout."""
    logger: logging.Logger | None = LOGGER
    while logger is not None:
        if any(getattr(one, "stream", None) in (sys.stderr, sys.stdout) for one in logger.handlers):
            return True
        logger = logger.parent if logger.propagate else None
    return False
