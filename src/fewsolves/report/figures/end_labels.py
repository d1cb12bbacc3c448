"""Labels in a column right of the axes, each joined to the end of its line: a key that needs no searching."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from fewsolves.report.figures.canvas import mark, text_size
from fewsolves.report.figures.style import Style
from fewsolves.text import clean

Array = NDArray[np.float64]


def label_ends(axes: Axes, ends: Array, names: Sequence[str], looks: Sequence[Style]) -> None:
    """`ends` are (x, y) in data units; the order of the column is that of the values."""
    area = axes.get_window_extent()
    centres = np.asarray(axes.transData.transform(ends), dtype=np.float64)
    wanted = np.clip(centres[:, 1], area.y0, area.y1)
    order = np.lexsort((np.arange(len(names)), wanted))
    heights = spread_out(wanted[order], 1.25 * text_size(axes, "Ag")[1], area.y0, area.y1)
    room = axes.figure.bbox.x1 - area.x1 - 31
    inverse = axes.transAxes.inverted()
    for i, y in zip(order, heights, strict=True):
        path = [(centres[i][0], wanted[i]), (area.x1 + 3, wanted[i]), (area.x1 + 17, y), (area.x1 + 24, y)]
        start, edge, turn, key = inverse.transform(path)
        common: dict[str, Any] = {"transform": axes.transAxes, "clip_on": False, "label": "_leader"}
        axes.plot(*zip(start, edge, strict=True), linewidth=0.4, alpha=0.5, color=looks[i].colour, **common)
        axes.plot(*zip(edge, turn, key, strict=True), linewidth=0.7, color=looks[i].colour, **common)
        if looks[i].marker:
            axes.plot(*key, **mark(looks[i], 5.0), **common)
        at = inverse.transform((area.x1 + 30, y))
        axes.text(at[0], at[1], _fitting(axes, names[i], room), transform=axes.transAxes, va="center")


def spread_out(wanted: Array, distance: float, low: float, high: float) -> Array:
    """Sorted positions at least `distance` apart, as close as can be to the wanted ones, within [low, high]."""
    distance = min(distance, (high - low) / max(len(wanted) - 1, 1))
    blocks: list[list[float]] = []  # [sum of (wanted - offset), count]: neighbours that would collide are pooled
    for i, value in enumerate(wanted):
        blocks.append([float(value) - i * distance, 1.0])
        while len(blocks) > 1 and blocks[-2][0] / blocks[-2][1] > blocks[-1][0] / blocks[-1][1]:
            total, count = blocks.pop()
            blocks[-1][0] += total
            blocks[-1][1] += count
    base = np.repeat([total / count for total, count in blocks], [int(count) for _, count in blocks])
    base = np.clip(base, low, max(low, high - (len(wanted) - 1) * distance))
    return np.asarray(base + distance * np.arange(len(wanted)), dtype=np.float64)


def _fitting(axes: Axes, name: str, room: float) -> str:
    """The name, cut to the room: the page has it in full."""
    return next((text for n in range(40, 3, -1) if text_size(axes, text := clean(name, n))[0] <= room), "…")
