"""What each method would cost on a problem: from three probe solves, its settings, and what was measured before.

kind of solve          where its number comes from
labels, pre-training   follow from the table and the settings (`price`)
online, validation     means over benchmarks of 1,000 rows, per row (`measured.json`); for `shift` from its settings
hours                  (solves x seconds of a solve + cost calls x seconds of a cost call) / workers; training's own
                       computation, and workers that wait for each other, come on top
largest n_y            up to which what the method stores fits into half of this machine's free memory, and its
                       first points into the budget; the solves themselves hardly depend on n_y
"""

from __future__ import annotations

import functools
import json
import math
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import resources
from typing import Any

import numpy as np

from fewsolves.data import check_table, split_rows
from fewsolves.methods.base import Method
from fewsolves.methods.registry import METHODS
from fewsolves.methods.shift import ShiftConfig
from fewsolves.oracle import KINDS, Budget, Kind, Oracle, Phase
from fewsolves.pricing.price import Task, least_price
from fewsolves.problem import Problem

PROBES = 3
BYTES = {"lodl": 80, "egl": 310, "gp": 75, "memo": 45}  # for each number of a point; `quote_figures.py --memory`
MOST = 2**20  # parameters
Calls = dict[Phase, float]


@dataclass(frozen=True)
class Line:
    """One method's part of a quote; with `reason` where it cannot be used, and then without numbers."""

    method: str
    reason: str | None = None
    solves: Calls = field(default_factory=dict)  # expected, by phase
    cost_calls: Calls = field(default_factory=dict)
    solves_range: tuple[float, float] = (0.0, 0.0)  # over the benchmarks
    hours: float = 0.0
    largest_n_y: int | None = None  # None: nothing that the method stores sets a limit
    cut: bool = False  # the budget will be spent before training ends by itself

    @property
    def total_solves(self) -> float:
        return sum(self.solves.values())


@dataclass(frozen=True)
class Quote:
    """What to expect; prints as a table."""

    solve_seconds: float  # median of the probes
    cost_seconds: float
    workers: int
    rows: int
    n_y: int
    budget: Budget | None
    lines: tuple[Line, ...]

    def __getitem__(self, method: str) -> Line:
        return next(line for line in self.lines if line.method == method)

    def __str__(self) -> str:
        fitting = sorted((line for line in self.lines if line.reason is None), key=lambda line: line.total_solves)
        heads = ("method", "solves", "measured range", "labels", "pre-training", "online", "validation", "hours")
        table = [(*heads, "largest n_y"), *(_cells(line) for line in fitting)]
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        told = [
            f"{self.rows:,} rows, n_y = {self.n_y}; a solve takes {_duration(self.solve_seconds)}, a cost call "
            f"{_duration(self.cost_seconds)} (median of {PROBES}); hours on {self.workers} worker(s)",
            *("  ".join([c[0].ljust(widths[0]), *map(str.rjust, c[1:], widths[1:])]) for c in table),
        ]
        for reason in dict.fromkeys(line.reason for line in self.lines if line.reason is not None):
            told.append(f"not {', '.join(line.method for line in self.lines if line.reason == reason)}: {reason}")
        if self.budget is not None:
            cut = [line.method for line in fitting if line.cut]
            told.append(f"budget {self.budget}: " + (f"ends {', '.join(cut)} early" if cut else "ends none early"))
        return "\n".join(told)


def quote(problem: Problem, X: Any, Y: Any, *, workers: int = 1, budget: Budget | None = None) -> Quote:
    """What `DecisionRegressor(problem, method, workers=...)` would cost on this table, for every method.

    Pays for three solves and three cost calls.
    """
    X, Y = check_table(X, Y)
    split = split_rows(len(Y), rng=np.random.default_rng(0), test=0.0)
    return quote_task(Task(problem, Y, split, starts=2), workers=workers, budget=budget)


def quote_task(task: Task, *, workers: int, budget: Budget | None) -> Quote:
    """The same for rows that are split already."""
    seconds = _probe(task)
    recipes = [method.with_settings({}) for method in METHODS.values()]
    lines = tuple(_line(recipe, task, seconds, workers, budget or Budget()) for recipe in recipes)
    return Quote(seconds["solve"], seconds["cost"], workers, len(task.Y), task.Y.shape[1], budget, lines)


def _probe(task: Task) -> dict[Kind, float]:
    """Seconds of a solve and of a cost call."""
    oracle, spent = Oracle(task.problem, task.Y), np.zeros((PROBES, 2))
    for k, row in enumerate(np.linspace(0, len(task.Y) - 1, PROBES).astype(int)):
        rows, y = oracle.rows[[row]], oracle.Y[[row]]
        decisions = oracle.pay("solve", "probe", rows, y)
        oracle.pay("cost", "probe", rows, y, decisions)
        spent[k] = [oracle.calls.seconds_in[kind] for kind in KINDS]
    each = np.diff(spent, axis=0, prepend=0.0)
    return dict(zip(KINDS, np.median(each, axis=0).tolist(), strict=True))


def _line(method: Method, task: Task, seconds: dict[Kind, float], workers: int, budget: Budget) -> Line:
    least = least_price(method, task)
    reason = method.refuse(task.problem)
    for kind in KINDS:
        needs, limit = sum(least[kind].values()), budget.limit(kind)
        if reason is None and limit is not None and needs > limit:
            what = "solves" if kind == "solve" else "cost calls"
            reason = f"needs {needs:,} {what} at the least, the budget has {limit:,}"
    if reason is not None:
        return Line(method.name, reason)
    measured, n_train, n_valid = _measured(method), len(task.split.train), len(task.split.valid)
    readings = n_valid * (_readings(method, task, measured["readings"]) + task.starts - 1)
    calls = {
        "solve": Calls({**least["solve"], "online": measured["online_solves"] * n_train, "validation": readings}),
        "cost": Calls({**least["cost"], "online": measured["online_cost_calls"] * n_train, "validation": readings}),
    }
    around = tuple((bound - measured["online_solves"]) * n_train for bound in measured["online_solves_range"])
    solves, costs = (sum(calls[kind].values()) for kind in KINDS)
    spent = solves * seconds["solve"] + costs * seconds["cost"]
    share = min(_share(budget.solves, solves), _share(budget.cost_calls, costs), _share(budget.seconds, spent))
    return Line(
        method.name,
        solves=calls["solve"],
        cost_calls=calls["cost"],
        solves_range=(solves + around[0], solves + around[1]),
        hours=spent * share / workers / 3600,
        largest_n_y=_largest(lambda n_y: _fits(method, task, measured, budget, n_y)),
        cut=share < 1.0,
    )


def _share(limit: float | None, needed: float) -> float:
    return 1.0 if limit is None or needed <= limit else limit / needed


def _readings(method: Method, task: Task, measured: float) -> float:
    config, n_y = method.config, task.Y.shape[1]
    if not isinstance(config, ShiftConfig):
        return measured
    single = 2 * n_y * config.rounds if n_y > 1 else 0
    return 1 + 2 * int(config.reach / config.step + 1e-9) + 2 * config.halvings + single


@functools.cache
def _figures() -> dict[str, dict[str, Any]]:
    text = resources.files("fewsolves.pricing").joinpath("measured.json").read_text()
    figures: dict[str, dict[str, Any]] = json.loads(text)["methods"]
    return figures


def _measured(method: Method) -> dict[str, Any]:
    figures = _figures()
    return figures.get(method.name) or figures[f"{method.name.split('-')[0]}-mse"]  # the forms of LODL and EGL


def _fits(method: Method, task: Task, measured: dict[str, Any], budget: Budget, n_y: int) -> bool:
    """Whether the method can handle n_y parameters here."""
    least = least_price(method, task, n_y)
    if any(sum(least[kind].values()) > (budget.limit(kind) or math.inf) for kind in KINDS):
        return False
    each = BYTES.get(method.name.split("-")[0], 0)
    points = method.points(method.config, n_y) + measured["online_solves"]
    return bool(len(task.split.train) * points * n_y * each <= _free_memory() / 2)


def _free_memory() -> float:
    try:
        return float(os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, OSError, ValueError):
        return math.inf  # this system does not tell


def _largest(fits: Callable[[int], bool]) -> int | None:
    """The largest n_y up to `MOST` that fits; None where all do."""
    low, high = 0, MOST
    if fits(high):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def _cells(line: Line) -> tuple[str, ...]:
    low, high = (f"{bound:,.0f}" for bound in line.solves_range)
    parts = [f"{line.solves.get(phase, 0.0):,.0f}" for phase in ("labels", "pre-training", "online", "validation")]
    largest = "any" if line.largest_n_y is None else f"{line.largest_n_y:,}"
    varies = f"{low} to {high}" if low != high else ""
    return line.method, f"{line.total_solves:,.0f}", varies, *parts, f"{line.hours:,.3g}", largest


def _duration(seconds: float) -> str:
    return f"{seconds:,.3g} s" if seconds >= 1.0 else f"{1e3 * seconds:,.3g} ms"
