"""A run that goes on: the regret that it has reached, and how fast it pays."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator
from numpy.typing import NDArray

from fewsolves.reporting.figures.canvas import BLUE, MUTED, compact, house_style, panels, scale_values

BINS = 48
UNITS = (("days", 86400.0), ("hours", 3600.0), ("minutes", 60.0), ("seconds", 1.0))


@house_style
def following(readings: Sequence[tuple[int, float]], solved_at: Sequence[float]) -> Figure:
    """Left: validation regret against solves, as read. Right: solves per hour, over the time since the first."""
    figure, [[regret, pace]] = panels(1, 2, height=3.2, right=0.25, gap=0.85)
    if readings:
        solves, values = np.array(readings, dtype=np.float64).T
        regret.xaxis.set_major_formatter(FuncFormatter(compact))
        regret.xaxis.set_major_locator(MaxNLocator(5, integer=True))
        regret.plot(solves, values, color=BLUE, linewidth=1.5, marker="D", markersize=3.5)
        scale_values(regret, values.tolist())
    else:
        regret.set(xticks=[], yticks=[])
        regret.text(0.5, 0.5, "not read yet", transform=regret.transAxes, ha="center", color=MUTED)
    regret.set_xlabel("Solver calls so far, of every kind")
    regret.set_ylabel("Validation regret")
    _draw_pace(pace, np.asarray(solved_at, dtype=np.float64))
    return figure


def _draw_pace(axes: Axes, at: NDArray[np.float64]) -> None:
    axes.set_ylabel("Solves per hour")
    if len(at) < 2 or at.max() <= at.min():
        axes.set_xlabel("Time since the first solve")
        return
    since = at - at.min()
    name, unit = next((name, unit) for name, unit in UNITS if since.max() >= 2 * unit or unit == 1.0)
    number, edges = np.histogram(since, bins=min(BINS, max(4, len(at) // 10)))
    hours = np.diff(edges) / 3600.0
    axes.stairs(number / hours, edges / unit, fill=True, color=BLUE, alpha=0.25)
    axes.stairs(number / hours, edges / unit, color=BLUE, linewidth=1.2)
    axes.axhline(len(at) / hours.sum(), color=MUTED, linewidth=0.8, dashes=(4, 3), label="_mean")
    axes.set_ylim(0, None)
    axes.set_xlim(0, edges[-1] / unit)
    axes.set_xlabel(f"Time since the first solve, in {name}")
    axes.yaxis.set_major_formatter(FuncFormatter(compact))
    axes.xaxis.set_major_locator(MaxNLocator(6))
