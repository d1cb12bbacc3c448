"""Q4: many parameters, a toy problem with a stepwise cost in 64 to 512 dimensions, from random weights."""

from __future__ import annotations

from typing import Any

from fewsolves_studies.paper.experiment import Exhibits, Experiment, Size
from fewsolves_studies.paper.experiments.q1 import papers_row
from fewsolves_studies.paper.tables import Dot, PaperTable, against, evaluations, mean, printed, regret, summary
from fewsolves_studies.paper.trial import Results, Trial

TOYS = ("toy-64", "toy-128", "toy-256", "toy-512")
COMPARED = ("gp-surrogate", "gp-surrogate-paper", "sfge")


def trials(size: Size) -> list[Trial]:
    return [
        size.trial(benchmark, method, dataset, settings={"warm_start": False})
        for benchmark in TOYS
        for dataset in size.seeds
        for method in COMPARED
    ]


def show(results: Results, size: Size) -> Exhibits:
    from fewsolves_studies.paper.figures import curves

    rows = [_row(results, size, benchmark, method) for benchmark in TOYS for method in COMPARED]
    note = "A prediction-focused start solves the toy, so all methods start from random weights; the text does not say."
    return Exhibits(
        {"q4": PaperTable("The toy problem by its number of parameters", rows, note)},
        {"q4": (curves(_dots(results, size), of="Test regret", along="parameters"), "Test regret by dimension.")},
    )


def _dots(results: Results, size: Size) -> dict[str, list[Dot]]:
    def at(method: str, benchmark: str) -> Dot | None:
        found = mean(results.of(method, size.setting(benchmark)), "test_regret")
        published = printed("q4_regret", papers_row(method), benchmark)
        return found and Dot(
            benchmark.removeprefix("toy-"), found.mean, found.half, published.mean if published else None
        )

    return {method: [found for b in TOYS if (found := at(method, b))] for method in COMPARED}


def _row(results: Results, size: Size, benchmark: str, method: str) -> dict[str, Any]:
    where = size.setting(benchmark)
    mine, sfge = results.of(method, where), results.of("sfge", where)
    return {
        "benchmark": benchmark,
        "method": method,
        **regret(mine, printed("q4_regret", papers_row(method), benchmark)),
        "fresh regret": mean(mine, "fresh_regret"),
        **against("SFGE", mine, sfge),
        "evaluations": summary([evaluations(result) for result in mine.values()]),
    }


EXPERIMENT = Experiment(
    name="q4",
    title="Q4: many parameters",
    about="Identity decision, a cost that climbs in steps with the error, no solver: only the dimension grows.",
    trials=trials,
    show=show,
)
