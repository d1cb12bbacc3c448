"""Whether the surrogate was trusted, and whether it deserved it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator, PercentFormatter

from fewsolves._internal.text import clean
from fewsolves.errors import InputError
from fewsolves.reporting.figures.canvas import compact, dash, house_style, mark, panels
from fewsolves.reporting.figures.canvas import styles as default_styles
from fewsolves.reporting.figures.labels import label_ends
from fewsolves.reporting.groups import Group, groups
from fewsolves.reporting.looks import MUTED, Style
from fewsolves.reporting.runs import Run


@house_style
def trust(runs: Sequence[Run], *, styles: Mapping[str, Style] | None = None) -> Figure:
    """Share of examples for which the surrogate was trusted, and solves paid online, epoch by epoch."""
    chosen = default_styles(runs) if styles is None else styles
    found = [group for group in groups(runs) if any(run.has_trust for run in group.runs)]
    if not found:
        raise InputError("no run has a `trusted` column with values: only methods with a surrogate decide on trust")
    names = list(dict.fromkeys(group.benchmark for group in found))
    figure, axes = panels(len(names), 2, right=1.85, gap=0.6)
    for (share, paid), name in zip(axes, names, strict=True):
        _draw_trust(share, paid, [group for group in found if group.benchmark == name], chosen)
        if len(names) > 1:
            share.set_title(clean(name, 60))
    return figure


def _draw_trust(share: Axes, paid: Axes, members: Sequence[Group], styles: Mapping[str, Style]) -> None:
    ends = []
    for group in members:
        style = styles[group.label]
        epochs, trusted, solves = _per_epoch(group)
        for panel, values in ((share, trusted), (paid, solves)):
            [line] = panel.plot(epochs, values, linewidth=1.5, label=group.label)
            line.set(**mark(style, 5.5), markevery=[-1], zorder=3, clip_on=False)
            dash(line, style)
        ends.append((epochs[-1], solves[-1]))
    for panel in (share, paid):
        panel.set_xlabel("Epochs of training")
        panel.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    share.set_ylim(0, 1.02)
    share.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    share.set_ylabel("Examples with a trusted surrogate")
    paid.set_ylim(0, None)
    paid.yaxis.set_major_formatter(FuncFormatter(compact))
    paid.set_ylabel("Solves paid per epoch")
    label_ends(paid, np.array(ends), [g.label for g in members], [styles[g.label] for g in members])


def _per_epoch(group: Group) -> tuple[list[int], list[float], list[float]]:
    """Means over the seeds that were still training in that epoch."""
    shares: dict[int, list[float]] = {}
    solves: dict[int, list[int]] = {}
    for run in group.runs:
        before, epoch = 0, 0
        for row in run.history:
            paid = row.solves.get("online", 0)
            if row.trusted is not None:
                epoch += 1
                shares.setdefault(epoch, []).append(row.trusted)
                solves.setdefault(epoch, []).append(paid - before)
            before = paid
    epochs = sorted(shares)
    return epochs, [float(np.mean(shares[e])) for e in epochs], [float(np.mean(solves[e])) for e in epochs]


@house_style
def calibration(runs: Sequence[Run], *, styles: Mapping[str, Style] | None = None) -> Figure:
    """How often regrets fell within the surrogate's intervals; on the diagonal its confidence is deserved."""
    chosen = default_styles(runs) if styles is None else styles
    found = [group for group in groups(runs) if any(run.calibration for run in group.runs)]
    if not found:
        raise InputError("no run has a `calibration`: only methods with a surrogate that states its own error have one")
    names = list(dict.fromkeys(group.benchmark for group in found))
    figure, axes = panels(len(names), 1, height=3.5, right=1.95, width=5.3, titled=True)
    for [panel], name in zip(axes, names, strict=True):
        low, ends, members = 0.45, [], [group for group in found if group.benchmark == name]
        for group in members:
            style = chosen[group.label]
            nominal, covered, error = _coverage(group)
            line, *_ = panel.errorbar(
                nominal, covered, yerr=error, label=group.label, linewidth=1.2, **mark(style, 5.5)
            )
            dash(line, style)
            ends.append((nominal[-1], covered[-1]))
            low = min(low, *nominal, *covered)
        panel.plot([0, 1], [0, 1], color=MUTED, linewidth=0.8, dashes=(4, 3), zorder=1, label="_reference")
        panel.text(0.03, 0.97, "cautious: intervals too wide", transform=panel.transAxes, va="top", color=MUTED)
        panel.text(0.97, 0.03, "overconfident: too narrow", transform=panel.transAxes, ha="right", color=MUTED)
        panel.set(
            xlim=(low - 0.05, 1), ylim=(low - 0.05, 1.01), xlabel="Stated probability", ylabel="Share of regrets inside"
        )
        for axis in (panel.xaxis, panel.yaxis):
            axis.set_major_formatter(PercentFormatter(1.0, decimals=0))
        panel.set_title(f"{clean(name, 24)}: coverage of the surrogate's intervals")
        label_ends(panel, np.array(ends), [g.label for g in members], [chosen[g.label] for g in members])
    return figure


def _coverage(group: Group) -> tuple[list[float], list[float], list[float]]:
    """Pooled over dataset seeds; the bars are the binomial standard error of the pooled share."""
    inside: dict[float, float] = {}
    count: dict[float, int] = {}
    for found in filter(None, (run.calibration for run in group.runs)):
        for nominal, covered in zip(found.nominal, found.covered, strict=True):
            inside[nominal] = inside.get(nominal, 0.0) + covered * found.n
            count[nominal] = count.get(nominal, 0) + found.n
    levels = sorted(level for level in inside if count[level])
    shares = [inside[level] / count[level] for level in levels]
    errors = [float(np.sqrt(max(p * (1 - p), 0.0) / count[level])) for level, p in zip(levels, shares, strict=True)]
    return levels, shares, errors
