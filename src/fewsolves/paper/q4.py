"""Q4: many parameters, a toy problem with a stepwise cost in 64 to 512 dimensions, from random weights."""

from __future__ import annotations

from typing import Any

from fewsolves.paper.experiment import Experiment, Outcome, Size, Table
from fewsolves.paper.printed import printed
from fewsolves.paper.q2 import evaluations
from fewsolves.paper.statistics import paired, summary
from fewsolves.paper.task import Results, Task

TOYS = ("toy-64", "toy-128", "toy-256", "toy-512")
COMPARED = ("gp-surrogate", "gp-surrogate-paper", "sfge")


def tasks(size: Size) -> list[Task]:
    return [
        size.task(benchmark, method, dataset, settings={"warm_start": False})
        for benchmark in TOYS
        for dataset in size.seeds
        for method in COMPARED
    ]


def show(results: Results, size: Size) -> Outcome:
    rows = [_row(results, size, benchmark, method) for benchmark in TOYS for method in COMPARED]
    note = "A prediction-focused start solves the toy, so all methods start from random weights, as in the paper."
    return Outcome({"q4": Table("The toy problem by its number of parameters", rows, note)})


def _row(results: Results, size: Size, benchmark: str, method: str) -> dict[str, Any]:
    where = size.setting(benchmark)
    mine, sfge = results.of(method, where), results.of("sfge", where)
    against = paired(mine, sfge, "test_regret") if method != "sfge" else None
    told = printed("q4_regret", method.removesuffix("-paper"), benchmark)
    return {
        "benchmark": benchmark,
        "method": method,
        "datasets": len(mine),
        "test regret": summary([r["test_regret"] for r in mine.values()]),
        "printed": f"{told.mean:g} ± {told.std:g}" if told else "",
        "fresh regret": summary([r["fresh_regret"] for r in mine.values()]),
        "better than SFGE": f"{against.won} of {against.of}" if against else "",
        "evaluations": summary([evaluations(r) for r in mine.values()]),
        "seconds": summary([r["seconds"]["total"] for r in mine.values()]),
    }


EXPERIMENT = Experiment(
    name="q4",
    title="Q4: many parameters",
    about="Identity decision, a cost that climbs in steps with the error, no solver: only the dimension grows.",
    tasks=tasks,
    show=show,
)
