"""Q3: larger set multi-cover problems under a time limit, GP surrogate against SFGE.

The embedded solver needs microseconds whatever the size, so each solve is given the time that the paper's took: its
run time divided by its number of solves, 31 for each of 800 examples.
"""

from __future__ import annotations

from typing import Any

from fewsolves.paper.columns import against, mean, seconds
from fewsolves.paper.experiment import Experiment, Outcome, Size, Table
from fewsolves.paper.printed import printed
from fewsolves.paper.task import Results, Task

DELAYS = {"wsmc-10-250": 0.011, "wsmc-10-500": 0.018, "wsmc-10-750": 0.025, "wsmc-10-1000": 0.032}
LIMIT = 900.0
COMPARED = ("pfl", "gp-surrogate", "sfge")


def _terms(size: Size, benchmark: str) -> dict[str, Any]:
    if size.quick:
        return {"delay": DELAYS[benchmark] / 20, "limit": 3.0}
    return {"delay": DELAYS[benchmark], "limit": LIMIT}


def tasks(size: Size) -> list[Task]:
    return [
        size.task(benchmark, method, dataset, **_terms(size, benchmark))
        for benchmark in DELAYS
        for dataset in size.seeds
        for method in COMPARED
    ]


def show(results: Results, size: Size) -> Outcome:
    rows = [_row(results, size, benchmark, method) for benchmark in DELAYS for method in COMPARED]
    note = "Relative regret: divided by the mean optimal cost. The scale of the paper's figures is unknown."
    limit = _terms(size, "wsmc-10-250")["limit"]
    return Outcome({"q3": Table(f"Set multi-cover, {limit:g} s of training at the most", rows, note)})


def _row(results: Results, size: Size, benchmark: str, method: str) -> dict[str, Any]:
    terms = _terms(size, benchmark)
    where = size.setting(benchmark, **terms)
    mine, pfl, sfge = (results.of(name, where) for name in (method, "pfl", "sfge"))
    row = "sfge (hit the limit)" if method == "sfge" else method
    return {
        "benchmark": benchmark,
        "method": method,
        "ms a solve": f"{1000 * terms['delay']:g}",
        "datasets": len(mine),
        **seconds(mine),
        "printed seconds": printed("q3_runtime_seconds_limit_900", row, benchmark),
        "hit the limit": sum("time limit" in r["stopped"] for r in mine.values()),
        "solves": mean(mine, "solves_per_instance"),
        "relative regret": mean(mine, "test_relative_regret"),
        "printed regret": printed("q3_regret", method, benchmark),
        **against("PFL", mine, pfl),
        **against("SFGE", mine, sfge),
    }


EXPERIMENT = Experiment(
    name="q3",
    title="Q3: harder problems under a time limit",
    about="Set multi-cover with 250 to 1,000 sets; every solve takes as long as the paper's did.",
    tasks=tasks,
    show=show,
)
