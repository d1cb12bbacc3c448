"""HTML for a notebook cell: a table, or facts below a sentence, in the tones of whatever shows them; all is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape

from fewsolves._internal.text import clean

_LINE = "border-bottom: 1px solid rgba(128, 128, 128, 0.35)"
_CELL = f"padding: 0.2em 1em 0.2em 0; {_LINE}; font-variant-numeric: tabular-nums; background: transparent"
_WIDE = "max-width: 60em; overflow-x: auto"


def html_table(heads: Sequence[str], rows: Iterable[Sequence[str]], *, above: str, below: Sequence[str] = ()) -> str:
    """The first column is to the left, the others are numbers; `above` and `below` are sentences."""
    lines = [_line("th", heads), *(_line("td", row) for row in rows)]
    table = f'<table style="border-collapse: collapse">{"".join(lines)}</table>'
    return f'<div style="{_WIDE}">{_sentence(above)}{table}{"".join(map(_sentence, below))}</div>'


def html_facts(
    title: str, facts: Mapping[str, str], *, sentences: Sequence[str] = (), noted: Sequence[str] = (), drawn: str = ""
) -> str:
    """Sentences below a title, `drawn` (an SVG of ours), name and value of each fact, then what must not be missed."""
    rows = "".join(_line("td", pair, numbers=False) for pair in facts.items())
    notes = "".join(f'<li style="margin: 0">{_shown(note)}</li>' for note in noted)
    return (
        f'<div style="{_WIDE}"><p style="margin: 0 0 0.3em"><b>{_shown(title)}</b></p>'
        f"{''.join(map(_sentence, sentences))}{drawn}"
        f'<table style="border-collapse: collapse">{rows}</table>'
        + (f'<p style="margin: 0.6em 0 0"><b>Warnings</b></p><ul style="margin: 0">{notes}</ul>' if notes else "")
        + "</div>"
    )


def _line(tag: str, cells: Sequence[str], *, numbers: bool = True) -> str:
    sides = ["left", *["right" if numbers else "left"] * (len(cells) - 1)]
    made = (
        f'<{tag} style="text-align: {side}; {_CELL}">{_shown(c)}</{tag}>' for side, c in zip(sides, cells, strict=True)
    )
    return f'<tr style="background: transparent">{"".join(made)}</tr>'


def _sentence(text: str) -> str:
    return f'<p style="margin: 0 0 0.5em">{_shown(text)}</p>'


def _shown(text: str) -> str:
    return escape(clean(text))
