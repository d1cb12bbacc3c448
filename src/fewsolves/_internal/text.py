"""Strings from solvers, results and tables are made harmless before they are shown or exported."""

from __future__ import annotations

import re
import unicodedata
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


def csv_cell(value: Any) -> Any:
    """`value` as a table program shows it and does not compute it: text that begins like a formula gets a quote.

    >>> csv_cell("=cmd()"), csv_cell(-1.5)
    ("'=cmd()", -1.5)
    """
    return f"'{value}" if isinstance(value, str) and value.lstrip(" ").startswith(_FORMULA) else value


def duration(seconds: float) -> str:
    """A time in its own unit.

    >>> duration(0.0042), duration(75), duration(9000), duration(400_000)
    ('4.2 ms', '75 s', '2.5 h', '4.63 days')
    """
    for unit, name, least in ((86400.0, "days", 2.0), (3600.0, "h", 2.0), (60.0, "min", 2.0), (1.0, "s", 1.0)):
        if seconds >= least * unit:
            return f"{seconds / unit:.3g} {name}"
    return f"{1e3 * seconds:.3g} ms"


def _visible(mark: str) -> bool:
    # Cc control, Cf format (bidi overrides, zero width), Cs lone surrogates (not UTF-8), Co private, Cn unassigned
    return unicodedata.category(mark) not in ("Cc", "Cf", "Cs", "Co", "Cn")
