"""A run that goes on: the regret that it has reached, and how fast it pays; and several runs side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator
from numpy.typing import NDArray

from fewsolves._internal.text import clean, number
from fewsolves.reporting.figures.canvas import compact, dash, house_style, mark, panels, scale_values
from fewsolves.reporting.looks import MUTED, Style, styles_of

BINS = 48
HALF = 4.25  # inches: two figures beside each other on a wide page, one below the other on a phone
UNITS = (("days", 86400.0), ("hours", 3600.0), ("minutes", 60.0), ("seconds", 1.0))
Array = NDArray[np.float64]
Readings = Sequence[tuple[int, float]]
Stages = Sequence[tuple[int, str, bool]]


@house_style
def regret_so_far(
    readings: Readings,
    start: float | None,
    stages: Stages = (),
    result: float | None = None,
    *,
    bests: Sequence[float] = (),
    best_now: float | None = None,
    paid: int = 0,
    method: str = "staged",
) -> tuple[Figure, dict[str, str]]:
    """The best so far in steps over the dashed start, and the readings; also the value of each dot, to show by it.

    Of a run that has ended, the line follows the stages whose change was taken, and leads to its result. Until then it
    follows `bests`, the run's own estimates at each reading, which no reading of some rows has to equal, and leads to
    `best_now`. It ends at the solves that are `paid` by now. All is in the colour of the `method`.
    """
    figure, [[axes]] = panels(1, 1, height=3.2, right=0.25, width=HALF, titled=True)
    solves, values = np.array(readings, dtype=np.float64).T
    colour = styles_of([method])[0].colour
    best = _best(values, start, [taken for _, _, taken in stages], bests)
    if result is None and best_now is not None:
        best[-1] = best_now
        if start is None or abs(best_now - start) > 1e-9 * abs(start):
            _beside(axes, f"best {number(best_now)}", best_now, above=False)
    if start is not None:
        axes.axhline(start, color=MUTED, linewidth=1.0, dashes=(4, 3), label="_start")
        _beside(axes, f"start {number(start)}", start)
    now = max(float(solves[-1]), float(paid))
    axes.step([*solves, now], [*best, best[-1]], where="post", color=colour, linewidth=1.8)
    axes.plot(solves, values, linestyle="none", marker="o", markersize=3.5, color=colour, markerfacecolor="none")
    if result is not None:
        axes.plot(now, result, marker="D", markersize=5, color=colour, zorder=4)
        if start is None or abs(result - start) > 1e-9 * abs(start):
            _beside(axes, f"result {number(result)}", result, above=False)
    for at, text in _stage_marks(stages):
        axes.axvline(at, color=MUTED, linewidth=0.5, alpha=0.5, label="_stage")
        axes.annotate(
            text, (at, 1.0), xycoords=("data", "axes fraction"), ha="center", va="bottom", color=MUTED, fontsize=6.5
        )
    shown = _hover(axes, solves, values, best, {at: _stage_text(name, taken) for at, name, taken in stages})
    scale_values(axes, [*values.tolist(), *(value for value in (start, result, best_now) if value is not None)])
    axes.xaxis.set_major_formatter(FuncFormatter(compact))
    axes.xaxis.set_major_locator(MaxNLocator(5, integer=True))
    axes.set_xlim(0, 1.03 * now or None)
    axes.set_xlabel("Solves paid so far")
    axes.set_ylabel("Mean regret")
    return figure, shown


def _best(
    values: NDArray[np.float64], start: float | None, taken: Sequence[bool], bests: Sequence[float]
) -> NDArray[np.float64]:
    """The best so far at each reading: as the run has it, or the last stage that was taken, or the lowest reading."""
    if len(bests) == len(values):
        return np.array(bests, dtype=np.float64)
    if len(taken) != len(values) - 1 or not taken:
        return np.minimum.accumulate(values if start is None else np.minimum(values, start))
    best = values.copy()
    for k, accepted in enumerate(taken, start=1):
        best[k] = values[k] if accepted else best[k - 1]
    return best


def _stage_marks(stages: Stages) -> list[tuple[int, str]]:
    """Where each stage ended, with its number; a cross where none of its changes was taken, a tick without a number."""
    marks: dict[str | int, tuple[int, str, bool]] = {}
    for k, (at, name, taken) in enumerate(stages):
        number_of = clean(name.partition(":")[0].replace("stage ", ""), 12)
        before = marks.get(number_of, (0, "", False))[2]
        marks[number_of or k] = at, number_of, taken or before
    return [
        (at, f"{name} {'' if taken and name else '✓' if taken else '✗'}".strip()) for at, name, taken in marks.values()
    ]


def _stage_text(name: str, taken: bool) -> str:
    return f"{clean(name, 60) or 'change'} ({'taken' if taken else 'not taken'})"


def _beside(axes: Axes, text: str, level: float, *, above: bool = True) -> None:
    axes.annotate(
        text, (0.99, level), xycoords=("axes fraction", "data"), ha="right", va="bottom" if above else "top",
        color=MUTED, xytext=(0, 2 if above else -5), textcoords="offset points",
    )  # fmt: skip


def _hover(
    axes: Axes,
    solves: NDArray[np.float64],
    values: NDArray[np.float64],
    best: NDArray[np.float64],
    names: Mapping[int, str],
) -> dict[str, str]:
    """Invisible dots that are easy to point at, and the text of each by its gid."""
    shown: dict[str, str] = {}
    for k, (at, value) in enumerate(zip(solves.tolist(), values.tolist(), strict=True)):
        name = f"{names[int(at)]}: " if int(at) in names else ""
        shown[f"reading-{k}"] = f"{name}{number(value)} after {int(at):,} solves; best so far {number(best[k])}"
        axes.plot(at, value, marker="o", markersize=14, color=MUTED, alpha=0.0, gid=f"reading-{k}", label="_hover")
    return shown


class Curve(NamedTuple):
    """A run among others."""

    method: str
    readings: Readings
    start: float | None = None
    stages: Stages = ()
    paid: int = 0
    bests: Sequence[float] = ()


@house_style
def best_so_far(curves: Sequence[Curve]) -> tuple[Figure, list[Style]]:
    """One line in steps for each run, without names; also the style of each, for a key beside its name."""
    figure, [[axes]] = panels(1, 1, height=3.2, right=0.25, width=HALF + 0.3)
    looks = styles_of([curve.method for curve in curves])
    for curve, style in zip(curves, looks, strict=True):
        if curve.readings:
            solves, values = np.array(curve.readings, dtype=np.float64).T
            best = _best(values, curve.start, [taken for _, _, taken in curve.stages], curve.bests)
            solves, best = np.append(solves, max(solves[-1], float(curve.paid))), np.append(best, best[-1])
            [line] = axes.plot(solves, best, linewidth=1.5, drawstyle="steps-post", label=f"_{curve.method}")
            line.set(**mark(style, 5.5), markevery=[0, -1], zorder=3)
            dash(line, style)
    scale_values(axes, [value for curve in curves for _, value in curve.readings])
    axes.xaxis.set_major_formatter(FuncFormatter(compact))
    axes.set_xlim(0, None)
    axes.set_xlabel("Solves paid so far")
    axes.set_ylabel("Best mean regret so far")
    return figure, looks


@house_style
def pace(solved_at: Sequence[float], method: str = "staged") -> Figure:
    """Solves per hour, over the time since the first."""
    figure, [[axes]] = panels(1, 1, height=3.2, right=0.25, width=HALF, titled=True)
    _draw_pace(axes, np.asarray(solved_at, dtype=np.float64), styles_of([method])[0].colour)
    return figure


def _draw_pace(axes: Axes, at: NDArray[np.float64], colour: str) -> None:
    axes.set_ylabel("Solves per hour")
    if len(at) < 2 or at.max() <= at.min():
        axes.set_xlabel("Time since the first solve")
        return
    since = at - at.min()
    name, unit = next((name, unit) for name, unit in UNITS if since.max() >= 2 * unit or unit == 1.0)
    number, edges = np.histogram(since, bins=min(BINS, max(4, len(at) // 10)))
    hours = np.diff(edges) / 3600.0
    axes.stairs(number / hours, edges / unit, fill=True, color=colour, alpha=0.25)
    axes.stairs(number / hours, edges / unit, color=colour, linewidth=1.2)
    axes.axhline(len(at) / hours.sum(), color=MUTED, linewidth=0.8, dashes=(4, 3), label="_mean")
    axes.set_ylim(0, None)
    axes.set_xlim(0, edges[-1] / unit)
    axes.set_xlabel(f"Time since the first solve, in {name}")
    axes.yaxis.set_major_formatter(FuncFormatter(compact))
    axes.xaxis.set_major_locator(MaxNLocator(6))
