"""Pictures of a study: cost against solves, and a day of decisions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from fewsolves.problem import Array
from fewsolves.real.bootstrap import interval
from fewsolves.real.cell import Done, default_method, one
from fewsolves.real.compare import Day
from fewsolves.real.study import Frontier, RealStudy
from fewsolves.real.tables import number
from fewsolves.reporting.figures.canvas import (
    BLUE,
    DASHED,
    GREEN,
    GRID,
    INK,
    MUTED,
    ORANGE,
    VERMILLION,
    Style,
    compact,
    dash,
    house_style,
    mark,
    panels,
    scale_counts,
)

NEAR = 0.06  # of the height: lines whose names would cover each other
ROOM = 0.3  # of the height, for a legend above what is drawn


def look(method: str) -> Style:
    """Of a method, the same in every picture."""
    known = {"pfl": Style(INK, "o"), "shift": Style(GREEN, "^"), "sfge": Style(VERMILLION, "s", DASHED)}
    return known.get(method, Style(BLUE, "D") if method == default_method() else Style(ORANGE, "P", DASHED))


@house_style
def frontier(study: RealStudy, done: Sequence[Done]) -> Figure:
    """A panel per setting; whiskers are paired with PFL: where they cross its line, the difference may be chance."""
    given = [each for each in study.frontiers if one(done, setting=each.setting, predictor=each.predictor)]
    if not given:  # of the quick size
        trained = next(each.cell for each in done if each.cell.decide is None)
        given = [Frontier(trained.setting, trained.setting, trained.predictor)]
    figure, [row] = panels(1, len(given), height=3.3, right=0.85, gap=0.75, width=9.0, titled=True)
    handles: dict[str, Any] = {}
    for axes, panel in zip(row, given, strict=True):
        _frontier(axes, study, panel, [each for each in done if each.cell.setting == panel.setting])
        handles |= dict(zip(*reversed(axes.get_legend_handles_labels()), strict=True))
    row[0].set_ylabel(study.unit)
    beside: dict[str, Any] = {"loc": "center left", "bbox_to_anchor": (1.01, 0.5), "frameon": False, "fontsize": 7}
    row[-1].legend(handles=[*handles.values()], **beside)
    return figure


def _frontier(axes: Axes, study: RealStudy, panel: Frontier, done: Sequence[Done]) -> None:
    runs = [each for each in done if each.cell.predictor == panel.predictor and each.cell.decide is None]
    pfl = one(runs, method="pfl")
    for method in dict.fromkeys(each.cell.method for each in runs):
        style, mine = look(method), sorted((e for e in runs if e.cell.method == method), key=lambda each: each.solves)
        at, means = [each.solves for each in mine], [each.mean for each in mine]
        (line,) = axes.plot(at, means, linewidth=1.2, label=method, **mark(style))
        dash(line, style)
        for each in mine if pfl is not None and method != "pfl" else ():
            assert pfl is not None
            change = interval(each.costs - pfl.costs)
            low, high = pfl.mean + change.low, pfl.mean + change.high
            axes.plot([each.solves] * 2, [low, high], color=style.colour, linewidth=0.8, alpha=0.7)
    lines = {each.name: each.cost for each in study.published if each.setting == panel.setting}
    lines |= {each.cell.method: each.mean for each in done if each.cell.decide is not None}
    _references(axes, {name: lines[name] for name in panel.shown if name in lines})
    scale_counts(axes, [each.solves for each in runs])
    axes.set_title(panel.title)
    axes.set_xlabel("solves per training day, all but the test")
    axes.yaxis.set_major_formatter(FuncFormatter(compact))


def _references(axes: Axes, lines: Mapping[str, float]) -> None:
    """Lines across, named at their left end: above the line, or below it where the next one is near."""
    for cost in lines.values():
        axes.axhline(cost, color=MUTED, linewidth=0.8, dashes=(4, 3), zorder=1)
    low, high = axes.get_ylim()
    for name, cost in lines.items():
        crowded = any(0.0 <= other - cost < NEAR * (high - low) for key, other in lines.items() if key != name)
        place: dict[str, Any] = {"transform": axes.get_yaxis_transform(), "va": "top" if crowded else "bottom"}
        axes.text(0.01, cost, name, color=MUTED, fontsize=7, **place)


@house_style
def load_day(day: Day, plans: Mapping[str, Array], *, what: str, unit: str) -> Figure:
    """Left the forecasts and the true loads, right by how much what was planned misses them."""
    figure, [[left, right]] = panels(1, 2, height=3.1, gap=0.7, width=9.0, titled=True)
    hours = np.arange(len(day.truth))
    left.plot(hours, day.truth, color=MUTED, linewidth=2.5, label="true load")
    for (name, values), colour in zip(day.y_hat.items(), (INK, BLUE), strict=True):
        left.plot(hours, values, color=colour, linewidth=1.3, label=f"forecast of {name}")
        costs = f"{what} of {name}: costs {number(day.costs[name])}"
        right.step(hours, plans[name] - day.truth, where="mid", color=colour, linewidth=1.3, label=costs)
    right.axhline(0.0, color=MUTED, linewidth=0.8)
    low, high = right.get_ylim()
    right.set_ylim(low, high + ROOM * (high - low))
    left.set_title(f"{day.date}: load, {unit}")
    right.set_title(f"{what} less true load, {unit}")
    for axes in (left, right):
        axes.set_xlabel("hour")
        axes.legend(frameon=False, fontsize=7)
    return figure


@house_style
def kitchen_day(day: Day, dishes: Sequence[str]) -> Figure:
    """Left what was predicted for each dish and asked for, right what was prepared."""
    figure, [[left, right]] = panels(1, 2, height=3.1, gap=0.7, width=9.0, titled=True)
    at = np.arange(len(dishes))
    for axes, given, label in ((left, day.y_hat, "forecast of {}"), (right, day.decisions, "{}: costs {:.0f}")):
        axes.bar(at, day.truth, width=0.75, color=GRID, label="true demand")
        for name, shift, style in zip(given, (-0.15, 0.15), (look("pfl"), look(default_method())), strict=True):
            shown = label.format(name, day.costs[name])
            axes.plot(at + shift, given[name], linestyle="none", label=shown, clip_on=False, **mark(style))
        axes.set_xticks(at, dishes)
        axes.legend(frameon=False, fontsize=7, loc="upper left")
    left.set_title(f"{day.date}: forecasts, portions")
    right.set_title("prepared in the kitchen, portions")
    return figure
