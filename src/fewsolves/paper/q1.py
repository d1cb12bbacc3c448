"""Q1: the regret of all methods on the four benchmarks (the paper's extended table)."""

from __future__ import annotations

from typing import Any

from fewsolves.methods import METHODS
from fewsolves.paper.experiment import FOUR, LOCAL, Dot, Experiment, Outcome, Size, Table
from fewsolves.paper.printed import printed, printed_ratio
from fewsolves.paper.statistics import Paired, paired, summary
from fewsolves.paper.task import FLOOR, Results, Task
from fewsolves.problems.benchmark import load

METHODS_OF_THE_PAPER = ("pfl", "gp-surrogate", "gp-surrogate-paper", "sfge", "spo+", "lancer", *LOCAL)
OURS = ("shift", "memo")


def tasks(size: Size) -> list[Task]:
    problems = {benchmark: load(benchmark, 0, n=20).problem for benchmark in FOUR}
    return [
        size.task(benchmark, method, dataset)
        for benchmark in FOUR
        for dataset in size.seeds
        for method in (FLOOR, *METHODS_OF_THE_PAPER, *OURS)
        if method == FLOOR or METHODS[method].refuse(problems[benchmark]) is None
    ]


def show(results: Results, size: Size) -> Outcome:
    from fewsolves.paper.figures import dots

    points = {
        b: [dot for m in results.names(size.setting(b)) if (dot := _dot(results, size, b, m)) and m != "pfl"]
        for b in FOUR
    }
    long = [_row(results, size, b, m) for b in FOUR for m in results.names(size.setting(b))]
    return Outcome(
        {
            "q1": Table(
                "Test regret relative to PFL on the same datasets: ours (printed)",
                [_wide(results, size, method) for method in (*METHODS_OF_THE_PAPER, *OURS)],
                "Means over datasets of the ratio, ± half of the 95 % interval. The paper's row gp-surrogate stands "
                "beside both of ours: gp-surrogate-paper has its settings, gp-surrogate our default.",
            ),
            "q1-long": Table(
                "The same in full",
                long,
                "Gap closed = (PFL - method) / (PFL - floor) on 2,000 fresh rows; p of the exact Wilcoxon test.",
            ),
        },
        {"q1": (dots(points, of="Test regret relative to PFL"), "All methods on the four benchmarks.")},
    )


def papers_row(method: str) -> str:
    """The paper's name of one of our rows."""
    return "gp-surrogate" if method == "gp-surrogate-paper" else method


def _wide(results: Results, size: Size, method: str) -> dict[str, Any]:
    row: dict[str, Any] = {"method": method}
    for benchmark in FOUR:
        found = _to_pfl(results, size, benchmark, method)
        told = printed_ratio("q1_regret", papers_row(method), "pfl", benchmark)
        if found is None:
            row[benchmark] = ""
            continue
        half = f" ± {found.ratio.half:.2f}" if found.ratio.half is not None and method != "pfl" else ""
        row[benchmark] = f"{found.ratio.mean:.2f}{half}" + (f" ({told:.2f})" if told is not None else "")
    return row


def _to_pfl(results: Results, size: Size, benchmark: str, method: str) -> Paired | None:
    where = size.setting(benchmark)
    return paired(results.of(method, where), results.of("pfl", where), "test_regret")


def _dot(results: Results, size: Size, benchmark: str, method: str) -> Dot | None:
    found = _to_pfl(results, size, benchmark, method)
    told = printed_ratio("q1_regret", papers_row(method), "pfl", benchmark)
    return found and Dot(method, found.ratio.mean, found.ratio.half, told)


def _row(results: Results, size: Size, benchmark: str, method: str) -> dict[str, Any]:
    where = size.setting(benchmark)
    mine, pfl, sfge, floor = (results.of(name, where) for name in (method, "pfl", "sfge", FLOOR))
    told = printed("q1_regret", papers_row(method), benchmark)
    row: dict[str, Any] = {
        "benchmark": benchmark,
        "method": method,
        "datasets": len(mine),
        "test regret": summary([r["test_regret"] for r in mine.values()]),
        "printed": f"{told.mean:g} ± {told.std:g}" if told else "",
        "relative regret": summary([r["test_relative_regret"] for r in mine.values()]),
        "fresh regret": summary([r["fresh_regret"] for r in mine.values()]),
    }
    for name, other in (("PFL", pfl), ("SFGE", sfge)):
        against = paired(mine, other, "test_regret") if method != name.lower() else None
        row[f"to {name}"] = f"{against.ratio.mean:.3f}" if against else ""
        row[f"± to {name}"] = f"{against.ratio.half:.3f}" if against and against.ratio.half is not None else ""
        row[f"better than {name}"] = f"{against.won} of {against.of}" if against else ""
        row[f"p to {name}"] = f"{against.p:.3f}" if against and against.p is not None else ""
    ratio = printed_ratio("q1_regret", papers_row(method), "pfl", benchmark)
    row["printed to PFL"] = f"{ratio:.2f}" if ratio is not None else ""
    closed = [
        (pfl[d]["fresh_regret"] - mine[d]["fresh_regret"]) / (pfl[d]["fresh_regret"] - floor[d]["absolute"])
        for d in mine
        if d in pfl and d in floor
    ]
    gap = summary(closed)
    row["gap closed"] = f"{gap.mean:.0%}" if gap else ""
    row["kept its start"] = sum("kept its start" in r["stopped"] for r in mine.values())
    return row


EXPERIMENT = Experiment(
    name="q1",
    title="Q1: regret of all methods",
    about="Every method on the four benchmarks, linear predictor, the same datasets and stopping rule for all.",
    tasks=tasks,
    show=show,
)
