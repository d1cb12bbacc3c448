"""How many solves other methods need to be as good: regret against everything paid, one line per method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure

from fewsolves.reporting.figures.canvas import dash, house_style, mark, panels, scale_counts, scale_values
from fewsolves.reporting.figures.labels import label_ends
from fewsolves.reporting.looks import MUTED, Style


@house_style
def solves_needed(
    curves: Mapping[str, Sequence[tuple[float, float]]], *, goal: str, styles: Mapping[str, Style]
) -> Figure:
    """`curves` has (solves, regret relative to PFL) by method; a dashed line at what `goal` reached."""
    figure, [[axes]] = panels(1, 1, height=3.4, right=1.15, width=4.7)
    for name, points in curves.items():
        [line] = axes.plot(*zip(*points, strict=True), linewidth=1.5, label=name, zorder=3)
        line.set(**mark(styles[name], 7.0 if name == goal else 5.5))
        dash(line, styles[name])
    scale_values(axes, [regret for points in curves.values() for _, regret in points])
    axes.axhline(curves[goal][-1][1], color=MUTED, linewidth=0.8, dashes=(4, 3), zorder=1, label="_reference")
    scale_counts(axes, [solves for points in curves.values() for solves, _ in points])
    axes.set_xlim(left=0.7 * min(solves for points in curves.values() for solves, _ in points))
    axes.set_xlabel("Solves paid")
    axes.set_ylabel("Regret on fresh rows, relative to PFL")
    label_ends(axes, np.array([points[-1] for points in curves.values()]), list(curves), [styles[n] for n in curves])
    return figure
