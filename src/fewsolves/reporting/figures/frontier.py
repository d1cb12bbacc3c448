"""What regret was reached with how many solves: the best model so far, against everything that was paid."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure

from fewsolves._internal.text import clean
from fewsolves.reporting.figures.canvas import dash, house_style, mark, panels, scale_values
from fewsolves.reporting.figures.canvas import styles as default_styles
from fewsolves.reporting.figures.labels import label_ends
from fewsolves.reporting.figures.training import curve, scale_solves
from fewsolves.reporting.groups import groups
from fewsolves.reporting.looks import Style
from fewsolves.reporting.runs import Run


@house_style
def frontier(runs: Sequence[Run], *, styles: Mapping[str, Style] | None = None) -> Figure:
    """One line per method, in steps: it falls where a better model was found; lower and further left is better."""
    chosen = default_styles(runs) if styles is None else styles
    found = groups(runs)
    names = list(dict.fromkeys(group.benchmark for group in found))
    figure, axes = panels(len(names), 1, height=3.4, right=1.85, width=6.2, titled=True)
    for [panel], name in zip(axes, names, strict=True):
        curves = {group.label: one for group in found if group.benchmark == name and (one := curve(group)).epoch.size}
        for label, one in curves.items():
            [line] = panel.plot(one.solves, one.best, linewidth=1.5, drawstyle="steps-post", label=label)
            line.set(**mark(chosen[label], 5.5), markevery=[0, -1], zorder=3)
            dash(line, chosen[label])
        scale_values(panel, [value for one in curves.values() for value in one.best])
        scale_solves(panel, [one.solves for one in curves.values()])
        panel.set_xlabel("Solves paid so far")
        panel.set_ylabel("Regret of the best model so far")
        panel.set_title(f"{clean(name, 30)}: regret for solves")
        ends = np.array([(one.solves[-1], one.best[-1]) for one in curves.values()]).reshape(-1, 2)
        label_ends(panel, ends, list(curves), [chosen[label] for label in curves])
    return figure
