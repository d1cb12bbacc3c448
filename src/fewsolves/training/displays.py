"""Where progress is shown: a terminal, a notebook, a pipe or a log."""

from __future__ import annotations

import dataclasses
import logging
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from importlib import import_module
from typing import Any, Protocol

from fewsolves._internal.text import clean

LOGGER = logging.getLogger("fewsolves")
FIRST, SHARE, LONGEST = 10.0, 0.1, 600.0  # seconds until the first line; of the time so far; longest interval
REFRESH = 0.25  # seconds between two states of a live line
BAR = 24  # characters of a bar in a terminal
BAR_STYLES = {"style": "bright_black", "complete_style": "cyan", "finished_style": "green"}  # the terminal's own


@dataclass(frozen=True)
class State:
    """The part of a run that is under way, and the facts beside its bar."""

    name: str
    done: int
    total: int | None
    facts: tuple[str, ...]
    unit: str = ""
    beside: State | None = None  #: another part that is not over, counted at the same moment

    @property
    def counted(self) -> str:
        """Such as "labels 225/300"."""
        most = "" if self.total is None else f"/{self.total:,}"
        return f"{self.name} {self.done:,}{most}" + (f" {self.unit}" if self.unit else "")

    def __str__(self) -> str:
        return clean(" · ".join((self.counted, *self.facts)))


class Bars:
    """The newest state of each part; a part that another one follows is complete, unless that says how far it is."""

    def __init__(self) -> None:
        self._parts: dict[str, State] = {}

    def take(self, state: State) -> list[State]:
        """All parts so far, with this newest state."""
        for name, one in self._parts.items():
            if name != state.name and one.total is not None:
                self._parts[name] = dataclasses.replace(one, done=one.total)
        if state.beside is not None and state.beside.name in self._parts:
            self._parts[state.beside.name] = state.beside
        self._parts[state.name] = state
        return list(self._parts.values())


class Display(Protocol):
    """Shows the newest state."""

    def update(self, state: State) -> None: ...
    def close(self, line: str | None) -> None: ...


class Lines:
    """A line every so often, in a pipe or in a log."""

    def __init__(self, write: Callable[[str], None], label: str) -> None:
        self._write, self._label = write, f"{label}: " if label else ""
        self._began = time.monotonic()
        self._due = self._began + FIRST

    def update(self, state: State) -> None:
        now = time.monotonic()
        if now >= self._due:
            self._due = now + min(max(FIRST, SHARE * (now - self._began)), LONGEST)
            self._write(f"{self._label}{state}")

    def close(self, line: str | None) -> None:
        if line is not None:
            self._write(self._label + line)


class LiveBars:
    """A bar for each part of the run so far, in a terminal, by rich."""

    def __init__(self, live: Any, label: str) -> None:
        self._live, self._label = live, label
        self._bars = Bars()
        self._text, self._bar = import_module("rich.text").Text, import_module("rich.progress_bar").ProgressBar
        self._group, self._columns = import_module("rich.console").Group, import_module("rich.table").Table
        live.start()

    def update(self, state: State) -> None:
        table = self._columns.grid(padding=(0, 1))
        for one in self._bars.take(state):
            shown = {"total": one.total, "completed": one.done, "width": BAR} | BAR_STYLES
            bar = self._bar(**shown) if one.total else self._text("")
            table.add_row(self._text(one.counted), bar)  # a string would be read as markup
        line = self._text(clean(f"{self._label}: {' · '.join(state.facts)}"))
        self._live.update(self._group(table, line))

    def close(self, line: str | None) -> None:
        self._live.stop()
        if line is not None:
            self._live.console.print(self._text(f"{self._label}: {line}"))


class NotebookBars:
    """The same below the cell of a notebook."""

    def __init__(self, display: Callable[..., Any], label: str) -> None:
        self._handle, self._label = display(_Shown("", ""), display_id=True), label
        self._bars = Bars()
        self._due = 0.0

    def update(self, state: State) -> None:
        parts, now = self._bars.take(state), time.monotonic()
        if now >= self._due:
            self._due = now + REFRESH
            rows = "".join(map(_html_row, parts))
            facts = escape(clean(" · ".join(state.facts)))
            html = f'<table style="border: 0">{rows}</table><div>{escape(self._label)}: {facts}</div>'
            self._handle.update(_Shown(f"{self._label}: {state}", html))

    def close(self, line: str | None) -> None:
        if line is not None:
            self._handle.update(_Shown(f"{self._label}: {line}", f"<div>{escape(f'{self._label}: {line}')}</div>"))


def _html_row(one: State) -> str:
    cell = "background: transparent; text-align: left; padding: 0 0.8em 0 0; border: 0; white-space: nowrap"
    bar = "" if one.total is None else f'<progress value="{one.done}" max="{one.total}" style="width: 16em"></progress>'
    counted = f'<td style="{cell}">{escape(clean(one.counted))}</td>'
    return f'<tr style="background: transparent">{counted}<td style="{cell}">{bar}</td></tr>'


class _Shown:
    """Text that a notebook shows without quotes, and as HTML where it can."""

    def __init__(self, text: str, html: str) -> None:
        self._text, self._html = text, html

    def __repr__(self) -> str:
        return self._text

    def _repr_html_(self) -> str:
        return self._html


def log_is_on() -> bool:
    """Whether the logger "fewsolves" is set up for messages at level INFO."""
    return LOGGER.isEnabledFor(logging.INFO) and LOGGER.hasHandlers()


def displays(label: str, quiet: bool) -> list[Display]:
    """The displays of this process, by its present stderr, notebook and logging."""
    found: list[Display] = []
    if log_is_on():
        found.append(Lines(LOGGER.info, label))
    if not quiet and not (found and _log_is_on_screen()):
        found.append(_on_screen(label or "fewsolves"))
    return found


def _on_screen(label: str) -> Display:
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    if shell is not None and hasattr(shell, "kernel"):
        return NotebookBars(import_module("IPython.display").display, label)
    if sys.stderr.isatty():
        try:
            from rich.console import Console
            from rich.live import Live
        except ImportError:
            pass
        else:
            return LiveBars(Live(console=Console(stderr=True), refresh_per_second=4, transient=True), label)
    return Lines(lambda line: print(line, file=sys.stderr, flush=True), label)


def _log_is_on_screen() -> bool:
    """Whether a handler of the log writes to stderr or stdout."""
    logger: logging.Logger | None = LOGGER
    while logger is not None:
        if any(getattr(one, "stream", None) in (sys.stderr, sys.stdout) for one in logger.handlers):
            return True
        logger = logger.parent if logger.propagate else None
    return False
