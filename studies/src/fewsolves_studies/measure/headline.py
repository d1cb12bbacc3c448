"""The picture of README and home page: regret against solves on three problems, from the runs of frontier.py.

    python -m fewsolves_studies.measure.headline        draws results/headline.png

All solves count: labels, validation and training. Regrets are means over datasets on 2,000 fresh rows each, as shares
of the regret of prediction-focused learning.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from fewsolves.reporting.figures import canvas
from fewsolves.reporting.looks import styles_of
from fewsolves_studies.benchmarks.study import Study
from fewsolves_studies.measure.frontier_tables import DEFAULT, PAPER, Entry, entries, of_the_paper

RESULTS = PAPER.parent
PICTURE = RESULTS / "headline.png"
CASES = {"wsmc-10-50": "set multi-cover", "inventory": "inventory", "fleet": "fleet of vehicles"}
MOST = 130.0  # solves per row that are shown
NAMES = {"sfge": "SFGE", "gp-surrogate": "GP surrogate", "pairs": "pairs", DEFAULT: "fewsolves, the default"}
LOOKS: dict[str, dict[str, Any]] = {
    name: {"color": style.colour, "marker": style.marker, "dashes": style.dashes, "label": NAMES[name]}
    for name, style in zip(NAMES, styles_of([*NAMES]), strict=True)
}


def curves(results: Path = RESULTS) -> dict[str, dict[str, list[Entry]]]:
    """By problem and method: what is on record, by the solves paid in all."""
    found, paper = entries(Study(results / "frontier-present").read()), Study(results / "paper").read()
    by_case = {}
    for case in CASES:
        datasets = sorted(next(entry for entry in found[case] if entry.method == "pfl").ratio)
        every = [entry for entry in found[case] if entry.setting >= 0] + of_the_paper(paper, case, datasets)
        own = set.intersection(*(set(entry.ratio) for entry in every if entry.method == DEFAULT))
        shown = [_of(entry, own) for entry in every if entry.solves_in_all <= MOST]
        by_case[case] = {
            method: sorted((e for e in shown if e.method == method), key=lambda e: e.solves_in_all) for method in LOOKS
        }
    return by_case


def _of(entry: Entry, datasets: set[int]) -> Entry:
    """The entry on these datasets: those of the default, so that all curves are of the same ones."""
    return replace(entry, ratio={k: ratio for k, ratio in entry.ratio.items() if k in datasets})


@canvas.house_style
def picture(by_case: Mapping[str, Mapping[str, Sequence[Entry]]]) -> Figure:
    """A panel per problem."""
    figure, (row,) = canvas.panels(1, len(by_case), height=3.0, gap=0.5, width=9.0, titled=True)
    for axes, (case, by_method) in zip(row, by_case.items(), strict=True):
        _panel(axes, by_method)
        axes.set_title(CASES[case])
        axes.set_xlabel("solves per row, all counted")
    row[0].set_ylabel("regret, share of the ordinary forecast's")
    handles, labels = row[1].get_legend_handles_labels()
    row[0].legend(handles[::-1], labels[::-1], loc="upper right", bbox_to_anchor=(1.0, 0.93), frameon=False)
    return figure


def _panel(axes: Axes, by_method: Mapping[str, Sequence[Entry]]) -> None:
    axes.axhline(1.0, color=canvas.INK, linewidth=0.8, dashes=(1, 2))
    for method, look in LOOKS.items():
        if curve := by_method[method]:
            solves = [entry.solves_in_all for entry in curve]
            width = 2.4 if method == DEFAULT else 1.3
            axes.plot(solves, [entry.mean for entry in curve], linewidth=width, markersize=4.5, **look)
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_locator(FixedLocator([1, 2, 4, 8, 16, 32, 64, 128]))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(canvas.compact))


def main() -> None:
    picture(curves()).savefig(PICTURE, dpi=130)


if __name__ == "__main__":
    main()
