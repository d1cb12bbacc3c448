"""One look per method, the same in every figure: colours of Okabe and Ito, and never colour alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

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
_COLOURS = (GREEN, VERMILLION, BLUE, OLIVE, PURPLE, ORANGE, SKY, GREY)
_OTHERS = (("X", SOLID), ("p", DASHED), ("h", DOTTED), ("<", MIXED), (">", SOLID), ("*", DASHED))
_SPARE = [  # neighbours differ in everything; 24 filled ones before the open ones begin
    Style(_COLOURS[i % len(_COLOURS)], *_OTHERS[i % len(_OTHERS)], filled=i < 24) for i in range(48)
]


def styles(runs: Sequence[Run]) -> dict[str, Style]:
    """A style for each label; methods of the library keep theirs on every page, others take the spare ones in turn."""
    labels = {group.label: group.method for group in groups(runs)}
    chosen: dict[str, Style] = {}
    # a method under its own name comes before its variants, which are labelled "name (what differs)"
    for label, method in sorted(labels.items(), key=lambda pair: pair[0] != pair[1]):
        known = _KNOWN.get(method)
        if known is not None and known not in chosen.values():
            chosen[label] = known
        else:
            chosen[label] = _SPARE[sum(style in _SPARE for style in chosen.values()) % len(_SPARE)]
    return chosen
