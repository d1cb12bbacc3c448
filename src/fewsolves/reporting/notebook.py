"""A fitted model in a cell of a notebook: what was gained, what was paid, and what must not be missed."""

from __future__ import annotations

from collections.abc import Sequence

from fewsolves._internal.html import html_facts
from fewsolves._internal.text import duration
from fewsolves.fitting.summary import Summary
from fewsolves.reporting.runs import Run


def fitted_html(run: Run, summary: Summary, *, correction: str | None, warnings: Sequence[str]) -> str:
    """The facts of a run below its summary; warnings that repeat the summary are left out."""
    start, best = run.result["start_validation_regret"], run.result["best_validation_regret"]
    facts = {
        "method": f"{run.method}, {run.predictor} predictor",
        "validation regret": f"{start:.4g} at the start, {best:.4g} now",
        "rows": f"{run.rows['train']:,} to train, {run.rows['valid']:,} to validate",
        "solves": ", ".join(f"{number:,} {phase}" for phase, number in run.result["calls"]["solve"].items() if number),
        "cost calls": f"{summary.cost_calls:,}",
        "time": f"{duration(summary.seconds)}, {duration(summary.solver_seconds)} of it in your functions",
        "ended": run.stopped,
    }
    if correction is not None:
        facts["correction"] = correction
    noted = [warning for warning in warnings if warning != summary.message]
    return html_facts("DecisionRegressor, fitted", facts, sentences=(summary.message, summary.next), noted=noted)
