"""The marker of a method as a small picture, for tables beside the figures."""

from __future__ import annotations

from matplotlib.markers import MarkerStyle
from matplotlib.path import Path
from matplotlib.transforms import Affine2D

from fewsolves.report.figures.style import INK, PAPER, Style

_LETTERS = {Path.MOVETO: "M", Path.LINETO: "L", Path.CURVE3: "Q", Path.CURVE4: "C", Path.CLOSEPOLY: "Z"}


def key(style: Style) -> str:
    """An `<svg>` of 14 x 14 points; decorative, since the name of the method stands beside it."""
    marker = MarkerStyle(style.marker)
    size = 8.0 if style.marker == "D" else 9.5
    path = marker.get_path().transformed(marker.get_transform() + Affine2D().scale(size, -size).translate(7, 7))
    shape = " ".join(
        _LETTERS[code] + ("" if code == Path.CLOSEPOLY else " ".join(f"{value:.2f}" for value in vertices))
        for vertices, code in path.iter_segments()
    )
    colour = f"var(--ink, {INK})" if style.colour == INK else style.colour
    fill = colour if style.filled else f"var(--paper, {PAPER})"
    return (
        f'<svg class="key" viewBox="0 0 14 14" aria-hidden="true"><path d="{shape}" '
        f'style="fill: {fill}; stroke: {colour}; stroke-width: {0.4 if style.filled else 1.5}"/></svg>'
    )
