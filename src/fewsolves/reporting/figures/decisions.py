"""What training did: how far it moved the predictions of each output, and one row before and after."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter
from numpy.typing import NDArray

from fewsolves._internal.text import clean, number
from fewsolves.reporting.figures.canvas import compact, house_style, panels
from fewsolves.reporting.looks import INK, MUTED, styles_of

Array = NDArray[np.float64]
MOST_OUTPUTS = 24  # that are drawn, those that moved most


@house_style
def moved_predictions(
    before: Array, after: Array, truth: Array, names: Sequence[str], *, row: int | None, method: str = "staged"
) -> Figure:
    """Left: the mean shift of each output (n, n_y), with its deviation over rows. Right: one row, and its truth.

    Outputs keep their order. Of many, those are drawn that moved most, and the title says so.
    `row` is a position in these arrays; None: the row that moved as far as half of the rows. Predictions are in the
    colour of the `method`, and the truth in that of the text.
    """
    shift = after - before
    scale = np.where((spread := truth.std(axis=0)) > 0, spread, 1.0)
    sizes = np.sqrt(((shift / scale) ** 2).mean(axis=1))
    at = int(np.argsort(sizes)[len(sizes) // 2]) if row is None else row
    order = np.sort(np.argsort(-np.abs(shift.mean(axis=0) / scale), kind="stable")[:MOST_OUTPUTS])
    shown = [clean(names[k], 14) for k in order]
    figure, [[moved, example]] = panels(1, 2, height=3.4, right=0.2, gap=0.75, titled=True)
    colour = styles_of([method])[0].colour
    _draw_shift(moved, shift[:, order], shown, colour)
    some = f"Shift of the {len(order)} of {len(names)} outputs that moved most"
    moved.set_title(some if len(order) < len(names) else f"Shift of the predictions, {len(shift):,} rows")
    _draw_row(example, before[at, order], after[at, order], truth[at, order], shown, colour)
    example.set_title("One row, before and after")
    return figure


def _draw_shift(axes: Axes, shift: Array, names: Sequence[str], colour: str) -> None:
    places, mean = np.arange(len(names)), shift.mean(axis=0)
    axes.bar(places, mean, width=0.55, color=colour, label="_shift")
    axes.errorbar(places, mean, yerr=shift.std(axis=0), fmt="none", ecolor=INK, elinewidth=0.8, capsize=0)
    if len(names) <= 6:  # beyond bar and deviation, where nothing is drawn
        for place, value, far in zip(places.tolist(), mean.tolist(), shift.std(axis=0).tolist(), strict=True):
            text, up = f"{'+' if value > 0 else ''}{number(value)}", value >= 0
            axes.annotate(
                text,
                (place, value + far if up else value - far),
                (0, 3 if up else -3),
                textcoords="offset points",
                ha="center",
                va="bottom" if up else "top",
                annotation_clip=False,
            )
        axes.margins(y=0.14)
    axes.axhline(0.0, color=MUTED, linewidth=0.8)
    axes.set_ylabel("Mean change ± its deviation, in units of y")
    _name(axes, names)


def _draw_row(axes: Axes, before: Array, after: Array, truth: Array, names: Sequence[str], colour: str) -> None:
    places = np.arange(len(names))
    for place, (low, high) in enumerate(zip(before, after, strict=True)):
        axes.annotate(
            "", (place, high), (place, low), arrowprops={"arrowstyle": "->", "color": colour, "linewidth": 0.9}
        )
    axes.plot(places, before, "o", color=colour, markerfacecolor="none", markersize=5, label="start")
    axes.plot(places, after, "o", color=colour, markersize=5, label="trained")
    axes.plot(places, truth, "x", color=INK, markersize=5, label="truth")
    low, high = min(before.min(), after.min(), truth.min()), max(before.max(), after.max(), truth.max())
    axes.set_ylim(low - 0.08 * (high - low or 1.0), high + 0.25 * (high - low or 1.0))
    axes.legend(frameon=False, ncols=3, loc="upper left", handletextpad=0.2, columnspacing=1.0)
    axes.set_ylabel("Prediction, in units of y")
    _name(axes, names)


def _name(axes: Axes, names: Sequence[str]) -> None:
    many = len(names) > 6
    axes.set_xticks(range(len(names)), names, rotation=90 if many else 0, fontsize=6 if many else 8)
    axes.set_xlim(-0.7, len(names) - 0.3)
    axes.yaxis.set_major_formatter(FuncFormatter(compact))
