"""One look per method, which all figures and pages share: its colour, marker and dashes.

Colours are those of Okabe and Ito, and never colour alone: marker and dashes keep methods apart in greyscale, and for
readers who do not tell all colours apart.
Nothing here needs matplotlib.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

# The four tones below become CSS variables in a page (output.py), so that a dark page can exchange them.
INK, MUTED, GRID, PAPER = "#1c2024", "#5b646d", "#e2e5e8", "#ffffff"

BLUE, SKY, GREEN, ORANGE, VERMILION, PURPLE = "#0072B2", "#56B4E9", "#009E73", "#E69F00", "#D55E00", "#CC79A7"
OLIVE, GREY = "#9A8F00", "#7F8790"  # the palette's yellow is too light for lines on white; grey as its ninth colour

SOLID: tuple[float, ...] = ()
DASHED, DOTTED, MIXED = (5.0, 2.0), (1.5, 1.5), (6.0, 2.0, 1.5, 2.0)
LONG, DOUBLE, SPARSE = (11.0, 3.0), (6.0, 2.0, 1.5, 2.0, 1.5, 2.0), (2.0, 5.0)


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
    "sfge": Style(VERMILION, "s", DASHED),
    "pairs": Style(GREEN, "^", DOTTED),
    "shift": Style(ORANGE, "X", LONG),
    "staged": Style(BLUE, "o"),
    "gp-surrogate": Style(SKY, "D"),
    "gp-surrogate-paper": Style(SKY, "D", DASHED, filled=False),
    "memo": Style(GREEN, "h", LONG),
    "spo+": Style(OLIVE, "P", MIXED),
    "pg": Style(PURPLE, "<", SPARSE),
    "perturbed-fy": Style(OLIVE, "p"),
    "lancer": Style(GREY, "v", DOUBLE),
    **{f"lodl-{form}": Style(ORANGE, marker, dashes) for form, (marker, dashes) in _FORMS.items()},
    **{f"egl-{form}": Style(PURPLE, marker, dashes, filled=False) for form, (marker, dashes) in _FORMS.items()},
}
_COLOURS = (GREEN, VERMILION, BLUE, OLIVE, PURPLE, ORANGE, SKY, GREY)
_OTHERS = (("X", SOLID), ("p", DASHED), ("h", DOTTED), ("<", MIXED), (">", SOLID), ("*", DASHED))
_SPARE = [  # neighbours differ in everything; 24 filled ones before the open ones begin
    Style(_COLOURS[i % len(_COLOURS)], *_OTHERS[i % len(_OTHERS)], filled=i < 24) for i in range(48)
]
_FURTHER = [  # marker, dashes and filling of further runs of a method
    (marker, dashes, filled)
    for filled in (True, False)
    for dashes in (DASHED, DOTTED, MIXED, SOLID)
    for marker, _ in _OTHERS
]


def styles_of(methods: Sequence[str]) -> list[Style]:
    """A style for each run by its method: a method has one colour, and further runs of it have other marks.

    Methods of the library keep their style everywhere, others take spare ones in turn.
    """
    first: dict[str, Style] = {}
    strangers = [method for method in dict.fromkeys(methods) if method not in _KNOWN]
    for method in methods:
        first.setdefault(method, _KNOWN.get(method) or _SPARE[strangers.index(method) % len(_SPARE)])
    chosen: list[Style] = []
    for place, method in enumerate(methods):
        before, style = methods[:place].count(method), first[method]
        further = _FURTHER[(before - 1) % len(_FURTHER)]
        chosen.append(style if not before else Style(style.colour, *further))
    return chosen
