"""Q3: larger set multi-cover problems under a time limit, GP surrogate against SFGE.

The embedded solver needs microseconds whatever the size, so each solve is given the time that the paper's took: its
run time divided by the number of its solves, for which that of wsmc-10-50 is taken, 31 for each of 800 examples. Then
the same with the generic MILP solver.
"""

from __future__ import annotations

from typing import Any

from fewsolves_studies.paper.experiment import Exhibits, Experiment, Size
from fewsolves_studies.paper.experiments.q1 import papers_row
from fewsolves_studies.paper.tables import ByDataset, Dot, PaperTable, against, dot, mean, printed, seconds
from fewsolves_studies.paper.trial import Results, Trial

DELAYS = {"wsmc-10-250": 0.011, "wsmc-10-500": 0.018, "wsmc-10-750": 0.025, "wsmc-10-1000": 0.032}
LIMIT, GENERIC_LIMIT = 900.0, 300.0
COMPARED = ("pfl", "gp-surrogate", "gp-surrogate-paper", "sfge")


def _delayed(size: Size, benchmark: str) -> dict[str, Any]:
    if size.quick:
        return {"delay": DELAYS[benchmark] / 20, "limit": 3.0}
    return {"delay": DELAYS[benchmark], "limit": LIMIT}


def _generic(size: Size, benchmark: str) -> dict[str, Any]:
    return {"data": {"backend": "milp"}, "limit": 2.0 if size.quick else GENERIC_LIMIT}


def trials(size: Size) -> list[Trial]:
    smallest = list(DELAYS)[:1]
    return [
        size.trial(benchmark, method, dataset, **terms(size, benchmark))
        for terms, benchmarks, datasets in (
            (_delayed, DELAYS, size.seeds),
            (_generic, smallest if size.quick else DELAYS, range(1)),
        )
        for benchmark in benchmarks
        for dataset in datasets
        for method in COMPARED
    ]


def show(results: Results, size: Size) -> Exhibits:
    from fewsolves_studies.paper.figures import curves

    def table(terms: Any, solver: str, note: str) -> PaperTable:
        settings = {benchmark: terms(size, benchmark) for benchmark in DELAYS}
        rows = [_row(results, size, b, m, settings[b]) for b in DELAYS for m in COMPARED]
        limit = settings["wsmc-10-250"]["limit"]
        title = f"Set multi-cover, {solver}, {limit:g} s of training at the most"
        return PaperTable(title, [row for row in rows if row["datasets"]], note)

    scale = "Relative regret: divided by the mean optimal cost. The scale of the paper's figures is unknown."
    return Exhibits(
        {
            "q3": table(_delayed, "each solve as slow as the paper's", scale),
            "q3-generic": table(_generic, "generic MILP solver", "HiGHS at gap 0; dataset 0."),
        },
        {
            "q3": (
                curves(_dots(results, size), of="Ratio of test regrets", along="sets"),
                "Regret under the time limit.",
            )
        },
    )


def _dots(results: Results, size: Size) -> dict[str, list[Dot]]:
    """Ratios of regrets by the number of sets; what is printed has another scale, but the same ratios."""

    def ratio(benchmark: str, method: str, other: str) -> Dot | None:
        where = size.setting(benchmark, **_delayed(size, benchmark))
        published, other_published = (printed("q3_regret", papers_row(name), benchmark) for name in (method, other))
        printed_ratio = published.mean / other_published.mean if published and other_published else None
        return dot(benchmark.split("-")[-1], results.of(method, where), results.of(other, where), printed_ratio)

    return {
        f"{method} to {other}": [found for b in DELAYS if (found := ratio(b, method, other))]
        for method, other in (("gp-surrogate", "sfge"), ("gp-surrogate-paper", "sfge"), ("sfge", "pfl"))
    }


def _row(results: Results, size: Size, benchmark: str, method: str, terms: dict[str, Any]) -> dict[str, Any]:
    where = size.setting(benchmark, **terms)
    mine, pfl, sfge = (results.of(name, where) for name in (method, "pfl", "sfge"))
    row = "sfge (hit the limit)" if method == "sfge" else papers_row(method)
    return {
        "benchmark": benchmark,
        "method": method,
        "datasets": len(mine),
        "ms a solve": _pace(mine),
        **seconds(mine),
        "printed seconds": printed("q3_runtime_seconds_limit_900", row, benchmark),
        "hit the limit": sum("time limit" in r["stopped"] for r in mine.values()),
        "solves": mean(mine, "solves_per_instance"),
        "relative regret": mean(mine, "test_relative_regret"),
        "printed regret": printed("q3_regret", papers_row(method), benchmark),
        **against("PFL", mine, pfl),
        **against("SFGE", mine, sfge),
    }


def _pace(mine: ByDataset) -> str:
    """Milliseconds inside the solver for each solve that was paid, as measured."""
    paid = sum(n for r in mine.values() for phase, n in r["calls"]["solve"].items() if phase != "test")
    taken = sum(r["seconds"]["solver"] for r in mine.values())
    return f"{1000 * taken / paid:.1f}" if paid else ""


EXPERIMENT = Experiment(
    name="q3",
    title="Q3: harder problems under a time limit",
    about="Set multi-cover with 250 to 1,000 sets; every solve takes as long as the paper's did, or as HiGHS needs.",
    trials=trials,
    show=show,
)
