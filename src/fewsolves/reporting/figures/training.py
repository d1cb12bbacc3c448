"""How validation regret fell: against the solves paid so far, and against epochs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator
from numpy.typing import NDArray

from fewsolves._internal.text import clean
from fewsolves.fitting.progress_file import estimated_levels
from fewsolves.reporting.figures.canvas import compact, dash, house_style, mark, panels, scale_values
from fewsolves.reporting.figures.canvas import styles as default_styles
from fewsolves.reporting.figures.labels import label_ends
from fewsolves.reporting.groups import Group, groups
from fewsolves.reporting.looks import MUTED, PAPER, Style
from fewsolves.reporting.runs import Run

Array = NDArray[np.float64]
PAGE_WIDTH = 4.4  # inches: two beside each other on a wide page, each within a phone


class Curve(NamedTuple):
    """Means over dataset seeds, epoch by epoch; epoch 0 is the last one of the warm start."""

    epoch: Array
    solves: Array
    regret: Array  # as measured
    best: Array  # of the best model so far, which is the one that early stopping keeps
    staged: bool = False  # read after each stage, not epoch by epoch


@house_style
def training_curves(runs: Sequence[Run], *, styles: Mapping[str, Style] | None = None) -> Figure:
    """One line per method, thin during the warm start: the best model against solves, every model against epochs."""
    chosen = default_styles(runs) if styles is None else styles
    found = groups(runs)
    names = list(dict.fromkeys(group.benchmark for group in found))
    figure, axes = panels(len(names), 2, height=3.4, right=1.85, gap=0.35, titled=True)
    for row, name in zip(axes, names, strict=True):
        curves = {group.label: curve(group) for group in found if group.benchmark == name}
        _draw(row, {label: one for label, one in curves.items() if one.epoch.size}, chosen)
        row[0].set_title(f"{clean(name, 24)}: best so far")
        staged = [one.staged for one in curves.values()]
        row[1].set_title("Every stage" if all(staged) else "Every reading" if any(staged) else "Every epoch")
    return figure


@house_style
def training_figures(runs: Sequence[Run], *, styles: Mapping[str, Style] | None = None) -> list[Figure]:
    """The same of one benchmark as two figures, which a page sets beside each other, or below on a phone."""
    chosen = default_styles(runs) if styles is None else styles
    curves = {group.label: one for group in groups(runs) if (one := curve(group)).epoch.size}
    drawn: list[Figure] = []
    longest = max((len(label) for label in curves), default=0)
    right = min(max(1.15, 0.55 + 0.06 * longest), 1.75)  # inches: labels stand whole beside the lines
    for draw in (_draw_by_solves, _draw_by_epoch):
        figure, [[axes]] = panels(1, 1, height=3.2, right=right, width=PAGE_WIDTH)
        draw(axes, curves, chosen)
        axes.set_ylabel(_regret_name(curves))
        ends = _ends(curves, by_epoch=draw is _draw_by_epoch)
        label_ends(axes, ends, list(curves), [chosen[label] for label in curves])
        drawn.append(figure)
    return drawn


def curve(group: Group) -> Curve:
    """Aligned at the end of the warm start; a seed that has stopped counts with its last values."""
    tables = [table for run in group.runs if (table := _validated(run))]
    if not tables:
        return Curve(*np.empty((4, 0)))
    first = max(min(table) for table in tables)
    means = []
    for epoch in sorted({epoch for table in tables for epoch in table if epoch >= first}):
        seen = [table[max(known for known in table if known <= epoch)] for table in tables]
        means.append((epoch, *np.mean(seen, axis=0)))
    epoch, solves, regret, best = np.array(means, dtype=np.float64).T
    return Curve(epoch, solves, regret, best, staged=bool(group.runs[0].stages))


def _validated(run: Run) -> dict[int, tuple[float, float, float]]:
    """{epoch: (solves paid, validation regret, the best so far)} of the epochs that were validated."""
    warm = sum(row.stage == "start" for row in run.history)
    found: dict[int, tuple[float, float, float]] = {}
    best = np.inf
    for position, row in enumerate(run.history):
        regret = row.validation_regret
        if regret is not None and np.isfinite(regret):
            # the warm start is chosen by its prediction error: training begins from where it ended
            best = min(best, regret) if row.stage != "start" else regret
            found[position - warm + 1] = (sum(row.solves.values()), regret, best)
    return _estimated(run, found) if run.stages else _with_ends(run, found)


def _with_ends(run: Run, found: dict[int, tuple[float, float, float]]) -> dict[int, tuple[float, float, float]]:
    """With the warm start and the result, where no epoch of the history has them."""
    started = run.number("start_validation_regret")
    if started is not None and np.isfinite(started) and min(found, default=1) > 0:
        # the warm start was validated once, at its end, and not epoch by epoch
        found = {0: (_paid_at_start(run), started, started)} | {
            epoch: (solves, regret, min(best, started)) for epoch, (solves, regret, best) in found.items()
        }
    result = run.reached.best
    untrained = all(row.stage == "start" for row in run.history)  # a shift of the outputs has no epochs
    if untrained and found and result is not None and result < found[max(found)][2]:
        found[max(found) + 1] = (run.solves, result, result)
    return found


def _paid_at_start(run: Run) -> int:
    """Solves up to the validation of the warm start: labels and similar calls, none of them for training."""
    first = next((row for row in run.history if row.stage != "start"), None)
    phases = ("probe", "labels", "validation")
    return sum(run.calls("solve", phase) if first is None else first.solves.get(phase, 0) for phase in phases)


def _estimated(run: Run, found: Mapping[int, tuple[float, float, float]]) -> dict[int, tuple[float, float, float]]:
    """Of a method in stages: the levels by the estimates of its stages, which lead to what its summary says."""
    reached, stages = run.reached, run.stages
    if reached.start is None or len(found) != len(stages) + 1 or not stages:
        return dict(found)
    levels = [reached.start, *estimated_levels(reached, stages)]
    taken, best = [True, *(bool(stage.get("accepted")) for stage in stages)], reached.start
    shown = {}
    for (epoch, (solves, _, _)), level, accepted in zip(found.items(), levels, taken, strict=True):
        best = level if accepted else best
        shown[epoch] = (solves, level, best)
    return shown


def _draw(row: Sequence[Axes], curves: Mapping[str, Curve], styles: Mapping[str, Style]) -> None:
    by_solves, by_epoch = row
    _draw_by_solves(by_solves, curves, styles)
    _draw_by_epoch(by_epoch, curves, styles)
    by_epoch.tick_params(labelleft=False)  # the values of the left panel
    by_epoch.spines["left"].set_visible(False)
    by_solves.set_ylabel(_regret_name(curves))
    label_ends(by_epoch, _ends(curves, by_epoch=True), list(curves), [styles[label] for label in curves])


def _regret_name(curves: Mapping[str, Curve]) -> str:
    """The default has no rows that only validate."""
    return "Mean regret" if any(one.staged for one in curves.values()) else "Validation regret"


def _draw_by_solves(axes: Axes, curves: Mapping[str, Curve], styles: Mapping[str, Style]) -> None:
    begins = _begins(curves)
    for label, one in curves.items():
        _line(axes, one.solves, one.best, begins[label], styles[label], label, steps=True)
    starts = {float(one.best[begins[label]]) for label, one in curves.items()}
    if len(starts) == 1:  # all began from the same predictor
        axes.axhline(starts.pop(), color=MUTED, linewidth=0.8, dashes=(4, 3), zorder=1, label="_baseline")
    _scale(axes, curves)
    scale_solves(axes, [one.solves[begins[label] :] for label, one in curves.items()])
    axes.set_xlabel("Solves paid so far")


def _draw_by_epoch(axes: Axes, curves: Mapping[str, Curve], styles: Mapping[str, Style]) -> None:
    begins, curves = _begins(curves), _counted(curves)
    for label, one in curves.items():
        if one.staged:
            _dots(axes, one, styles[label], label)
        else:
            _line(axes, one.epoch, one.regret, begins[label], styles[label], label)
    _scale(axes, curves)
    _scale_epochs(axes, list(curves.values()))
    all_staged = bool(curves) and all(one.staged for one in curves.values())
    axes.set_xlabel("Stages; 0 is the start" if all_staged else "Epochs after the warm start")


def _counted(curves: Mapping[str, Curve]) -> dict[str, Curve]:
    """With stages in place of epochs, where all methods have stages."""
    if not all(one.staged for one in curves.values()):
        return dict(curves)
    return {label: one._replace(epoch=np.arange(len(one.epoch), dtype=float)) for label, one in curves.items()}


def _dots(axes: Axes, one: Curve, style: Style, label: str) -> None:
    """Readings after the stages, which no line joins; open where a change was not taken."""
    taken = one.regret == one.best
    axes.axhline(float(one.regret[0]), color=MUTED, linewidth=0.8, dashes=(4, 3), zorder=1, label="_baseline")
    for shown, face, name in ((taken, style.colour, label), (~taken, PAPER, "_not taken")):
        look = mark(style, 6.0) | {"markerfacecolor": face, "markeredgecolor": style.colour, "markeredgewidth": 1.3}
        axes.plot(one.epoch[shown], one.regret[shown], linestyle="none", label=name, zorder=3, **look)


def _line(axes: Axes, x: Array, y: Array, begin: int, style: Style, label: str, *, steps: bool = False) -> None:
    """Thin during the warm start; in steps where it is the best so far."""
    drawn = "steps-post" if steps else "default"
    axes.plot(x[: begin + 1], y[: begin + 1], color=style.colour, linewidth=0.6, alpha=0.6, label="_start")
    [line] = axes.plot(x[begin:], y[begin:], linewidth=1.5, label=label, drawstyle=drawn)
    line.set(**mark(style, 5.5), markevery=[-1], zorder=3)
    dash(line, style)


def _begins(curves: Mapping[str, Curve]) -> dict[str, int]:
    """Where training begins in each curve."""
    return {label: max(int(np.searchsorted(one.epoch, 0, side="right")) - 1, 0) for label, one in curves.items()}


def _scale(axes: Axes, curves: Mapping[str, Curve]) -> None:
    """The scales are those of the training; the warm start before it may leave the picture."""
    begins = _begins(curves)
    scale_values(axes, [value for label, one in curves.items() for value in one.regret[begins[label] :]])


def _ends(curves: Mapping[str, Curve], *, by_epoch: bool) -> Array:
    shown = _counted(curves).values() if by_epoch else curves.values()
    ends = [(one.epoch[-1], one.regret[-1]) if by_epoch else (one.solves[-1], one.best[-1]) for one in shown]
    return np.array(ends, dtype=np.float64).reshape(-1, 2)


def scale_solves(axes: Axes, solves: Sequence[Array]) -> None:
    """Logarithmic x where counts span more than a factor of four."""
    values = np.concatenate([*solves, np.empty(0)])
    if values.size and values.min() > 0 and values.max() > 4 * values.min():
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(
            LogLocator(base=10, subs=(1.0, 2.0, 5.0) if values.max() < 100 * values.min() else (1.0,))
        )
        axes.set_xlim(values.min() / 2, values.max() * 1.5)
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(compact))


def _scale_epochs(axes: Axes, curves: Sequence[Curve]) -> None:
    longest = max([one.epoch[-1] for one in curves], default=0.0)
    first = min([one.epoch[0] for one in curves], default=0.0)
    if longest > 0:  # a long warm start would press the training into a corner: show its last part only
        axes.set_xlim(max(first, -0.5 * longest) - 0.02 * longest, 1.04 * longest)
    if first < 0 < longest:
        axes.axvline(0, color=MUTED, linewidth=0.6, dashes=(4, 3), zorder=1, label="_reference")
    axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))
