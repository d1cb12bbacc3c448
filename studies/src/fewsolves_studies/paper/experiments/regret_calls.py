"""Figure 2: regret against solver calls; of LODL and EGL the best form only, as in the paper."""

from __future__ import annotations

import math

from fewsolves_studies.paper.experiment import FOUR, Exhibits, Experiment, Size
from fewsolves_studies.paper.experiments import q1
from fewsolves_studies.paper.experiments.q2 import printed_calls
from fewsolves_studies.paper.tables import ByDataset, PaperTable, evaluation_columns, evaluations, mean, printed, regret
from fewsolves_studies.paper.trial import Results

NOTE = "The best form of LODL and of EGL is the one of least mean test regret: chosen after the fact, as in the paper."


def show(results: Results, size: Size) -> Exhibits:
    from fewsolves.reporting import Run, figures

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
                    **evaluation_columns(mine, printed_calls(method, benchmark)),
                    **regret(mine, printed("q1_regret", q1.papers_row(method), benchmark)),
                }
            )
    caption = "Test regret relative to PFL against evaluations per training instance; bars of one standard deviation."
    shown = {"regret-calls": (figures.regret_against_solves(runs, training_only=True), caption)} if runs else {}
    return Exhibits({"regret-calls": PaperTable("The points of the figure", rows, NOTE)}, shown)


def _shown(results: Results, where: str) -> list[str]:
    """All methods, but of LODL and EGL the form of least regret."""
    names = results.names(where)
    best = {}
    for family in ("lodl", "egl"):
        forms = [name for name in names if name.startswith(family)]
        if forms:
            best[family] = min(forms, key=lambda name: _mean(results.of(name, where)))
    return [name for name in names if best.get(name.split("-")[0], name) == name]


def _mean(found: ByDataset) -> float:
    of = mean(found, "test_regret")
    return math.inf if of is None else of.mean


EXPERIMENT = Experiment(
    name="regret-calls",
    title="Figure 2: regret against solver calls",
    about="The runs of Q1: what each method reaches, and what it asks for.",
    trials=q1.trials,
    show=show,
)
