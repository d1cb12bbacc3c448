"""`fewsolves demo`: what the default gains with few solves of a MILP, and what the same would have cost otherwise.

The table of a benchmark is solved by HiGHS, under one budget for all methods. What they reach is measured on fresh
rows, and what the others would need to reach the same is counted, with an exact solver that takes microseconds and
returns the same decisions.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from rich.console import Console
from rich.table import Table

from fewsolves._internal.commit import code_commit
from fewsolves._internal.text import duration
from fewsolves.demo.benchmark import Benchmark, Entry, make
from fewsolves.demo.named import named_problems
from fewsolves.demo.set_cover import wsmc
from fewsolves.errors import InputError
from fewsolves.fitting.fit import fit
from fewsolves.fitting.plan import Plan
from fewsolves.fitting.result import result_of, write_result
from fewsolves.methods.registry import DEFAULT
from fewsolves.oracle import Budget, Oracle
from fewsolves.reporting import Run, figures, write_report
from fewsolves.reporting.tables import decimals, fixed
from fewsolves.training.progress import Progress

SHIPPED_NAME = "wsmc-10-50"  # the problem that is part of the package
SHIPPED = Entry("multi-cover of 10 unknown demands by 50 sets", wsmc, {"n_sets": 50})
DATASET_ROWS, FRESH_ROWS = 300, 2000
SOLVE_BUDGET = 5 * DATASET_ROWS  # of everything: labels, validation, training
OTHERS = ("pfl", "shift", "sfge", "pairs")
MAX_BUDGET_FACTOR = 64  # times as many solves, in the search for what the others would need
DEMO_CAPTION = (
    "What the same would have cost otherwise: regret on fresh rows, relative to prediction-focused learning, against "
    "all solves paid. Methods that do not reach the dashed line go on with twice the solves, and twice that, until one "
    "does or they end by themselves."
)


class Point(NamedTuple):
    """What a method reached, and what it paid for that."""

    regret: float  # mean over the fresh rows
    solves: int


@dataclass(frozen=True)
class Trial:
    """One dataset, by HiGHS and by the embedded solver, and fresh rows to measure on."""

    highs: Benchmark
    embedded: Benchmark
    X: torch.Tensor  # of the fresh rows
    fresh: Oracle

    @classmethod
    def load(cls, name: str, seed: int) -> Trial:
        embedded = load(name, seed, n=DATASET_ROWS)
        if "backend" not in embedded.options:
            has = ", ".join(one for one in named_problems().NAMES if one.startswith(("kp-", "wsmc-")))
            raise InputError(f"the demo is solved by HiGHS, and {name} has no such form; these have: {has}")
        rows = embedded.fresh(FRESH_ROWS)
        highs = load(name, seed, n=DATASET_ROWS, backend="milp")
        return cls(highs, embedded, torch.as_tensor(rows.X), Oracle(rows.problem, rows.Y))

    def run(self, method: str, solves: int, *, highs: bool = True) -> Run:
        """Run one method with this budget of solves; each method starts from the same prediction-focused predictor."""
        used = self.highs if highs else self.embedded
        settings = {"solves": float(solves)} if method == "pairs" else None  # it would end before the budget
        plan = Plan(
            used.problem,
            used.X,
            used.Y,
            method=method,
            settings=settings,
            predictor="linear",
            budget=Budget(solves=solves),
        )
        with Progress(f"{method}, {solves:,} solves {'of HiGHS' if highs else 'counted'}") as progress:
            fitted = fit(plan, callbacks=[progress])
        with torch.no_grad():
            y_hat = fitted.predictor(self.X).numpy()
        regret = self.fresh.regret(np.arange(len(self.fresh)), y_hat, phase="test")
        common = result_of(fitted)
        result = common | {
            "benchmark": used.name,
            "dataset_seed": used.seed,
            "config": {**common["config"], "data": dict(used.options)},
            "commit": code_commit(),
            "warnings": [message for message in common["warnings"] if message != fitted.oracle.budget_left.refused],
            "seconds": {**common["seconds"], "solve": fitted.oracle.calls.seconds_in["solve"]},
            "test_regret": float(regret.mean()),
        }
        return Run(result, tuple(fitted.history))


def load(name: str, seed: int, **options: object) -> Benchmark:
    """The problem of this package, or one by name of another that is installed."""
    return make(name, SHIPPED, seed, options) if name == SHIPPED_NAME else named_problems().load(name, seed, **options)


def run_demo(out: Path, benchmark: str, dataset_seed: int) -> None:
    """Train, print and write OUT/report.html, with one folder per method beside it."""
    console, trial = Console(), Trial.load(benchmark, dataset_seed)
    console.print(
        f"{benchmark}: {DATASET_ROWS} rows, solved by HiGHS; each method may pay for {SOLVE_BUDGET:,} solves, "
        "labels and validation included. About two minutes.",
        style="dim",
    )
    runs = {name: trial.run(name, SOLVE_BUDGET) for name in (*OTHERS, DEFAULT)}
    for name, run in runs.items():
        write_result(out / name, run.result, run.history)
    curves = {name: [_point(run)] for name, run in runs.items()}
    _search(trial, curves)
    trial.fresh.close()
    console.print(_table(runs))
    lines = summary_lines(runs, curves)
    for line in lines:
        console.print(line, soft_wrap=True)
    scaled = {name: [(one.solves, _ratio(one.regret, curves)) for one in curve] for name, curve in curves.items()}
    path = write_report(
        list(runs.values()),
        out / "report.html",
        title=f"fewsolves demo: {benchmark} by HiGHS",
        lead=lines,
        extra_figures={
            DEMO_CAPTION: figures.solves_needed(scaled, goal=DEFAULT, styles=figures.styles(list(runs.values())))
        },
    )
    console.print(f"report: {path}", soft_wrap=True)


def _point(run: Run) -> Point:
    return Point(run.regret, sum(number for phase, number in run.result["calls"]["solve"].items() if phase != "test"))


def _ratio(regret: float, curves: Mapping[str, Sequence[Point]]) -> float:
    start = curves["pfl"][0].regret
    return regret / start if start > 0 else math.nan


def _search(trial: Trial, curves: dict[str, list[Point]]) -> None:
    """Twice the solves, and twice that, until another method is as good as the default, or all have ended."""
    goal, times = curves[DEFAULT][0].regret, 2
    searched = [name for name in OTHERS if name != "pfl"]
    while times <= MAX_BUDGET_FACTOR and searched and min(curves[name][-1].regret for name in searched) > goal:
        for name in list(searched):
            point = _point(trial.run(name, times * SOLVE_BUDGET, highs=False))
            if point.solves <= curves[name][-1].solves:
                searched.remove(name)  # it ended by itself: more solves change nothing
            else:
                curves[name].append(point)
        times *= 2


def summary_lines(runs: Mapping[str, Run], curves: Mapping[str, Sequence[Point]]) -> list[str]:
    """The reduction of the regret, the calls paid, and the price of other methods, in a sentence or two each."""
    own, start = curves[DEFAULT][0], curves["pfl"][0]
    each = _highs_seconds(runs[DEFAULT]) / own.solves
    share = 1.0 - _ratio(own.regret, curves)
    gained = f"Avoidable cost cut by {share:.0%}" if share > 0 else "Avoidable cost not reduced"
    places = decimals([own.regret, start.regret])
    return [
        f"{gained}. The decisions of {DEFAULT} cost {fixed(own.regret, places)} a row beyond the best possible "
        f"ones, on {FRESH_ROWS:,} fresh rows; those of prediction-focused learning {fixed(start.regret, places)}.",
        f"Paid: {own.solves:,} solves, {own.solves / DATASET_ROWS:.1f} for each of {DATASET_ROWS} rows: "
        f"{duration(own.solves * each)} of HiGHS.",
        f"Otherwise: {_otherwise(curves, each)}",
    ]


def _otherwise(curves: Mapping[str, Sequence[Point]], each: float) -> str:
    own = curves[DEFAULT][0]
    others = {name: curve for name, curve in curves.items() if name != DEFAULT}
    as_good = [(point.solves, name) for name, curve in others.items() for point in curve if point.regret <= own.regret]
    if not as_good:
        most, name = max((curve[-1].solves, name) for name, curve in others.items())
        return f"no other method was as good, not even with {most:,} solves ({name})."
    solves, name = min(as_good)
    before = [point.solves for point in curves[name] if point.solves < solves]
    if not before:
        return f"{name} was as good with the same budget, for {solves:,} solves."
    return (
        f"{name} was the first to be as good, with {solves:,} solves and not with {max(before):,}: "
        f"{solves / own.solves:.0f} times as many, {duration(solves * each)} of HiGHS. If a solve took a minute, "
        f"{duration(solves * 60.0)} instead of {duration(own.solves * 60.0)}."
    )


def _highs_seconds(run: Run) -> float:
    seconds = run.seconds("solve")
    assert seconds is not None
    return seconds


def _table(runs: Mapping[str, Run]) -> Table:
    table = Table(title=f"regret on {FRESH_ROWS:,} fresh rows, under one budget of {SOLVE_BUDGET:,} solves")
    table.add_column("method", no_wrap=True)
    for heading in ("regret", "relative to PFL", "solves", "HiGHS seconds", "cost calls", "seconds in all"):
        table.add_column(heading, justify="right", min_width=8 if heading == "regret" else None)
    curves = {name: [_point(run)] for name, run in runs.items()}
    places = decimals(point.regret for [point] in curves.values())
    for name, [point] in sorted(curves.items(), key=lambda item: item[1][0].regret):
        result = runs[name].result
        table.add_row(
            name,
            fixed(point.regret, places),
            f"{_ratio(point.regret, curves):.2f}",
            f"{point.solves:,}",
            f"{_highs_seconds(runs[name]):.1f}",
            f"{sum(result['calls']['cost'].values()):,}",
            f"{result['seconds']['total']:.1f}",
        )
    return table
