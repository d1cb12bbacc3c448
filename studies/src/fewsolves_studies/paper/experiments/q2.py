"""Q2: solves per instance and run time, also where a solve costs something.

The embedded solvers take microseconds, and nothing is worth saving there. So the run time is measured in two more
settings: with `DELAY` seconds per solve, and with the generic MILP solver under a time limit.
"""

from __future__ import annotations

from typing import Any

from fewsolves_studies.paper.experiment import FOUR, Exhibits, Experiment, Size
from fewsolves_studies.paper.experiments import q1
from fewsolves_studies.paper.tables import PaperTable, Printed, against, evaluation_columns, mean, printed, seconds
from fewsolves_studies.paper.trial import Results, Trial

DELAY = 0.005
DELAYED = ("pfl", "gp-surrogate", "gp-surrogate-paper", "sfge", "lancer", "egl-mse", "lodl-mse")
LIMIT = 120.0  # seconds of training with the generic solver
GENERIC = ("pfl", "gp-surrogate", "sfge")


def slow_trials(size: Size) -> list[Trial]:
    delay, limit = (0.0005, 2.0) if size.quick else (DELAY, LIMIT)
    delayed = [size.trial(b, m, 0, delay=delay) for b in FOUR for m in (*DELAYED, *(["spo+"] * (b == "kp-values")))]
    return delayed + [size.trial(b, m, 0, data={"backend": "milp"}, limit=limit) for b in FOUR for m in GENERIC]


def trials(size: Size) -> list[Trial]:
    return q1.trials(size) + slow_trials(size)


def show(results: Results, size: Size) -> Exhibits:
    counts = [_counts(results, size, b, m) for b in FOUR for m in results.names(size.setting(b))]
    delay = next((trial.delay for trial in results.found if trial.delay), DELAY)
    limit = next((trial.limit for trial in results.found if trial.limit), LIMIT)
    slow: dict[str, dict[str, Any]] = {f"{1000 * delay:g} ms a solve": {"delay": delay}}
    slow[f"generic MILP, {limit:g} s at the most"] = {"data": {"backend": "milp"}, "limit": limit}
    timed = [
        _seconds(results, size, b, m, what, where)
        for what, where in slow.items()
        for b in FOUR
        for m in results.names(size.setting(b, **where))
    ]
    return Exhibits(
        {
            "q2-solves": PaperTable(
                "Evaluations and solves per training instance, embedded solvers",
                counts,
                "The paper counts evaluations of the regret that training asks for. Solves are what was paid: one "
                "solve serves every example where all share the problem. In full: with labels, validation, probes.",
            ),
            "q2-seconds": PaperTable(
                "Run time where a solve costs something, dataset 0",
                timed,
                "Seconds of processor time and of the stated delay, not of waiting for a core. The printed run times "
                "are of another machine and solver, and of LODL and EGL those of their best form.",
            ),
        }
    )


def _printed(table: str, method: str, benchmark: str, group: str) -> Printed | None:
    """Of LODL and EGL the paper has one figure for all forms, or that of the best form."""
    family = method.split("-")[0]
    return printed(table, q1.papers_row(method), benchmark) or printed(table, f"{family} ({group})", benchmark)


def printed_calls(method: str, benchmark: str) -> Printed | None:
    return _printed("q2_solver_calls_per_instance", method, benchmark, "all")


def _counts(results: Results, size: Size, benchmark: str, method: str) -> dict[str, Any]:
    mine = results.of(method, size.setting(benchmark))
    return {
        "benchmark": benchmark,
        "method": method,
        **evaluation_columns(mine, printed_calls(method, benchmark)),
        "solves": mean(mine, "solves_per_instance"),
        "solves in full": mean(mine, "total_solves_per_instance"),
        "cost calls": mean(mine, "cost_calls_per_instance"),
        **seconds(mine),
    }


def _seconds(
    results: Results, size: Size, benchmark: str, method: str, what: str, where: dict[str, Any]
) -> dict[str, Any]:
    mine, pfl = (results.of(name, size.setting(benchmark, **where)) for name in (method, "pfl"))
    return {
        "solver": what,
        "benchmark": benchmark,
        "method": method,
        **seconds(mine),
        "printed": _printed("q2_runtime_seconds", method, benchmark, "best"),
        "solves": mean(mine, "solves_per_instance"),
        "to PFL": against("PFL", mine, pfl)["to PFL"],
        "stopped": mine[0]["stopped"],
    }


EXPERIMENT = Experiment(
    name="q2",
    title="Q2: solves and run time",
    about="The runs of Q1 counted and timed; then again with solves that cost something.",
    trials=trials,
    show=show,
)
