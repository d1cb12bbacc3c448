"""Strings from solvers, results and tables are made harmless before they are shown or exported."""

from __future__ import annotations

import difflib
import math
import re
import shutil
import unicodedata
from collections.abc import Iterable
from typing import Any

_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])")
_FORMULA = (
    "=",
    "+",
    "-",
    "@",
    "\t",
    "\r",
    "\n",
    "|",
    "\uff1d",
    "\uff0b",
    "\uff0d",
    "\uff20",
)  # wide forms are read alike
_LIMIT = 4000  # a solver may put its whole log into a message


def clean(text: str, limit: int = _LIMIT) -> str:
    """Without terminal sequences, control, direction and other invisible characters; white space becomes one space.

    >>> clean("red \\x1b[31malert\\x1b[0m\\u202e txt")
    'red alert txt'
    """
    text = _ANSI.sub("", text[: 4 * limit])
    shown = "".join(" " if mark.isspace() else mark for mark in text if mark.isspace() or _visible(mark))
    shown = " ".join(shown.split())
    return shown if len(shown) <= limit else shown[: limit - 1] + "…"


def plain(text: str) -> str:
    """`text` line by line as it is, but for what a terminal would not show as text.

    >>> plain("red \\x1b[31malert\\x1b[0m\\n  twice")
    'red alert\\n  twice'
    """
    return "".join(mark for mark in _ANSI.sub("", text) if mark in "\n\t" or _visible(mark))


def meant(name: object, known: Iterable[str], *, listed: str = "") -> str:
    """The end of a message about an unknown name: the nearest known one, or all of them.

    `listed` says where all of them are listed, for a suggestion that may be wrong.

    >>> meant("stagd", ["pfl", "staged"]), meant("xyz", ["pfl", "staged"])
    ("did you mean 'staged'?", 'choose one of pfl, staged')
    """
    names = list(known)
    near = difflib.get_close_matches(str(name).lower(), names, n=1, cutoff=0.55)
    if not near:
        return f"choose one of {', '.join(names)}"
    return f"did you mean {near[0]!r}?" + (f" {listed}" if listed else "")


def csv_cell(value: Any) -> Any:
    """`value` as a table program shows it and does not compute it: text that begins like a formula gets a quote.

    >>> csv_cell("=cmd()"), csv_cell(-1.5)
    ("'=cmd()", -1.5)
    """
    return f"'{value}" if isinstance(value, str) and value.lstrip(" ").startswith(_FORMULA) else value


def number(value: float) -> str:
    """A figure as people write it: three or four digits, never an exponent unless it is tiny or astronomical.

    >>> number(69.787), number(566_512.3), number(0.07861), number(7.0), number(-1234.5)
    ('69.8', '566,500', '0.0786', '7', '-1,234')
    """
    size = abs(value)
    if not math.isfinite(size) or 0 < size < 1e-4 or size >= 1e15:
        return f"{value:.3g}"
    magnitude = math.floor(math.log10(size)) if size else 0
    digits = 3 if magnitude < 2 else 4
    places = digits - 1 - magnitude
    text = f"{round(value, places):,.{max(places, 0)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def duration(seconds: float, digits: int = 3) -> str:
    """A time in its own unit.

    >>> duration(8.6e-6), duration(0.0042), duration(75), duration(9000), duration(400_000), duration(101.0, digits=2)
    ('8.6 µs', '4.2 ms', '75 s', '2.5 h', '4.63 days', '100 s')
    """
    for unit, name, least in ((86400.0, "days", 2.0), (3600.0, "h", 2.0), (60.0, "min", 2.0), (1.0, "s", 1.0)):
        if seconds >= least * unit:
            return f"{float(f'{seconds / unit:.{digits}g}'):,.10g} {name}"
    return f"{1e6 * seconds:.{digits}g} µs" if 0 < seconds < 1e-3 else f"{1e3 * seconds:.{digits}g} ms"


def _visible(mark: str) -> bool:
    # Cc control, Cf format (bidi overrides, zero width), Cs lone surrogates (not UTF-8), Co private, Cn unassigned
    return unicodedata.category(mark) not in ("Cc", "Cf", "Cs", "Co", "Cn")


def text_width(most: int) -> int:
    """Columns for text: those of the terminal, between 40 and `most`; `most` where there is no terminal."""
    return max(40, min(most, shutil.get_terminal_size((most, 24)).columns))
