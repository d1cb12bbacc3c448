"""One look per method, the same in every figure: colours of Okabe and Ito, and never colour alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from fewsolves.report.groups import groups
from fewsolves.report.runs import Run

# The four tones below become CSS variables in a page (output.py), so that a dark page can exchange them.
INK, MUTED, GRID, PAPER = "#1c2024", "#5b646d", "#e2e5e8", "#ffffff"

BLUE, SKY, GREEN, ORANGE, VERMILLION, PURPLE = "#0072B2", "#56B4E9", "#009E73", "#E69F00", "#D55E00", "#CC79A7"
OLIVE, GREY = "#9A8F00", "#7F8790"  # the palette's yellow is too light for lines on white; grey as its ninth colour

SOLID: tuple[float, ...] = ()
DASHED, DOTTED, MIXED = (5.0, 2.0), (1.5, 1.5), (6.0, 2.0, 1.5, 2.0)


@dataclass(frozen=True)
class Style:
    """How a method is drawn; marker and dashes keep it apart in greyscale."""

    colour: str
    marker: str
    dashes: tuple[float, ...] = SOLID
    filled: bool = True


_FORMS = {  # the convex surrogates of LODL and EGL share a colour per family, a marker per form
    "mse": ("o", SOLID),
    "quadratic": ("s", DASHED),
    "directed-mse": ("^", DOTTED),
    "directed-quadratic": ("D", MIXED),
}
_KNOWN = {
    "pfl": Style(INK, "o", DOTTED),
    "sfge": Style(VERMILLION, "s", DASHED),
    "gp-surrogate": Style(BLUE, "D"),
    "gp-surrogate-paper": Style(SKY, "D", DASHED, filled=False),
    "memo": Style(GREEN, "^"),
    "spo+": Style(OLIVE, "P", MIXED),
    "lancer": Style(GREY, "v", DASHED),
    **{f"lodl-{form}": Style(ORANGE, marker, dashes) for form, (marker, dashes) in _FORMS.items()},
    **{f"egl-{form}": Style(PURPLE, marker, dashes, filled=False) for form, (marker, dashes) in _FORMS.items()},
}
_SPARE = [
    Style(colour, marker, dashes, filled)
    for filled, (marker, dashes), colour in product(
        (True, False),
        (("X", SOLID), ("p", DASHED), ("h", DOTTED), ("<", MIXED), (">", SOLID), ("*", DASHED)),
        (GREEN, VERMILLION, BLUE, OLIVE, PURPLE, ORANGE, SKY, GREY),
    )
]


def styles(runs: Sequence[Run]) -> dict[str, Style]:
    """A style for each label; methods of the library keep theirs on every page, others take the spare ones in turn."""
    chosen: dict[str, Style] = {}
    spare = 0
    for group in groups(runs):
        known = _KNOWN.get(group.method)
        if group.label in chosen:
            continue
        if known is not None and known not in chosen.values():
            chosen[group.label] = known
        else:
            chosen[group.label] = _SPARE[spare % len(_SPARE)]
            spare += 1
    return chosen
