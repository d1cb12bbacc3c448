"""Figures of tables: ratios as dots with their intervals, and curves; what the paper printed is open and grey."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from fewsolves.reporting.figures.canvas import compact, house_style, panels
from fewsolves.reporting.looks import BLUE, INK, MUTED, PAPER
from fewsolves_studies.paper.tables import Dot


@house_style
def dots(given: Mapping[str, Sequence[Dot]], *, of: str) -> Figure:
    """A panel per benchmark, a line per method; further left is better."""
    names = list(dict.fromkeys(dot.name for panel in given.values() for dot in panel))
    columns = 2
    rows = -(-len(given) // columns)
    figure, grid = panels(rows, columns, height=0.8 + 0.19 * len(names), gap=0.25, width=9.0, right=0.15)
    for axes, (title, panel) in zip((axes for row in grid for axes in row), given.items(), strict=False):
        _dots(axes, names, panel)
        axes.set_title(title)
        axes.set_xlabel(f"{of}: ours ● with its 95 % interval, printed ○")
    for row in grid:
        _make_room(row)
        row[1].set_yticklabels([])
    return figure


@house_style
def curves(given: Mapping[str, Sequence[Dot]], *, of: str, along: str) -> Figure:
    """A panel per benchmark or method, from left to right along the names, which are numbers or sizes."""
    figure, [row] = panels(1, len(given), height=2.7, gap=0.42, width=9.0, titled=True)
    for axes, (title, panel) in zip(row, given.items(), strict=True):
        at = np.arange(len(panel))
        values = np.array([dot.value for dot in panel])
        half = np.array([dot.half or 0.0 for dot in panel])
        printed = np.array([np.nan if dot.printed is None else dot.printed for dot in panel])
        axes.errorbar(at, values, yerr=half, color=BLUE, linewidth=1.5)
        axes.plot(at, printed, color=MUTED, dashes=(4, 2), linewidth=1)
        whole: dict[str, Any] = {
            "marker": "o",
            "linestyle": "none",
            "markersize": 4.5,
            "clip_on": False,
        }  # also those at zero
        axes.plot(at, values, color=BLUE, zorder=3, **whole)
        axes.plot(at, printed, color=MUTED, markerfacecolor=PAPER, zorder=4, **whole)
        axes.set_xticks(at, [dot.name for dot in panel])
        axes.set_title(title)
        axes.set_xlabel(along)
        axes.set_ylim(0.0, 1.05 * float(np.nanmax([*(values + half), *printed, 0.0])) or 1.0)
        axes.yaxis.set_major_formatter(FuncFormatter(compact))
    row[0].set_ylabel(f"{of}: ours ●, printed ○")
    return figure


def _dots(axes: Axes, names: Sequence[str], panel: Sequence[Dot]) -> None:
    seen = [dot.value for dot in panel] + [dot.printed for dot in panel if dot.printed]
    axes.set_xscale("log")
    axes.set_xlim(min(0.1, 0.8 * min(seen, default=0.1)), max(3.0, 1.3 * max(seen, default=3.0)))
    axes.xaxis.set_major_locator(LogLocator(base=10, subs=(1.0, 2.0, 5.0)))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(compact))
    axes.axvline(1.0, color=MUTED, linewidth=0.6, dashes=(4, 3), zorder=1)
    for dot in panel:
        y = names.index(dot.name)
        if dot.half is not None:
            low = max(dot.value - dot.half, axes.get_xlim()[0])
            axes.plot([low, dot.value + dot.half], [y, y], color=BLUE, linewidth=1.3, zorder=2)
        axes.plot(dot.value, y, "o", color=BLUE, markersize=5, zorder=3)
        if dot.printed is not None:
            axes.plot(dot.printed, y, "o", color=INK, markerfacecolor="none", markersize=6.5, zorder=4)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.set_yticks(range(len(names)), names)


def _make_room(row: Sequence[Axes]) -> None:
    """The names stand to the left of the first panel of a row."""
    room = 0.15
    for axes, left in zip(row, (0.0, 0.5), strict=True):
        box = axes.get_position()
        axes.set_position((room + left * (1 - room) + 0.01, box.y0, (1 - room) / 2 - 0.035, box.height))
