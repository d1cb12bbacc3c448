"""A program in a terminal of our own, and the text on its screen as a page."""

from __future__ import annotations

import codecs
import fcntl
import os
import re
import struct
import subprocess
import termios
import threading
from collections.abc import Mapping, Sequence
from html import escape
from itertools import groupby
from pathlib import Path

ROWS = 60
PART = re.compile(r"\x1b\[([?\d;]*)([A-Za-z])|\x1b.|([\r\n])|([^\x1b\r\n]+)")
STYLE = """
:root { color-scheme: light dark; --paper: #ffffff; --ink: #1c2024; --muted: #5b646d; --rule: #d5dade }
@media (prefers-color-scheme: dark) { :root { --paper: #14171a; --ink: #e6e9ec; --muted: #9aa3ab; --rule: #333a40 } }
body { margin: 0; padding: 14px; background: var(--paper); color: var(--ink) }
body { font: 13px/1.4 "DejaVu Sans Mono", monospace }
@media (max-width: 500px) { body { font-size: 11.5px } }
pre { margin: 0; font: inherit; white-space: pre }
pre + pre { margin-top: 12px; padding-top: 12px; border-top: 1px solid var(--rule) }
b { color: var(--muted); font-weight: normal }
"""


class Terminal:
    """A program in a terminal; it understands what progress lines use: lines, colours and erasing."""

    def __init__(self, command: Sequence[str | Path], columns: int, *, folder: Path, env: Mapping[str, str]) -> None:
        self._columns, self._lines, self._row, self._column, self._colour = columns, [[]], 0, 0, ""
        self._lines: list[list[tuple[str, str]]]  # characters with their colours
        ours, theirs = os.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, columns, 0, 0))
        plain = {"TERM": "xterm-256color", "COLORTERM": "truecolor", "COLUMNS": str(columns)}
        streams = {"stdin": theirs, "stdout": theirs, "stderr": theirs}
        self.process = subprocess.Popen(command, cwd=folder, env={**env, **plain}, **streams)  # type: ignore[call-overload]
        os.close(theirs)
        self._lock, self._reader = threading.Lock(), threading.Thread(target=self._follow, args=(ours,))
        self._reader.start()

    def wait(self) -> int:
        """Until the program has ended; its exit code."""
        self._reader.join()
        return int(self.process.wait())

    def html(self) -> str:
        """What is on the screen now."""
        with self._lock:
            lines = [list(line) for line in self._lines]
        while lines and not any(character.strip() for character, _ in lines[-1]):
            lines.pop()
        return "\n".join(map(_coloured, lines))

    def _follow(self, source: int) -> None:
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        while True:
            try:
                read = os.read(source, 1 << 16)
            except OSError:  # the program has closed its end
                read = b""
            if not read:
                os.close(source)
                return
            with self._lock:
                for code, letter, control, text in PART.findall(decoder.decode(read)):
                    self._take(code, letter, control, text)

    def _take(self, code: str, letter: str, control: str, text: str) -> None:
        first = int(re.sub(r"\D.*", "", code) or 0)
        if text:
            for character in text:
                self._put(character)
        elif control == "\r":
            self._column = 0
        elif control == "\n":
            self._move(self._row + 1)
        elif letter == "A":
            self._move(max(0, self._row - max(first, 1)))
        elif letter == "B":
            self._move(self._row + max(first, 1))
        elif letter == "K":
            self._lines[self._row][0 if first == 2 else self._column :] = []
        elif letter == "m":
            self._colour = _colour(code)

    def _move(self, row: int) -> None:
        self._row = row
        while len(self._lines) <= row:
            self._lines.append([])

    def _put(self, character: str) -> None:
        if self._column == self._columns:
            self._move(self._row + 1)
            self._column = 0
        line = self._lines[self._row]
        line += [(" ", "")] * (self._column + 1 - len(line))
        line[self._column] = character, self._colour
        self._column += 1


NAMED = {"31": "#c4342b", "32": "#3f9142", "33": "#b7791f", "35": "#a0489c", "36": "#1793a5", "90": "#8d949b"}


def _colour(code: str) -> str:
    """Named, of 24 bits, or of the greys among 256; others are that of the text."""
    parts = code.split(";")
    if parts[-1] in NAMED and parts[0] != "38":
        return NAMED[parts[-1]]
    if "2" in parts and parts[:1] == ["38"]:
        return f"rgb({','.join(parts[2:5])})"
    if parts[:2] == ["38", "5"] and int(parts[2]) >= 232:
        grey = 8 + 10 * (int(parts[2]) - 232)
        return f"rgb({grey},{grey},{grey})"
    return ""


def _coloured(line: Sequence[tuple[str, str]]) -> str:
    pieces = []
    for colour, some in groupby(line, key=lambda one: one[1]):
        text = escape("".join(character for character, _ in some))
        pieces.append(f'<span style="color: {colour}">{text}</span>' if colour else text)
    return "".join(pieces).rstrip()


def page(blocks: Sequence[tuple[str, str]]) -> str:
    """A page of commands, each with the HTML of what it shows."""
    shown = "".join(f"<pre><b>$ {escape(command)}</b>\n{html}</pre>" for command, html in blocks)
    head = '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
    return f"<!doctype html><html><head>{head}<style>{STYLE}</style></head><body>{shown}</body></html>"
