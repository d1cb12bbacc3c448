"""An empty figure in the house style: its sizes and scales, drawn in the colours and styles of `reporting.looks`.

Sizes are in inches and axes are placed by hand, so that labels can be placed exactly.
"""

from __future__ import annotations

import functools
import io
import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ParamSpec, TypeVar

import matplotlib.style
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.markers import MarkerStyle
from matplotlib.path import Path
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator, SymmetricalLogLocator
from matplotlib.transforms import Affine2D

from fewsolves.reporting.groups import groups
from fewsolves.reporting.looks import GRID, INK, MUTED, PAPER, Style, styles_of
from fewsolves.reporting.runs import Run

P = ParamSpec("P")
R = TypeVar("R")

FIGURE_WIDTH = 7.5
FONT = 8.0
_LOOK: dict[str, Any] = {
    "figure.dpi": 72,  # one pixel is one point: label placement and SVG share their unit
    "figure.facecolor": "none",
    "savefig.facecolor": "auto",
    "font.size": FONT,
    "text.color": INK,
    "text.parse_math": False,  # names come from data: a dollar is a dollar
    "axes.facecolor": "none",
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "axes.axisbelow": True,
    "axes.titlesize": FONT,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "grid.color": GRID,
    "grid.linewidth": 0.6,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.0,
    "xtick.major.size": 3,
    "ytick.major.size": 0,
    "svg.hashsalt": "fewsolves",
}


class ThemedFigure(Figure):
    """A figure drawn in INK, MUTED, GRID and PAPER, which a page may exchange for its own tones."""

    def _repr_png_(self) -> tuple[bytes, dict[str, int]]:
        """For a notebook: on white, since it cannot know the notebook's tones, and as wide as on a page."""
        return png(self), {"width": round(100 * self.get_figwidth())}

    def savefig(self, fname: Any, **options: Any) -> None:
        """Write to a file of the user's, by default sharp and on white; a page sets its own tones and size."""
        of_ours = {} if isinstance(fname, io.BytesIO) else {"dpi": 200, "facecolor": PAPER}
        super().savefig(fname, **{**of_ours, **options})


def house_style(draw: Callable[P, R]) -> Callable[P, R]:
    """Whatever matplotlibrc or the caller has set, inside `draw` the house style holds; afterwards theirs again."""

    @functools.wraps(draw)
    def styled(*args: P.args, **kwargs: P.kwargs) -> R:
        with matplotlib.style.context(["default", _LOOK]), warnings.catch_warnings():
            # a name in a script that the measuring font lacks is drawn with the reader's fonts
            warnings.filterwarnings("ignore", message=r"Glyph .* missing from font", category=UserWarning)
            return draw(*args, **kwargs)

    return styled


@house_style
def png(figure: Figure) -> bytes:
    """The picture at 200 dpi, a figure of ours on white."""
    buffer = io.BytesIO()
    face = PAPER if isinstance(figure, ThemedFigure) else "auto"
    figure.savefig(buffer, format="png", dpi=200, facecolor=face, metadata={"Software": None})
    return buffer.getvalue()


def panels(
    rows: int,
    columns: int,
    *,
    height: float = 2.75,
    right: float = 0.2,
    gap: float = 0.6,
    width: float = FIGURE_WIDTH,
    titled: bool = False,
) -> tuple[ThemedFigure, list[list[Axes]]]:
    """`rows` x `columns` axes; `right`: margin that direct labels may use; `titled` or two rows: room for titles."""
    left, top, bottom = 0.62, 0.3 if titled or rows > 1 else 0.1, 0.48
    figure = ThemedFigure(figsize=(width, rows * height))
    FigureCanvasAgg(figure)
    cell = (width - left - right - (columns - 1) * gap) / columns
    grid = []
    for row in range(rows):
        base = (rows - 1 - row) * height + bottom
        grid.append(
            [
                figure.add_axes(
                    (
                        (left + column * (cell + gap)) / width,
                        base / (rows * height),
                        cell / width,
                        (height - top - bottom) / (rows * height),
                    )
                )
                for column in range(columns)
            ]
        )
    return figure, grid


_LETTERS = {Path.MOVETO: "M", Path.LINETO: "L", Path.CURVE3: "Q", Path.CURVE4: "C", Path.CLOSEPOLY: "Z"}


def styles(runs: Sequence[Run]) -> dict[str, Style]:
    """A style for each label; methods of the library keep theirs on every page, others take the spare ones in turn."""
    labels = {group.label: group.method for group in groups(runs)}
    # a method under its own name comes before its variants, which are labelled "name (what differs)"
    ordered = sorted(labels.items(), key=lambda pair: pair[0] != pair[1])
    return dict(zip((label for label, _ in ordered), styles_of([method for _, method in ordered]), strict=True))


def mark(style: Style, size: float = 5.5) -> dict[str, Any]:
    """Marker arguments of a style for `plot` and `errorbar`."""
    return {
        "marker": style.marker,
        "markersize": size * (0.85 if style.marker == "D" else 1.0),  # a diamond's diagonals make it look larger
        "color": style.colour,
        "markerfacecolor": style.colour if style.filled else PAPER,
        "markeredgecolor": style.colour if not style.filled else PAPER,
        "markeredgewidth": 1.3 if not style.filled else 0.6,
    }


def dash(line: Line2D, style: Style) -> None:
    if style.dashes:
        line.set_dashes(style.dashes)


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


def text_size(axes: Axes, text: str) -> tuple[float, float]:
    """Width and height in points."""
    probe = axes.text(0, 0, text)
    box = probe.get_window_extent()
    probe.remove()
    return box.width, box.height


def scale_values(axes: Axes, values: Iterable[float]) -> None:
    """Logarithmic y where regrets span more than a factor of five, else linear from zero."""
    given = np.array([value for value in values if np.isfinite(value)])
    if given.size and given.min() > 0 and given.max() / given.min() > 5.0:
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(base=10, subs=(1.0, 2.0, 5.0)))
        axes.set_ylim(given.min() / 1.25, given.max() * 1.25)
    elif given.size:
        low, high = min(0.0, float(given.min())), max(0.0, float(given.max()))
        axes.set_ylim(low * 1.1, high * 1.1 or 1.0)
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(compact))


def scale_counts(axes: Axes, values: Iterable[float]) -> None:
    """Counts on x: zero has its place, then decades."""
    most = max([value for value in values if np.isfinite(value)], default=1.0)
    axes.set_xscale("symlog", linthresh=1.0, linscale=0.5)
    axes.xaxis.set_major_locator(SymmetricalLogLocator(base=10, linthresh=1.0))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(compact))
    axes.set_xlim(-0.25, max(most, 1.0) * 2.0)


def compact(value: float, _position: int | None = None) -> str:
    """Axis numbers that stay short: 0.05, 20, 3k, 1.5M."""
    for unit, name in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= unit:
            return f"{value / unit:g}{name}".replace("-", "−")
    return f"{value:g}".replace("-", "−")
