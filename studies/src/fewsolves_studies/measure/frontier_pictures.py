"""Small multiples of frontier.py: ratio to PFL against solves, one panel per case."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from fewsolves.reporting.figures import canvas
from fewsolves.reporting.looks import INK, MUTED, ORANGE, styles_of
from fewsolves_studies.measure.frontier_tables import DEFAULT, GROUPS, OWN, Count, Entry, problem_of

SHOWN = ("sfge", "gp-surrogate", "pairs", DEFAULT)
LINES: dict[str, dict[str, Any]] = {
    name: {"color": style.colour, "marker": style.marker, "dashes": style.dashes}
    for name, style in zip(SHOWN, styles_of(SHOWN), strict=True)
}
NAMES = {DEFAULT: "staged, the default"}
TICKS = (0, 1, 4, 16, 64)


@canvas.house_style
def picture(by_case: Mapping[str, Sequence[Entry]], count: Count = "solves", columns: int = 4) -> Figure:
    """A panel per case; bars are standard errors over datasets."""
    rows = -(-len(by_case) // columns)
    figure, grid = canvas.panels(rows, columns, height=1.85, gap=0.42, width=9.0)
    every = [axes for row in grid for axes in row]
    for axes, (case, of_case) in zip(every, by_case.items(), strict=False):
        _panel(axes, of_case, count)
        axes.set_title(case)
    for axes in every[len(by_case) :]:
        axes.remove()
    what = "training solves per row" if count == "solves" else "all solves per training row"
    for axes in every[max(0, len(by_case) - columns) : len(by_case)]:
        axes.set_xlabel(what)
    for row in grid:
        row[0].set_ylabel("regret, ratio to PFL")
    there = {entry.method for of_case in by_case.values() for entry in of_case if entry.setting >= 0}
    _legend(figure, 1.85 * rows, [method for method in reversed(LINES) if method in there])
    return figure


def _panel(axes: Axes, of_case: Sequence[Entry], count: Count) -> None:
    axes.axhline(1.0, color=INK, linewidth=0.8, dashes=(1, 2))
    heights = [1.0]
    for entry in of_case:
        if entry.budget == "paper" and getattr(entry, count) <= 300 and entry.mean < 1.3:
            axes.plot(getattr(entry, count), entry.mean, ".", color=MUTED, markersize=4, alpha=0.6)
            heights.append(entry.mean)
    for method, look in LINES.items():
        curve = sorted((e for e in of_case if e.method == method and e.setting >= 0), key=lambda e: e.setting)
        if curve:
            heights += [entry.mean for entry in curve]
            _curve(axes, curve, count, **look)
    for entry in of_case:
        if entry.method == "shift":
            axes.errorbar(
                getattr(entry, count), entry.mean, entry.error, color=ORANGE, marker="X", markersize=5, linewidth=1
            )
            heights.append(entry.mean)
    axes.set_xscale("symlog", linthresh=1.0, linscale=0.5, base=2)
    axes.xaxis.set_major_locator(FixedLocator(TICKS))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(canvas.compact))
    axes.set_xlim(-0.2, 300)
    low, high = min(heights), min(max(heights), 1.3)
    axes.set_ylim(max(0.0, low - 0.12 * (high - low) - 0.01), high + 0.15 * (high - low) + 0.01)


def _curve(
    axes: Axes, curve: Sequence[Entry], count: Count, *, color: str, marker: str, dashes: tuple[float, ...]
) -> None:
    wide = curve[0].method == DEFAULT
    line = axes.errorbar(
        [getattr(entry, count) for entry in curve],
        [entry.mean for entry in curve],
        [entry.error for entry in curve],
        color=color,
        marker=marker,
        markersize=4 if wide else 3,
        linewidth=1.8 if wide else 1.0,
        elinewidth=0.7,
        zorder=4 if wide else 3,
    )[0]
    if dashes:
        line.set_dashes(dashes)


def _legend(figure: Figure, height: float, methods: Sequence[str]) -> None:
    handles = [
        Line2D([], [], color=look["color"], marker=look["marker"], markersize=4, label=NAMES.get(method, method))
        for method, look in ((method, LINES[method]) for method in methods)
    ]
    handles += [
        Line2D([], [], color=ORANGE, marker="X", linestyle="none", label="shift"),
        Line2D([], [], color=MUTED, marker=".", linestyle="none", label="others to their end"),
        Line2D([], [], color=INK, linewidth=0.8, dashes=(1, 2), label="PFL"),
    ]
    figure.set_figheight(height + 0.35)
    for axes in figure.axes:
        box = axes.get_position()
        scale = height / (height + 0.35)
        axes.set_position((box.x0, box.y0 * scale, box.width, box.height * scale))
    figure.legend(handles=handles, loc="upper center", ncols=len(handles), frameon=False, handlelength=2.2)


def draw(out: Path, by_case: Mapping[str, Sequence[Entry]]) -> None:
    """The pictures of what is there."""
    there = {case: e for case, e in by_case.items() if any(one.method == DEFAULT and one.budget != OWN for one in e)}
    reported, *_ = GROUPS.values()
    first = [case for case in there if reported(case)] + [c for c in there if c == problem_of(c) and not reported(c)]
    sets = {
        "reported": [case for case in there if reported(case)],
        "paper": [case for case in there if GROUPS["the paper's four, linear"](case)]
        + [case for case in there if GROUPS["the paper's four, network"](case)],
        "chosen": [case for case in there if GROUPS["half that settings were chosen on"](case)],
    }
    for name, cases in sets.items():
        if cases:
            (out / f"{name}.png").write_bytes(canvas.png(picture({case: there[case] for case in cases})))
    if there:
        everything = {case: there[case] for case in dict.fromkeys((*first, *there))}
        (out / "in-all.png").write_bytes(canvas.png(picture(everything, "solves_in_all", columns=5)))
