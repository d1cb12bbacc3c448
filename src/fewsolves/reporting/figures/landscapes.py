"""Regret as a function of the prediction, along a line: what the solver gives, and what training sees of it."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter
from numpy.typing import ArrayLike, NDArray

from fewsolves.reporting.figures.canvas import compact, dash, house_style, panels
from fewsolves.reporting.figures.labels import label_ends
from fewsolves.reporting.looks import (
    BLUE,
    DASHED,
    DOTTED,
    GREEN,
    INK,
    MIXED,
    MUTED,
    ORANGE,
    PURPLE,
    SOLID,
    VERMILION,
    Style,
    styles_of,
)

Line = tuple[NDArray[np.float64], NDArray[np.float64]]

_LINES = [(BLUE, SOLID), (VERMILION, DASHED), (GREEN, MIXED), (PURPLE, DOTTED), (ORANGE, DASHED)]
_TRUE = ("true regret", Style(INK, "", SOLID), 0.9)


@house_style
def smoothing(
    grid: ArrayLike, regret: ArrayLike, smoothed: Mapping[float, ArrayLike], points: ArrayLike | None = None
) -> Figure:
    """Stochastic smoothing, figure 1 of the paper: regret on a grid, smoothed for each sigma, where samples lie."""
    figure, [[axes]] = panels(1, 1, height=3.0, right=1.3)
    curves = {_TRUE: _numbers(grid, regret)}
    for i, (sigma, values) in enumerate(sorted(smoothed.items())):
        colour, dashes = _LINES[i % len(_LINES)]
        curves[f"σ = {sigma:g}", Style(colour, "", dashes), 1.5] = _numbers(grid, values)
    if points is not None:
        at = np.asarray(points, dtype=np.float64)
        axes.plot(  # short ticks on the floor of the picture hide nothing
            at, np.full(at.shape, 0.015), linestyle="none", marker="|", markersize=6, markeredgewidth=0.7,
            color=MUTED, transform=axes.get_xaxis_transform(), label="samples",
        )  # fmt: skip
        _key(axes)
    _lines(axes, curves)
    axes.set_xlabel("Prediction")
    return figure


@house_style
def landscape(
    *,
    regret: tuple[ArrayLike, ArrayLike] | None = None,
    smoothed: tuple[ArrayLike, ArrayLike] | None = None,
    belief: tuple[ArrayLike, ArrayLike, ArrayLike] | None = None,
    paid: tuple[ArrayLike, ArrayLike] | None = None,
    places: Mapping[str, float] = MappingProxyType({}),
    title: str = "",
) -> Figure:
    """A slice through one example's regret, and its surrogate there: each is (positions, values).

    `belief` is the surrogate's (positions, mean, std), `paid` what it learned from, and `places` are marked by name.
    """
    figure, [[axes]] = panels(1, 1, height=3.3, right=1.55, titled=bool(title))
    curves: dict[tuple[str, Style, float], Line] = {}
    if regret is not None:
        curves[_TRUE] = _numbers(*regret)
    if smoothed is not None:
        curves["smoothed regret", Style(VERMILION, "", DASHED), 1.6] = _numbers(*smoothed)
    if belief is not None:
        surrogate = Style(styles_of(["gp-surrogate"])[0].colour, "", SOLID)  # as in all figures
        x, centre, width = (np.asarray(values, dtype=np.float64) for values in belief)
        for factor, alpha in ((2, 0.15), (1, 0.25)):
            low, high = centre - factor * width, centre + factor * width
            axes.fill_between(x, low, high, color=surrogate.colour, alpha=alpha, linewidth=0, label=f"± {factor} std")
        curves["surrogate mean", surrogate, 1.6] = x, centre
    if paid is not None:
        at, found = _numbers(*paid)
        axes.plot(at, found, linestyle="none", marker="o", markersize=4.5, color=INK, zorder=4, label="paid solves")
    if belief is not None or paid is not None:
        _key(axes)
    _lines(axes, curves)
    for name, place in places.items():
        axes.axvline(place, color=MUTED, linewidth=0.8, dashes=(4, 3), label=f"_{name}")
        axes.annotate(
            name, (place, 1.0), (3, -2), xycoords=("data", "axes fraction"), textcoords="offset points",
            ha="left", va="top", color=MUTED,
        )  # fmt: skip
    axes.set_title(title)
    axes.set_xlabel("Position on a line through the predictions")
    return figure


def _numbers(x: ArrayLike, y: ArrayLike) -> Line:
    return np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)


def _lines(axes: Axes, curves: Mapping[tuple[str, Style, float], Line]) -> None:
    ends, x = [], np.empty(0)
    for (name, style, width), (x, y) in curves.items():
        [line] = axes.plot(x, y, color=style.colour, linewidth=width, label=name)
        dash(line, style)
        ends.append((x[-1], y[-1]))
    axes.set_xlim(x[0], x[-1])
    axes.set_ylabel("Regret")
    axes.yaxis.set_major_formatter(FuncFormatter(compact))
    label_ends(axes, np.array(ends), [name for name, _, _ in curves], [style for _, style, _ in curves])


def _key(axes: Axes) -> None:
    """What is not a line has a key below the labels of the lines."""
    axes.legend(loc="lower left", bbox_to_anchor=(1.01, 0.0), frameon=False, borderaxespad=0, handlelength=1.2)
