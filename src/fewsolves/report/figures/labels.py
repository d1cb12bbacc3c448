"""Direct labels that do not overlap: beside points of a cloud, or in a column beside the ends of lines."""

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

from fewsolves.report.figures.canvas import mark
from fewsolves.report.figures.style import INK, MUTED, Style
from fewsolves.report.text import clean

Array = NDArray[np.float64]

_DIRECTIONS = [(1.0, 0.0), (-1.0, 0.0), (1.0, 1.0), (1.0, -1.0), (-1.0, 1.0), (-1.0, -1.0), (0.0, 1.0), (0.0, -1.0)]
_DISTANCES = (8.0, 10.5, 15.0, 21.0, 28.0, 36.0, 46.0, 58.0, 72.0, 90.0)
_LONGEST = 30  # characters: longer names are in the table of the page


@dataclass(frozen=True)
class _Place:
    box: Array  # x0, y0, x1, y1 in points
    near: Array  # where a leader line would end
    cost: float


def label_points(axes: Axes, points: Array, names: Sequence[str], obstacles: Array) -> list[Text]:
    """A label beside each of `points` (data units); `obstacles` are boxes (points) that labels should not cover."""
    centres = np.asarray(axes.transData.transform(points), dtype=np.float64)
    sizes = [_size(axes, name) for name in names]
    inside = axes.get_window_extent()
    options = [_options(centre, size, inside) for centre, size in zip(centres, sizes, strict=True)]
    marks = np.concatenate([centres - 5.5, centres + 5.5], axis=1)
    fixed = [[p.cost + _fixed_cost(p, i, centres, marks, obstacles) for p in o] for i, o in enumerate(options)]
    chosen = [int(np.argmin(costs)) for costs in fixed]
    for _ in range(12):  # each label in turn moves to its best place given the others, until none moves
        before = list(chosen)
        for i, places in enumerate(options):
            others = [j for j in range(len(options)) if j != i]
            boxes = np.array([options[j][chosen[j]].box for j in others]).reshape(-1, 4)
            leaders = [(centres[j], options[j][chosen[j]].near) for j in others]
            costs = [
                fixed[i][k]
                + 40.0 * _overlap(place.box, boxes, 1.0)
                + 300.0 * sum(_crosses(centres[i], place.near, a, b) for a, b in leaders)
                + 60.0 * sum(_hits(a, b, place.box) for a, b in leaders)
                + 60.0 * sum(_hits(centres[i], place.near, box) for box in boxes)
                for k, place in enumerate(places)
            ]
            chosen[i] = int(np.argmin(costs))
        if chosen == before:
            break
    places = [places[k] for places, k in zip(options, chosen, strict=True)]
    return [_write(axes, name, centre, place) for name, centre, place in zip(names, centres, places, strict=True)]


def label_ends(axes: Axes, ends: Array, names: Sequence[str], looks: Sequence[Style]) -> None:
    """A column of labels right of the axes, each joined to the end of its line; order follows the values."""
    height = 1.25 * _size(axes, "Ag")[1]
    area = axes.get_window_extent()
    centres = np.asarray(axes.transData.transform(ends), dtype=np.float64)
    order = np.lexsort((np.arange(len(names)), centres[:, 1]))
    wanted = np.clip(centres[:, 1], area.y0, area.y1)
    inverse = axes.transAxes.inverted()
    for i, y in zip(order, spread_out(wanted[order], height, area.y0, area.y1), strict=True):
        path = [(centres[i][0], wanted[i]), (area.x1 + 3, wanted[i]), (area.x1 + 17, y), (area.x1 + 24, y)]
        start, edge, turn, key = inverse.transform(path)
        kwargs: dict[str, Any] = {"transform": axes.transAxes, "clip_on": False, "label": "_leader"}
        axes.plot(*zip(start, edge, strict=True), linewidth=0.4, alpha=0.5, color=looks[i].colour, **kwargs)
        axes.plot(*zip(edge, turn, key, strict=True), linewidth=0.7, color=looks[i].colour, **kwargs)
        if looks[i].marker:
            axes.plot(*key, **mark(looks[i], 5.0), **kwargs)
        at = inverse.transform((area.x1 + 30, y))
        axes.text(at[0], at[1], clean(names[i], _LONGEST), transform=axes.transAxes, va="center", color=INK)


def spread_out(wanted: Array, distance: float, low: float, high: float) -> Array:
    """Sorted positions at least `distance` apart, as close as can be to the wanted ones, within [low, high]."""
    distance = min(distance, (high - low) / max(len(wanted) - 1, 1))
    blocks: list[list[float]] = []  # [sum of (wanted - offset), count]: pool neighbours that would collide
    for i, value in enumerate(wanted):
        blocks.append([float(value) - i * distance, 1.0])
        while len(blocks) > 1 and blocks[-2][0] / blocks[-2][1] > blocks[-1][0] / blocks[-1][1]:
            total, count = blocks.pop()
            blocks[-1][0] += total
            blocks[-1][1] += count
    base = np.repeat([total / count for total, count in blocks], [int(count) for _, count in blocks])
    base = np.clip(base, low, max(low, high - (len(wanted) - 1) * distance))
    return np.asarray(base + distance * np.arange(len(wanted)), dtype=np.float64)


def _size(axes: Axes, name: str) -> tuple[float, float]:
    text = axes.text(0, 0, clean(name, _LONGEST))
    box = text.get_window_extent()
    text.remove()
    return box.width, box.height


def _options(centre: Array, size: tuple[float, float], inside: Bbox) -> list[_Place]:
    places = []
    for (dx, dy), distance in product(_DIRECTIONS, _DISTANCES):
        reach = distance / np.hypot(dx, dy)
        near = centre + reach * np.array([dx, dy])
        x0 = near[0] - {1.0: 0.0, 0.0: size[0] / 2, -1.0: size[0]}[dx]
        y0 = (
            near[1]
            - {1.0: 0.0 if dx == 0 else size[1] / 2, 0.0: size[1] / 2, -1.0: size[1] - (dx != 0) * size[1] / 2}[dy]
        )
        box = np.array([x0, y0, x0 + size[0], y0 + size[1]])
        out = max(0.0, inside.x0 - x0) + max(0.0, box[2] - inside.x1 - 8) + max(0.0, inside.y0 - y0)
        out += max(0.0, box[3] - inside.y1 - 4)
        places.append(_Place(box, near, distance + 500.0 * out + 2.0 * (dx < 0) + 3.0 * (dx == 0)))
    return places


def _fixed_cost(place: _Place, own: int, centres: Array, marks: Array, obstacles: Array) -> float:
    others = np.delete(marks, own, axis=0)
    through = sum(_hits(centres[own], place.near, box) for box in others) if place.cost > _DISTANCES[1] else 0
    return 25.0 * _overlap(place.box, others, 1.0) + 4.0 * _overlap(place.box, obstacles, 0.5) + 40.0 * through


def _overlap(box: Array, others: Array, margin: float) -> float:
    """Total area by which `box`, widened by `margin`, covers the others; touching counts a little."""
    if not len(others):
        return 0.0
    wide = np.minimum(box[2] + margin, others[:, 2]) - np.maximum(box[0] - margin, others[:, 0])
    high = np.minimum(box[3] + margin, others[:, 3]) - np.maximum(box[1] - margin, others[:, 1])
    return float(np.sum(np.where((wide > 0) & (high > 0), np.maximum(wide, 1) * np.maximum(high, 1), 0.0)))


def _crosses(a: Array, b: Array, c: Array, d: Array) -> bool:
    def side(p: Array, q: Array, r: Array) -> float:
        return float((q[0] - p[0]) * (r[1] - p[1]) - (q[1] - p[1]) * (r[0] - p[0]))

    return side(a, b, c) * side(a, b, d) < 0 and side(c, d, a) * side(c, d, b) < 0


def _hits(a: Array, b: Array, box: Array) -> bool:
    """Whether the segment a-b passes through the box; eight samples are enough at this size."""
    at = a + np.linspace(0.15, 0.95, 8)[:, None] * (b - a)
    return bool(np.any((at[:, 0] > box[0]) & (at[:, 0] < box[2]) & (at[:, 1] > box[1]) & (at[:, 1] < box[3])))


def _write(axes: Axes, name: str, centre: Array, place: _Place) -> Text:
    inverse = axes.transAxes.inverted()
    if np.hypot(*(place.near - centre)) > _DISTANCES[1]:
        line = inverse.transform([centre, place.near])
        axes.plot(
            line[:, 0], line[:, 1], transform=axes.transAxes, color=MUTED, linewidth=0.5, clip_on=False,
            zorder=1.5, label="_leader",
        )  # fmt: skip
    x, y = inverse.transform(place.box[:2])
    return axes.text(x, y, clean(name, _LONGEST), transform=axes.transAxes, va="bottom", ha="left", clip_on=False)
