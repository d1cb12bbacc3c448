"""A fitted model in a cell of a notebook: what was gained, what was paid, and what must not be missed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from fewsolves._internal.html import html_facts
from fewsolves._internal.text import duration, number
from fewsolves.execution.base import paid
from fewsolves.fitting.progress_file import estimated_levels
from fewsolves.fitting.summary import Summary
from fewsolves.reporting.looks import INK, styles_of
from fewsolves.reporting.runs import Run

WIDTH, HEIGHT = 320, 60  # pixels of the curve


def fitted_html(run: Run, summary: Summary, *, correction: str | None, warnings: Sequence[str]) -> str:
    """The facts of a run below its summary; warnings that repeat the summary are left out."""
    start, best = run.reached
    facts = {
        "method": f"{run.method}, {run.predictor} predictor",
        "regret": f"{_read(start)} at the start, {_read(best)} now",
        "rows": run.rows_by_use,
        "solves": ", ".join(f"{count:,} {phase}" for phase, count in run.result["calls"]["solve"].items() if count),
        "cost calls": f"{summary.cost_calls:,}",
        "time": f"{duration(summary.seconds)}, {duration(summary.solver_seconds)} of it in your functions",
        "ended": run.stopped,
    }
    if correction is not None:
        facts["correction"] = correction
    noted = [warning for warning in warnings if warning != summary.message]
    sentences, drawn = (summary.message, summary.next), small_curve(run)
    return html_facts("DecisionRegressor, fitted", facts, sentences=sentences, noted=noted, drawn=drawn)


def _read(regret: float | None) -> str:
    return "not read" if regret is None else number(regret)


def small_curve(run: Run) -> str:
    """The best regret so far in steps over the dashed start, as an SVG; empty where there is nothing to draw."""
    points = _best_so_far(run)
    if len(points) < 2:
        return ""
    last, high, low = points[-1][0], max(best for _, best in points), min(0.0, *(best for _, best in points))

    def at(solves: float, regret: float) -> str:
        x = WIDTH * (solves - points[0][0]) / max(last - points[0][0], 1)
        return f"{x:.1f},{2 + (HEIGHT - 4) * (high - regret) / (high - low or 1.0):.1f}"

    path = [at(*points[0])]
    for (_, before), (solves, best) in pairwise(points):
        path += [at(solves, before), at(solves, best)]
    start = at(points[0][0], points[0][1]).partition(",")[2]
    fell = f"{number(points[0][1])} to {number(points[-1][1])}"
    [style] = styles_of([run.method])
    colour = "currentColor" if style.colour == INK else style.colour
    label = f"best regret so far: {fell}, over {points[0][0]:,} to {last:,} solves"
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" role="img" aria-label="{label}" '
        f'style="display: block; margin: 0.2em 0 0.6em"><title>{label}</title>'
        f'<path d="M0,{start} H{WIDTH}" fill="none" stroke="gray" stroke-dasharray="4 3"/>'
        f'<path d="M{" L".join(path)}" fill="none" stroke="{colour}" stroke-width="2"/></svg>'
    )


def _best_so_far(run: Run) -> list[tuple[int, float]]:
    """Solves paid and the best regret at each reading; of a method in stages, by the estimates of its stages."""
    read = [
        (paid(one.solves), one.validation_regret)
        for one in run.history
        if one.validation_regret is not None and math.isfinite(one.validation_regret)
    ]
    reached, stages = run.reached, run.stages
    if reached.start is None or not math.isfinite(reached.start) or not read:
        return []
    points, best = [(read[0][0], reached.start)], reached.start
    if stages and len(read) == len(stages) + 1:
        levels = estimated_levels(reached, stages)
        for (solves, _), level, stage in zip(read[1:], levels, stages, strict=True):
            best = level if stage.get("accepted") else best
            points.append((solves, best))
        return points
    for solves, regret in read:
        best = min(best, regret)
        points.append((solves, best))
    return points
