"""What each method reaches, and what it pays for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fewsolves._internal.text import clean
from fewsolves.reporting.figures.canvas import FIGURE_WIDTH, house_style, mark, panels, scale_counts, scale_values
from fewsolves.reporting.figures.canvas import styles as default_styles
from fewsolves.reporting.figures.labels import label_points
from fewsolves.reporting.groups import Group, Spread, groups, relative_to
from fewsolves.reporting.looks import MUTED, Style
from fewsolves.reporting.runs import Run
from fewsolves.reporting.tables import regret_name


@house_style
def regret_against_solves(
    runs: Sequence[Run],
    *,
    styles: Mapping[str, Style] | None = None,
    training_only: bool = False,
    width: float = FIGURE_WIDTH,
) -> Figure:
    """One marker per method: mean over dataset seeds, bars of one standard deviation; lower left is better.

    x are all solves per row of the table; `training_only`, the paper's count: those of training per training row.
    """
    chosen = default_styles(runs) if styles is None else styles
    found = groups(runs)
    names = list(dict.fromkeys(group.benchmark for group in found))
    figure, axes = panels(len(names), 1, height=3.9, width=width)
    for [panel], name in zip(axes, names, strict=True):
        _draw(panel, [group for group in found if group.benchmark == name], chosen, training_only)
        if len(names) > 1:
            panel.set_title(clean(name, 60))
    return figure


def _draw(axes: Axes, members: Sequence[Group], styles: Mapping[str, Style], training_only: bool) -> None:
    beside = relative_to(members)
    relative = bool(beside)
    points = _points(members, relative, training_only)
    scale_counts(axes, [paid.mean + (paid.deviation or 0) for _, paid, _ in points])
    scale_values(axes, [value for _, _, regret in points for value in _range(regret)] + [1.0] * relative)
    if relative:
        axes.axhline(1.0, color=MUTED, linewidth=0.6, dashes=(4, 3), zorder=1, label="_reference")
    bars = [_strip(axes)] if relative else []
    for group, paid, regret in points:
        style = styles[group.label]
        axes.errorbar(
            paid.mean, regret.mean, xerr=paid.deviation, yerr=regret.deviation, label=group.label, elinewidth=0.9,
            capsize=0, ecolor=style.colour, linestyle="none", zorder=3, **mark(style, 7.0),
        )  # fmt: skip
        bars += _bars(axes, paid, regret)
    axes.set_xlabel("Training solves per training row" if training_only else "Solves per row of the table")
    axes.set_ylabel(regret_name(members).capitalize() + (f" relative to {beside}" if beside else ""))
    if points:
        at = np.array([[paid.mean, regret.mean] for _, paid, regret in points])
        label_points(axes, at, [group.label for group, _, _ in points], np.array(bars).reshape(-1, 4))


def _points(members: Sequence[Group], relative: bool, training_only: bool) -> list[tuple[Group, Spread, Spread]]:
    """Groups with what they paid and what they reached, as far as both are known."""
    points = []
    for group in members:
        paid = group.spread(lambda run: run.number("solves_per_instance") if training_only else run.solves_per_row)
        regret = group.relative if relative else group.known_regret
        if paid is not None and regret is not None and np.isfinite([paid.mean, regret.mean]).all():
            points.append((group, paid, regret))
    return points


def _range(spread: Spread) -> tuple[float, ...]:
    """The values that must be seen: the mean, and the bar where it stays positive."""
    ends = (spread.mean - (spread.deviation or 0.0), spread.mean, spread.mean + (spread.deviation or 0.0))
    return tuple(value for value in ends if value > 0.2 * spread.mean) if spread.mean > 0 else ends


def _strip(axes: Axes) -> list[float]:
    """The line of PFL, in points: no label should be struck through."""
    level, area = axes.transData.transform((1.0, 1.0))[1], axes.get_window_extent()
    return [area.x0, level - 1, area.x1, level + 1]


def _bars(axes: Axes, paid: Spread, regret: Spread) -> list[list[float]]:
    """Where the error bars lie, in points, for the labels to keep off."""
    boxes = []
    for dx, dy in ((paid.deviation or 0.0, 0.0), (0.0, regret.deviation or 0.0)):
        low, high = axes.transData.transform(
            [(paid.mean - dx, max(regret.mean - dy, axes.get_ylim()[0])), (paid.mean + dx, regret.mean + dy)]
        )
        boxes.append([low[0] - 1, low[1] - 1, high[0] + 1, high[1] + 1])
    return boxes
