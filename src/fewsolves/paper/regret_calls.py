"""Figure 2: regret against solver calls; of LODL and EGL the best form only, as in the paper."""

from __future__ import annotations

from typing import Any

import numpy as np

from fewsolves.paper import q1
from fewsolves.paper.columns import evaluations, mean
from fewsolves.paper.experiment import FOUR, Experiment, Outcome, Size, Table
from fewsolves.paper.statistics import summary
from fewsolves.paper.task import Results


def show(results: Results, size: Size) -> Outcome:
    from fewsolves.report import Run, figures

    runs, rows = [], []
    for benchmark in FOUR:
        where = size.setting(benchmark)
        for method in _shown(results, where):
            mine = results.of(method, where)
            runs += [Run(result | {"solves_per_instance": evaluations(result)}) for result in mine.values()]
            rows.append(
                {
                    "benchmark": benchmark,
                    "method": method,
                    "evaluations": summary([evaluations(r) for r in mine.values()]),
                    "test regret": mean(mine, "test_regret"),
                }
            )
    caption = "Test regret relative to PFL against evaluations per training instance; bars of one standard deviation."
    shown = {"regret-calls": (figures.regret_against_solves(runs), caption)} if runs else {}
    return Outcome({"regret-calls": Table("The points of the figure", rows)}, shown)


def _shown(results: Results, where: str) -> list[str]:
    """All methods, but of LODL and EGL the form of least regret."""
    names = results.names(where)
    best = {}
    for family in ("lodl", "egl"):
        forms = [name for name in names if name.startswith(family)]
        if forms:
            best[family] = min(forms, key=lambda name: _regret(results.of(name, where)))
    return [name for name in names if best.get(name.split("-")[0], name) == name]


def _regret(found: dict[int, dict[str, Any]]) -> float:
    return float(np.mean([result["test_regret"] for result in found.values()]))


EXPERIMENT = Experiment(
    name="regret-calls",
    title="Figure 2: regret against solver calls",
    about="The runs of Q1: what each method reaches, and what it asks for.",
    tasks=q1.tasks,
    show=show,
)
