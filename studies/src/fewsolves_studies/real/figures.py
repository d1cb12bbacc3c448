"""Pictures of a study: cost against solves, and a day of decisions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke
from matplotlib.ticker import FuncFormatter
from matplotlib.transforms import Bbox, ScaledTranslation

from fewsolves.problem import Array
from fewsolves.reporting.figures.canvas import compact, dash, house_style, mark, panels, scale_counts, text_size
from fewsolves.reporting.looks import BLUE, GRID, INK, MUTED, Style, styles_of
from fewsolves_studies.real.bootstrap import interval
from fewsolves_studies.real.cell import Done, default_method, one
from fewsolves_studies.real.compare import Day
from fewsolves_studies.real.study import Frontier, RealStudy
from fewsolves_studies.real.tables import number

APART = 3.0  # points between whiskers of methods that paid the same
AROUND = 4.0  # points around a mark that a name keeps off
ROOM = 0.3  # of the height, for a legend above what is drawn
EDGE = 0.04  # of the height, between a reference and the lower end


def look(method: str) -> Style:
    """Of a method, the same in every picture of the library and its studies."""
    return styles_of([method])[0]


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
        _frontier(axes, study, panel, done)
        handles |= dict(zip(*reversed(axes.get_legend_handles_labels()), strict=True))
    row[0].set_ylabel(study.unit)
    beside: dict[str, Any] = {"loc": "center left", "bbox_to_anchor": (1.01, 0.5), "frameon": False, "fontsize": 7}
    row[-1].legend(handles=[*handles.values()], **beside)
    return figure


def _frontier(axes: Axes, study: RealStudy, panel: Frontier, done: Sequence[Done]) -> None:
    runs = [each for each in done if each.cell.setting == panel.setting and each.cell.predictor == panel.predictor]
    runs = [each for each in runs if each.cell.decide is None]
    scale_counts(axes, [each.solves for each in runs])
    pfl, covered = one(runs, method="pfl"), []
    methods = list(dict.fromkeys(each.cell.method for each in runs))
    for place, method in enumerate(methods):
        style, mine = look(method), sorted((e for e in runs if e.cell.method == method), key=lambda each: each.solves)
        beside = ScaledTranslation((place - len(methods) / 2) * APART / 72, 0.0, axes.figure.dpi_scale_trans)
        drawn: dict[str, Any] = {"transform": axes.transData + beside}
        at, means = [each.solves for each in mine], [each.mean for each in mine]
        name = "PFL" if method == "pfl" else method
        (line,) = axes.plot(at, means, linewidth=1.2, label=name, **mark(style), **drawn)
        dash(line, style)
        for each in mine:
            change = interval(each.costs - pfl.costs) if pfl is not None else (0.0, 0.0, 0.0)
            low, high = (each.mean - change[0] + edge for edge in change[1:])
            axes.plot([each.solves] * 2, [low, high], color=style.colour, linewidth=0.8, alpha=0.7, **drawn)
            axes.update_datalim([(each.solves, edge) for edge in (low, each.mean, high)])  # moved marks do not count
            covered.append((each.solves, low, high))
    axes.autoscale_view(scalex=False)
    lines = {each.name: each.cost for each in study.published if each.setting == panel.setting}
    settings = panel.setting, panel.setting.split(",")[0]  # what validates a method is nothing to a reference
    known = [each for each in done if each.cell.decide is not None and each.cell.setting in settings]
    lines |= {each.cell.method: each.mean for each in known}
    _references(axes, {name: lines[name] for name in panel.shown if name in lines}, covered)
    axes.set_title(panel.title)
    axes.set_xlabel("solves per training day, all but the test")
    axes.yaxis.set_major_formatter(FuncFormatter(compact))


def _references(axes: Axes, lines: Mapping[str, float], covered: Sequence[tuple[float, float, float]]) -> None:
    """Lines across, each with its name at an end, above or below, where it covers the least of what is drawn.

    `covered` are the solves of each run, and from where to where its whiskers go.
    """
    for cost in lines.values():
        axes.axhline(cost, color=MUTED, linewidth=0.8, dashes=(4, 3), zorder=1)
    low, high = axes.get_ylim()
    axes.set_ylim(min([low, *(cost - EDGE * (high - low) for cost in lines.values())]), high)  # names are placed by it
    at = axes.transData.transform
    taken = [Bbox([at((x, low)), at((x, high))]).padded(AROUND) for x, low, high in covered]
    taken += [Bbox([at((0.0, cost)), at((1.0, cost))]).padded(0.5) for cost in lines.values()]
    for name, cost in lines.items():
        (width, height), (_, level) = text_size(axes, name), at((1.0, cost))
        places: list[tuple[float, int, float, float, Bbox]] = []
        for across, bottom in ((0.01, 1.0), (0.01, -height - 1.0), (0.99, 1.0), (0.99, -height - 1.0)):
            left = axes.bbox.x0 + across * axes.bbox.width - (width if across > 0.5 else 0.0)
            box = Bbox.from_bounds(left, level + bottom, width, height)
            places.append((sum(_shared(box, other) for other in taken), len(places), across, bottom, box))
        _, _, across, bottom, box = min(places, key=lambda place: place[:2])
        taken.append(box)
        style: dict[str, Any] = {"ha": "right" if across > 0.5 else "left", "va": "bottom" if bottom > 0 else "top"}
        style |= {"path_effects": [withStroke(linewidth=2.0, foreground="white")], "zorder": 3}  # over whiskers
        axes.text(across, cost, name, color=MUTED, fontsize=7, transform=axes.get_yaxis_transform(), **style)


def _shared(one: Bbox, other: Bbox) -> float:
    """The area that two boxes share."""
    both = Bbox.intersection(one, other)
    return 0.0 if both is None else float(both.width * both.height)


@house_style
def load_day(day: Day, plans: Mapping[str, Array], *, what: str, unit: str) -> Figure:
    """Left the forecasts and the true loads, right by how much what was planned misses them, hour by hour.

    PFL's plan is the broader line, so that both are seen where they are the same.
    """
    figure, [[left, right]] = panels(1, 2, height=3.1, gap=0.7, width=9.0, titled=True)
    hours = np.arange(len(day.truth))
    left.plot(hours, day.truth, color=MUTED, linewidth=2.5, label="true load")
    edges = np.arange(len(hours) + 1) - 0.5
    for (name, values), colour, width in zip(day.y_hat.items(), (INK, BLUE), (2.4, 1.2), strict=True):
        left.plot(hours, values, color=colour, linewidth=1.3, label=f"forecast of {name}")
        costs = f"{what} of {name}: costs {number(day.costs[name])}"
        right.stairs(plans[name] - day.truth, edges, baseline=None, color=colour, linewidth=width, label=costs)
    right.axhline(0.0, color=MUTED, linewidth=0.8)
    left.set_title(f"{day.date}: load, {unit}")
    right.set_title(f"{what} less true load, {unit}")
    for axes in (left, right):
        low, high = axes.get_ylim()
        axes.set_ylim(low, high + ROOM * (high - low))
        axes.set_xlabel("hour")
    short = min(right.get_ylim()[0], 0.0)
    right.axhspan(short, 0.0, color=GRID, alpha=0.5, linewidth=0.0, zorder=0, label="too little")
    for axes in (left, right):
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
