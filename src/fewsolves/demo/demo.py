"""`fewsolves demo`: what the default gains with few solves of a MILP, and what other methods would have paid.

The table of a benchmark is solved by HiGHS, under one budget for all methods. What they reach is measured on fresh
rows, and what the others would need to reach the same is counted, with an exact solver that takes microseconds and
returns the same decisions. That solver is compiled by numba, and the report drawn by matplotlib; without these extras
the demo prints its table, and says what to install for the rest.
"""

from __future__ import annotations

import math
import shutil
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from fewsolves._internal.commit import code_commit
from fewsolves._internal.text import duration
from fewsolves.demo.benchmark import Benchmark, Entry, make
from fewsolves.demo.cover_solver import COMPILED
from fewsolves.demo.named import named_problems
from fewsolves.demo.set_cover import wsmc
from fewsolves.errors import InputError
from fewsolves.fitting.fit import fit
from fewsolves.fitting.plan import Plan
from fewsolves.fitting.prepare import prepare
from fewsolves.fitting.result import result_of, write_result
from fewsolves.methods.registry import DEFAULT
from fewsolves.oracle import Budget, Oracle
from fewsolves.problem import Array
from fewsolves.reporting import Run
from fewsolves.reporting.tables import Tile, decimals, fixed
from fewsolves.training.progress import Progress

SHIPPED_NAME = "wsmc-10-50"  # the problem that is part of the package
SHIPPED = Entry("multi-cover of 10 unknown demands by 50 sets", wsmc, {"n_sets": 50})
OTHERS = ("pfl", "shift", "sfge", "pairs")
STORY = (
    "A staffing problem. Ten tasks need people; how many is unknown when shifts are chosen. Each of fifty "
    "possible shifts covers one task or several, and costs 1 to 99. HiGHS chooses the cheapest shifts that cover the "
    "predicted demand. Each person who is missing afterwards costs ten times the most expensive shift that "
    "covers the task. "
    "Regret is the money that a plan costs beyond the best plan for the demand that came: the avoidable cost."
)  # of SHIPPED, whose name in the studies is short for weighted set multi-cover, 10 items and 50 sets
DEMO_CAPTION = (
    "What other methods would have paid: regret on fresh rows, relative to prediction-focused learning, against all "
    "solves paid. Methods that do not reach the dashed line are run again with twice the solves, four times, and so "
    "on, until one reaches it or all end by themselves."
)

NOT_COUNTED = "pip install 'fewsolves[fast]', and the demo counts the solves that other methods need for the same."


@dataclass(frozen=True)
class Size:
    """The amount of work of a demo."""

    rows: int = 300  #: of the table that is trained on
    fresh_rows: int = 2000  #: that are measured on
    solves: int = 1500  #: budget of each method, for labels, validation and training
    max_factor: int = 64  #: largest multiple of the budget, in the search for what the others would need


FULL = Size()


class Point(NamedTuple):
    """The regret that a method reached, and the solves that it paid."""

    regret: float  # mean over the fresh rows
    solves: int


@dataclass(frozen=True)
class Trial:
    """One dataset, by HiGHS and by the embedded solver, and fresh rows to measure on."""

    highs: Benchmark
    embedded: Benchmark
    X: Array  # of the fresh rows
    fresh: Oracle
    size: Size

    @classmethod
    def load(cls, name: str, seed: int, size: Size) -> Trial:
        embedded = load(name, seed, n=size.rows)
        if "backend" not in embedded.options:
            has = ", ".join(one for one in named_problems().NAMES if one.startswith(("kp-", "wsmc-")))
            raise InputError(f"the demo is solved by HiGHS, and {name} has no such form; these have: {has}")
        highs = load(name, seed, n=size.rows, backend="milp")
        rows = (embedded if COMPILED else highs).fresh(size.fresh_rows)
        return cls(highs, embedded, rows.X, Oracle(rows.problem, rows.Y), size)

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
        prepared, label = prepare(plan), f"{method}, {solves:,} solves {'of HiGHS' if highs else 'counted'}"
        with Progress(label, expected=prepared.expected) as progress:
            fitted = fit(prepared, callbacks=[progress])
        y_hat = fitted.predictor(self.X)
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


def run_demo(out: Path, benchmark: str, dataset_seed: int, size: Size = FULL) -> None:
    """Train, print and write OUT/report.html, with one folder per method beside it."""
    trial, about = Trial.load(benchmark, dataset_seed, size), STORY if benchmark == SHIPPED_NAME else ""
    budget = f"each method may pay for {size.solves:,} solves, labels and validation included"
    _print(f"{about}\n" * bool(about) + f"{size.rows} rows; {budget}. About two minutes.")
    runs = {name: trial.run(name, size.solves) for name in (*OTHERS, DEFAULT)}
    for name, run in runs.items():
        write_result(out / name, run.result, run.history)
    curves = {name: [_point(run)] for name, run in runs.items()}
    if COMPILED:
        _search(trial, curves)
    trial.fresh.close()
    print(_table(runs, size))
    lines = summary_lines(runs, curves, size, counted=COMPILED)
    _print("\n".join(lines))
    title = "fewsolves demo: shifts that cover demand" if about else f"fewsolves demo: {benchmark} by HiGHS"
    try:
        path = _write_report(out / "report.html", title, about, lines, runs, curves, demo_tiles(curves, size))
    except ImportError as error:
        _print(f"No report: {error}. The results are in {out}.")
    else:
        print(f"report: {path}")


def _print(text: str) -> None:
    """Line by line, within the width of the terminal."""
    width = shutil.get_terminal_size().columns
    for line in text.splitlines():
        print(textwrap.fill(line, width, break_long_words=False, break_on_hyphens=False))


def _write_report(
    path: Path,
    title: str,
    about: str,
    lines: Sequence[str],
    runs: Mapping[str, Run],
    curves: Mapping[str, Sequence[Point]],
    tiles: Sequence[Tile],
) -> Path:
    from fewsolves.reporting import figures, write_report  # an extra

    scaled = {name: [(one.solves, _ratio(one.regret, curves)) for one in curve] for name, curve in curves.items()}
    drawn = figures.solves_needed(scaled, goal=DEFAULT, styles=figures.styles(list(runs.values())))
    extra = {DEMO_CAPTION: drawn}
    return write_report(
        list(runs.values()), path, title=title, lead=lines, tiles=tiles, about=about, extra_figures=extra
    )


def _point(run: Run) -> Point:
    return Point(run.regret, run.solves)


def _ratio(regret: float, curves: Mapping[str, Sequence[Point]]) -> float:
    start = curves["pfl"][0].regret
    return regret / start if start > 0 else math.nan


def _search(trial: Trial, curves: dict[str, list[Point]]) -> None:
    """Twice the solves, and twice that, until another method is as good as the default, or all have ended."""
    goal, times, size = curves[DEFAULT][0].regret, 2, trial.size
    searched = [name for name in OTHERS if name != "pfl"]
    while times <= size.max_factor and searched and min(curves[name][-1].regret for name in searched) > goal:
        for name in list(searched):
            point = _point(trial.run(name, times * size.solves, highs=False))
            if point.solves <= curves[name][-1].solves:
                searched.remove(name)  # it ended by itself: more solves change nothing
            else:
                curves[name].append(point)
        times *= 2


def summary_lines(
    runs: Mapping[str, Run], curves: Mapping[str, Sequence[Point]], size: Size = FULL, *, counted: bool = True
) -> list[str]:
    """The reduction of the regret, the calls paid, and the price of other methods, in a sentence or two each.

    `counted` says whether the others were tried with more solves.
    """
    own, start = curves[DEFAULT][0], curves["pfl"][0]
    each = _highs_seconds(runs[DEFAULT]) / own.solves
    share = 1.0 - _ratio(own.regret, curves)
    gained = f"Avoidable cost cut by {share:.0%}" if share > 0 else "Avoidable cost not reduced"
    places = decimals([own.regret, start.regret])
    return [
        f"{gained}. The decisions of {DEFAULT} cost {fixed(own.regret, places)} a row beyond the best possible "
        f"ones, on {size.fresh_rows:,} fresh rows; those of prediction-focused learning {fixed(start.regret, places)}.",
        f"Paid: {own.solves:,} solves, {own.solves / size.rows:.1f} for each of {size.rows} rows: "
        f"{duration(own.solves * each)} of HiGHS.",
        f"Otherwise: {_otherwise(curves, each) if counted else NOT_COUNTED}",
    ]


def demo_tiles(curves: Mapping[str, Sequence[Point]], size: Size = FULL) -> list[Tile]:
    """The tiles at the top of the page."""
    own, change = curves[DEFAULT][0], _ratio(curves[DEFAULT][0].regret, curves) - 1
    each = f"{own.solves / size.rows:.1f} per row of the table"
    shown = f"{change:+.0%}".replace("-", "−").replace("%", " %")
    tiles = [Tile(shown, "avoidable cost, on fresh rows"), Tile(f"{own.solves:,}", f"solves, {each}")]
    as_good, most = _as_good(curves)
    if as_good is None:
        return [*tiles, Tile("no other", f"method was as good, even with {most[0]:,} solves")]
    solves, name = as_good
    return [*tiles, Tile(f"{solves / own.solves:.0f} times", f"fewer solves than the next method, {name}")]


def _as_good(curves: Mapping[str, Sequence[Point]]) -> tuple[tuple[int, str] | None, tuple[int, str]]:
    """The fewest solves by which another method is as good as the default, and the most that another has paid."""
    goal = curves[DEFAULT][0].regret
    others = {name: curve for name, curve in curves.items() if name != DEFAULT}
    as_good = [(point.solves, name) for name, curve in others.items() for point in curve if point.regret <= goal]
    return min(as_good, default=None), max((curve[-1].solves, name) for name, curve in others.items())


def _otherwise(curves: Mapping[str, Sequence[Point]], each: float) -> str:
    own, (as_good, most) = curves[DEFAULT][0], _as_good(curves)
    if as_good is None:
        return f"no other method was as good, not even with {most[0]:,} solves ({most[1]})."
    solves, name = as_good
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


def _table(runs: Mapping[str, Run], size: Size) -> str:
    """The methods, best first."""
    heads = ("method", "regret", "relative to PFL", "solves", "HiGHS seconds", "cost calls", "seconds in all")
    curves = {name: [_point(run)] for name, run in runs.items()}
    places = decimals(point.regret for [point] in curves.values())
    rows = [
        (
            name,
            fixed(point.regret, places),
            f"{_ratio(point.regret, curves):.2f}",
            f"{point.solves:,}",
            f"{_highs_seconds(runs[name]):.1f}",
            f"{sum(runs[name].result['calls']['cost'].values()):,}",
            f"{runs[name].result['seconds']['total']:.1f}",
        )
        for name, [point] in sorted(curves.items(), key=lambda item: item[1][0].regret)
    ]
    widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
    lines = ("  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]) for row in (heads, *rows))
    title = f"Regret on {size.fresh_rows:,} fresh rows, under one budget of {size.solves:,} solves"
    return "\n".join(["", title, "", *lines, ""])
