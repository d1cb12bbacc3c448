"""Labels beside what they name, instead of a legend: at the points of a cloud, and at the ends of lines.

Points: placed so that they cover neither each other nor the data. Lines: in a column right of the axes, each joined to
the end of its line.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.text import Text
from matplotlib.transforms import Bbox
from numpy.typing import NDArray

from fewsolves._internal.text import clean
from fewsolves.reporting.figures.canvas import mark, text_size
from fewsolves.reporting.looks import MUTED, Style

Array = NDArray[np.float64]

_DIRECTIONS = ((1, 0), (-1, 0), (1, 1), (1, -1), (-1, 1), (-1, -1), (0, 1), (0, -1))
_DISTANCES = (8.0, 10.5, 15.0, 21.0, 28.0, 36.0, 46.0, 58.0, 72.0, 90.0)  # points
_ADJACENT = 12.0  # farther labels get a leader line
_ALONG = np.linspace(0.15, 0.95, 8)[:, None]  # a leader is tested for hits at these places
_LONGEST = 30  # characters: longer names stand in the table of the page


@dataclass(frozen=True)
class _Places:
    """All k places that one label may take."""

    sides: tuple[int, ...]  # -1: left of its point, 0: centred on it, 1: right of it
    boxes: Array  # (k, 4): x0, y0, x1, y1
    near: Array  # (k, 2): the end of the label that is next to the point
    leaders: Array  # (k, 8, 2): places along the leader line
    far: Array  # (k,): 1 where there is a leader line
    cost: Array  # (k,): what the place costs whatever the other labels do


def label_points(axes: Axes, points: Array, names: Sequence[str], obstacles: Array) -> list[Text]:
    """A label beside each of `points` (data units); `obstacles` (n, 4) are boxes in points to keep clear."""
    shown = [clean(name, _LONGEST) for name in names]
    centres = np.asarray(axes.transData.transform(points), dtype=np.float64)
    marks = np.concatenate([centres - 5.5, centres + 5.5], axis=1)
    inside = axes.get_window_extent()
    options = [
        _places(centre, text_size(axes, name), inside, np.delete(marks, i, axis=0), obstacles)
        for i, (centre, name) in enumerate(zip(centres, shown, strict=True))
    ]
    chosen = [int(np.argmin(places.cost)) for places in options]
    for _ in range(12):  # each label in turn moves to its best place given the others, until none moves
        before = list(chosen)
        for i, mine in enumerate(options):
            rest = [(other, k) for j, (other, k) in enumerate(zip(options, chosen, strict=True)) if j != i]
            boxes = np.array([other.boxes[k] for other, k in rest]).reshape(-1, 4)
            leaders = np.array([other.leaders[k] for other, k in rest if other.far[k]]).reshape(-1, 8, 2)
            cost = mine.cost + 40 * _overlap(mine.boxes, boxes, 1.0)
            cost += 60 * mine.far * _hits(mine.leaders, boxes).sum(axis=1)  # my leader through other labels
            cost += 60 * _hits(leaders, mine.boxes).sum(axis=0)  # other leaders through my label
            chosen[i] = int(np.argmin(cost))
        if chosen == before:
            break
    placed = zip(shown, centres, options, chosen, strict=True)
    return [_write(axes, name, centre, places, k) for name, centre, places, k in placed]


def _places(centre: Array, size: tuple[float, float], inside: Bbox, marks: Array, obstacles: Array) -> _Places:
    steps = list(product(_DIRECTIONS, _DISTANCES))
    direction = np.array([step for step, _ in steps], dtype=np.float64)
    distance = np.array([length for _, length in steps])
    near = centre + direction * (distance / np.hypot(*direction.T))[:, None]
    # level with the near end when beside the point, above or below it when centred on it
    across = np.where(direction[:, 0] == 0, (1 - direction[:, 1]) / 2, 0.5)
    low = near - np.stack([(1 - direction[:, 0]) / 2 * size[0], across * size[1]], axis=1)
    boxes = np.concatenate([low, low + size], axis=1)
    edges = np.array([inside.x0, inside.y0, inside.x1 + 8, inside.y1 + 4])
    outside = np.maximum((edges - boxes) * [1, 1, -1, -1], 0).sum(axis=1)
    leaders = centre + _ALONG * (near - centre)[:, None, :]
    far = (distance > _ADJACENT).astype(np.float64)
    cost = distance + 500 * outside + 2 * (direction[:, 0] < 0) + 3 * (direction[:, 0] == 0)
    cost += 25 * _overlap(boxes, marks, 1.0) + 4 * _overlap(boxes, obstacles, 0.5)
    cost += 40 * far * _hits(leaders, marks).sum(axis=1)
    return _Places(tuple(step[0] for step, _ in steps), boxes, near, leaders, far, cost)


def _overlap(boxes: Array, others: Array, margin: float) -> Array:
    """Area (k,) by which each of the boxes, widened by `margin`, covers the others; a touch counts as one."""
    wide = np.minimum(boxes[:, None, 2] + margin, others[:, 2]) - np.maximum(boxes[:, None, 0] - margin, others[:, 0])
    high = np.minimum(boxes[:, None, 3] + margin, others[:, 3]) - np.maximum(boxes[:, None, 1] - margin, others[:, 1])
    area = np.maximum(wide, 1) * np.maximum(high, 1)
    return np.asarray(np.where((wide > 0) & (high > 0), area, 0.0).sum(axis=1), dtype=np.float64)


def _hits(lines: Array, boxes: Array) -> NDArray[np.bool_]:
    """(lines, boxes): whether any of a line's places lies in the box."""
    x, y = lines[:, None, :, 0], lines[:, None, :, 1]
    b = boxes[None, :, None, :]
    return np.asarray(((x > b[..., 0]) & (x < b[..., 2]) & (y > b[..., 1]) & (y < b[..., 3])).any(axis=2))


def _write(axes: Axes, name: str, centre: Array, places: _Places, k: int) -> Text:
    inverse = axes.transAxes.inverted()
    if places.far[k]:
        line = inverse.transform([centre, places.near[k]])
        axes.plot(
            line[:, 0], line[:, 1], transform=axes.transAxes, color=MUTED, linewidth=0.5, clip_on=False,
            zorder=1.5, label="_leader",
        )  # fmt: skip
    # anchored at the end that touches the point, so that it stays there when the reader's font is narrower
    anchor = {1: "left", 0: "center", -1: "right"}[places.sides[k]]
    x, y = inverse.transform((places.near[k][0], places.boxes[k][1]))
    return axes.text(x, y, name, transform=axes.transAxes, va="bottom", ha=anchor, clip_on=False)


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
