"""Methods look different to readers who do not tell all colours apart, and in a grey print."""

import itertools

import numpy as np
import pytest

from fewsolves.methods.registry import METHODS
from fewsolves.reporting.looks import INK, PAPER, styles_of

VISIONS = {  # matrices on linear RGB: Machado, Oliveira and Fernandes 2009, severity 1; grey by luminance
    "normal": np.eye(3),
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
    "grey": [[0.2126, 0.7152, 0.0722]] * 3,
}
TO_XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
)
WHITE = np.array([0.95047, 1.0, 1.08883])
DARK = "#1a1e23"  # the paper of a dark page, in report.css
CLEAR = 10.0  # distance of two colours in CIELAB; about 2.3 can just be noticed
FORMS = ("lodl-", "egl-")  # eight variants of two methods, with a colour for each method


def linear(colour):
    values = np.array([int(colour[k : k + 2], 16) for k in (1, 3, 5)]) / 255
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def seen(colour, vision):
    """A colour in CIELAB."""
    x, y, z = np.cbrt(TO_XYZ @ np.clip(np.asarray(VISIONS[vision]) @ linear(colour), 0, 1) / WHITE)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def contrast(colour, paper):
    low, high = sorted(float(TO_XYZ[1] @ linear(one)) for one in (colour, paper))
    return (high + 0.05) / (low + 0.05)


def in_print(vision, a, b):
    """Forms in a grey print: marks alone and dashes alone do not keep eight of them apart from all others."""
    return vision == "grey" and (a.startswith(FORMS) or b.startswith(FORMS))


@pytest.fixture(scope="module")
def pairs_of_styles():
    styles = dict(zip(METHODS, styles_of(list(METHODS)), strict=True))
    return list(itertools.combinations(styles.items(), 2))


@pytest.mark.parametrize("vision", VISIONS)
def test_looks_lines_differ_in_colour_or_dashes(pairs_of_styles, vision):
    alike = [
        (a, b)
        for (a, one), (b, other) in pairs_of_styles
        if one.dashes == other.dashes and np.linalg.norm(seen(one.colour, vision) - seen(other.colour, vision)) < CLEAR
    ]
    assert [pair for pair in alike if not in_print(vision, *pair)] == []


@pytest.mark.parametrize("vision", VISIONS)
def test_looks_dots_differ_in_colour_or_mark(pairs_of_styles, vision):
    alike = [
        (a, b)
        for (a, one), (b, other) in pairs_of_styles
        if (one.marker, one.filled) == (other.marker, other.filled)
        and np.linalg.norm(seen(one.colour, vision) - seen(other.colour, vision)) < CLEAR
    ]
    assert [pair for pair in alike if not in_print(vision, *pair)] == []


def test_looks_colours_are_legible_on_light_and_dark_pages():
    for style in styles_of(list(METHODS)):
        assert contrast(style.colour, PAPER) > 2.2
        assert style.colour == INK or contrast(style.colour, DARK) > 3.0, "a page exchanges the ink by its theme"
