"""Strings from results are made harmless before they are shown: nothing invisible, nothing that turns the line."""

from __future__ import annotations

import re
import unicodedata

_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])")
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


def _visible(mark: str) -> bool:
    # Cc control, Cf format (bidi overrides, zero width), Cs lone surrogates (not UTF-8), Co private, Cn unassigned
    return unicodedata.category(mark) not in ("Cc", "Cf", "Cs", "Co", "Cn")
