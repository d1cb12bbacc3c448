"""Paired differences of the regret with their intervals: one line per model, beside a model at zero."""

from __future__ import annotations

from collections.abc import Mapping

from matplotlib.figure import Figure

from fewsolves._internal.text import clean
from fewsolves.reporting.figures.canvas import house_style, panels
from fewsolves.reporting.looks import INK, MUTED

ROW_HEIGHT, LETTER_WIDTH = 0.3, 0.075  # inches


@house_style
def differences(intervals: Mapping[str, tuple[float, float, float]], *, beside: str) -> Figure:
    """`intervals` has (difference, low, high) by model, each compared with the model `beside`.

    All are in the colour of the text: a model's name need not be that of a method, which has a colour of its own.
    """
    figure, [[axes]] = panels(1, 1, height=1.1 + ROW_HEIGHT * len(intervals), width=6.2, titled=True)
    names = [name if len(name) <= 32 else f"{name[:31]}…" for name in intervals]
    left = 0.2 + LETTER_WIDTH * max(map(len, names))
    box = axes.get_position()
    axes.set_position((left / 6.2, box.y0, box.x1 - left / 6.2, box.height))
    for place, (difference, low, high) in enumerate(intervals.values()):
        axes.plot([low, high], [place, place], color=INK, linewidth=1.5, label="_interval")
        axes.plot([difference], [place], "o", color=INK, markersize=5.5, label="_difference")
    axes.axvline(0.0, color=MUTED, linewidth=0.8, dashes=(4, 3), zorder=1)
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.grid(axis="y", visible=False)
    axes.set_title(f"Regret compared with {clean(beside, 40)}: left of 0 is better")
    axes.set_xlabel("Difference of the mean regret, in units of cost (95 % interval)")
    return figure
