"""The appendix's argument as an experiment: where decision-focused learning has nothing left to gain.

With a linear objective and a predictor that can represent E[y | x], prediction-focused learning ends at the best
decisions there are; with recourse it does not. Two ways to a well-specified predictor: data of degree 1, which a linear
layer fits, and a network on the data of the paper.
"""

from __future__ import annotations

from typing import Any

from fewsolves.methods.registry import METHODS
from fewsolves_studies.benchmarks.catalogue import load
from fewsolves_studies.paper.experiment import FOUR, Exhibits, Experiment, Size
from fewsolves_studies.paper.tables import PaperTable, against, mean
from fewsolves_studies.paper.trial import FLOOR, Results, Trial

COMPARED = ("pfl", "gp-surrogate", "sfge", "spo+")
WELL_SPECIFIED = ("kp-values", "kp-weights")  # linear objective, and recourse
SETTINGS: list[tuple[str, str, dict[str, Any], str]] = [
    *((b, "linear", {"data": {"degree": 1}}, "linear, data of degree 1") for b in WELL_SPECIFIED),
    *((b, p, {}, p) for b in FOUR for p in ("network", "linear")),
]


def trials(size: Size) -> list[Trial]:
    return [
        size.trial(benchmark, method, dataset, predictor=predictor, **other)
        for benchmark, predictor, other, _ in SETTINGS
        for dataset in size.seeds
        for method in (*([FLOOR] * (predictor == "linear")), *COMPARED)
        if method == FLOOR or METHODS[method].refuse(load(benchmark, 0, n=20).problem) is None
    ]


def show(results: Results, size: Size) -> Exhibits:
    rows = [
        _row(results, size, *setting, method)
        for setting in SETTINGS
        for method in results.names(size.setting(setting[0], **setting[2]), setting[1])
        if method in COMPARED
    ]
    note = (
        "To its PFL: regret relative to prediction-focused learning with the same predictor and data. To the floor: "
        "relative to what knowing the distribution of y leaves. Both on 2,000 fresh rows."
    )
    return Exhibits({"classical": PaperTable("What is left to gain, by predictor", rows, note)})


def _row(
    results: Results, size: Size, benchmark: str, predictor: str, other: dict[str, Any], what: str, method: str
) -> dict[str, Any]:
    where = size.setting(benchmark, **other)
    mine, pfl = (results.of(name, where, predictor) for name in (method, "pfl"))
    floors = {d: {"fresh_regret": f["absolute"]} for d, f in results.of(FLOOR, where).items()}
    return {
        "benchmark": benchmark,
        "objective": "linear" if benchmark == "kp-values" else "with recourse",
        "predictor": what,
        "method": method,
        "datasets": len(mine),
        "fresh regret": mean(mine, "fresh_regret"),
        **against("its PFL", mine, pfl, "fresh_regret"),
        "to the floor": against("the floor", mine, floors, "fresh_regret")["to the floor"],
        "solves": mean(mine, "solves_per_instance"),
    }


EXPERIMENT = Experiment(
    name="classical",
    title="The classical setting",
    about="Linear objective and a predictor that can be right: is there anything to gain? And with recourse?",
    trials=trials,
    show=show,
)
