"""A quote: what each method would cost on a problem, by three probe solves, its settings, and what was measured before.

kind of solve          where its number comes from
labels, pre-training   follow from the table and the settings (`price`)
online, validation     means over benchmarks of 1,000 rows, per row (`measured.json`), or from the settings where these
                       tell: readings of `shift`, solves of `pairs`; a method that is not in `measured.json`, such as
                       one of the user's own, is "not measured"
hours                  (solves x seconds of a solve + cost calls x seconds of a cost call) / workers; training's own
                       computation, and workers that wait for each other, come on top
budget                 a budget that ends training early leaves labels and first points as they are, and takes its
                       share of all calls from what comes after them: solves, cost calls and hours are those within it
largest n_y            up to which what the method stores fits into half of this machine's free memory, and its
                       first points into the budget; the solves themselves hardly depend on n_y
"""

from __future__ import annotations

import functools
import json
import math
import os
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib import resources
from typing import Any, NamedTuple

import numpy as np

from fewsolves._internal.html import html_table
from fewsolves._internal.text import duration, text_width
from fewsolves.data import split_rows
from fewsolves.errors import SolverError
from fewsolves.methods.base import Demand, Trainer
from fewsolves.methods.registry import METHODS, find_method
from fewsolves.oracle import KINDS, Budget, Kind, Oracle, Phase
from fewsolves.oracle.swapped import with_swap_hint
from fewsolves.predictors.families import family_of
from fewsolves.problem import Problem
from fewsolves.quoting.price import READ, Price, Workload, check_budget, least_price

PROBES = 3
SHOWN_PHASES: tuple[Phase, ...] = ("labels", "pre-training", "online", "validation")  # that are shown
BEFORE_TRAINING: tuple[Phase, ...] = ("probe", "labels", "pre-training")
TABLE_HEADS = ("method", "solves", "measured range", *SHOWN_PHASES, "time", "largest n_y")
FEWER_HEADS = (  # where a terminal is too narrow for all of them
    ("method", "solves", "measured range", "time", "largest n_y"),
    ("method", "solves", "measured range", "time"),
    ("method", "solves", "time"),
)
WIDEST = 160  # columns of text without a terminal
MAX_PARAMETERS = 2**20  # parameters
Calls = dict[Phase, float]


class Figures(NamedTuple):
    """The measured figures of a method, for each training row and run."""

    online_solves: float
    online_solves_range: tuple[float, float]  # over the benchmarks
    online_cost_calls: float
    readings: float  # of the validation rows


@dataclass(frozen=True)
class Line:
    """One method's part of a quote; with `reason` where it cannot be used, and then without numbers."""

    method: str  #: its name
    reason: str | None = None  #: why it cannot be used here
    measured: bool = True  #: False: the numbers are the least that it needs, and what it pays online comes on top
    solves: Calls = field(default_factory=dict)  #: expected, by phase
    cost_calls: Calls = field(default_factory=dict)  #: expected, by phase
    solves_range: tuple[float, float] = (0.0, 0.0)  #: over the benchmarks
    hours: float = 0.0  #: expected, with the given number of workers
    largest_n_y: int | None = None  #: None: nothing that the method stores sets a limit
    cut: bool = False  #: the budget will be spent before training ends by itself

    @property
    def total_solves(self) -> float:
        """Expected solves of all phases."""
        return sum(self.solves.values())


@dataclass(frozen=True, repr=False)
class Quote:
    """The expected price of each method; prints as a table."""

    solve_seconds: float  #: median of the probes
    cost_seconds: float  #: likewise
    workers: int  #: that will solve side by side
    rows: int  #: of the table
    n_y: int  #: parameters that are predicted
    budget: Budget | None  #: that the quote is checked against
    lines: tuple[Line, ...]  #: one for each method; ``quote["staged"]`` finds one by its name

    def __getitem__(self, method: str) -> Line:
        return next(line for line in self.lines if line.method == method)

    def __str__(self) -> str:
        room = text_width(WIDEST)
        tables = [self._table(heads) for heads in (TABLE_HEADS, *FEWER_HEADS)]
        lines = next((lines for lines in tables if max(map(len, lines)) <= room), tables[-1])
        return "\n".join(_wrapped([self._terms], room) + lines + _wrapped(self._below, room))

    def _table(self, heads: Sequence[str]) -> list[str]:
        """The table with these columns."""
        table = [TABLE_HEADS, *(_cells(line) for line in self._fitting)]
        columns = [column for column in zip(*table, strict=True) if column[0] in heads]
        widths = [max(map(len, column)) for column in columns]
        rows = zip(*columns, strict=True)
        return ["  ".join([c[0].ljust(widths[0]), *map(str.rjust, c[1:], widths[1:])]) for c in rows]

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """The same table in a notebook."""
        return html_table(TABLE_HEADS, map(_cells, self._fitting), above=self._terms, below=self._below)

    @property
    def _fitting(self) -> list[Line]:
        """The methods that can be used, cheapest first, those of which nothing was measured last."""
        usable = [line for line in self.lines if line.reason is None]
        return sorted(usable, key=lambda line: (not line.measured, line.total_solves))

    @property
    def _terms(self) -> str:
        workers = f"{self.workers} {'worker' if self.workers == 1 else 'workers'}"
        return (
            f"{self.rows:,} rows, n_y = {self.n_y}; a solve takes {duration(self.solve_seconds)}, a cost call "
            f"{duration(self.cost_seconds)} (median of {PROBES}); time on {workers}"
        )

    @property
    def _below(self) -> list[str]:
        return [*self._excluded(), *self._cut(self._fitting)]

    def _excluded(self) -> list[str]:
        reasons = dict.fromkeys(line.reason for line in self.lines if line.reason is not None)
        return [
            f"Not applicable here: {', '.join(line.method for line in self.lines if line.reason == reason)}. "
            f"Reason: {reason}"
            for reason in reasons
        ]

    def _cut(self, fitting: Sequence[Line]) -> list[str]:
        if self.budget is None:
            return []
        cut = ", ".join(line.method for line in fitting if line.cut)
        return [f"The budget ({self.budget}) ends {cut or 'no method'} early"]


def quote(
    problem: Problem,
    X: Any,
    Y: Any,
    *,
    methods: Sequence[str | Trainer] | None = None,
    workers: int = 1,
    budget: Budget | None = None,
    predictor: Any = "auto",
    instances: Sequence[Any] | None = None,
) -> Quote:
    """What training with each method would cost on this table, in solves, cost calls and hours.

    Pays for three solves and three cost calls. Where the figures come from is in docs/budgets.md.

    Args:
        problem: The problem to train on.
        X: (n, n_x) or (n, items, features) The table that you would train on.
        Y: (n, n_y) Its true parameters, or (n,) for one parameter.
        methods: Names of methods, or methods of your own. None: all.
        workers: Processes that will solve side by side.
        budget: The budget that you would set: the quote says which methods it ends early, and which need more.
        predictor: What you would train. A forecaster of your own gets X as it is.
        instances: Known data of the rows, as for `DecisionRegressor.fit`. None: those of the problem, if any.

    Returns:
        One line for each method. It prints as a table, cheapest first.
    """
    if instances is not None:
        problem = problem.with_instances(list(instances))
    Y = np.reshape(Y, (-1, 1)) if np.ndim(Y) == 1 else Y
    family = family_of(predictor)
    X, Y = family.checked(X, Y)
    split = split_rows(len(Y), rng=np.random.default_rng(0), test=0.0)
    budget, starts = check_budget(budget), family.names(predictor, X.shape[1:], Y.shape[1])
    work = Workload(problem, Y, split, starts=min(READ, len(starts)), budget=budget or Budget())
    try:
        return quote_workload(work, methods=methods, workers=workers, budget=budget)
    except SolverError as error:
        if error.kind != "solve":
            raise
        raise with_swap_hint(error, problem, X, Y) from error.__cause__


def quote_workload(
    work: Workload, *, methods: Sequence[str | Trainer] | None = None, workers: int, budget: Budget | None
) -> Quote:
    """The same for rows that are split already."""
    recipes = [find_method(method).with_settings({}) for method in (METHODS if methods is None else methods)]
    seconds, work = _probe(work), work._replace(budget=budget or Budget())
    lines = tuple(_line(recipe, work.of(recipe), seconds, workers, budget or Budget()) for recipe in recipes)
    return Quote(seconds["solve"], seconds["cost"], workers, len(work.Y), work.Y.shape[1], budget, lines)


def _probe(work: Workload) -> dict[Kind, float]:
    """Seconds of a solve and of a cost call."""
    oracle, spent = Oracle(work.problem, work.Y), np.zeros((PROBES, 2))
    for k, row in enumerate(np.linspace(0, len(work.Y) - 1, PROBES).astype(int)):
        index = np.array([row])
        oracle.cost(
            index, oracle.solve(index, oracle.Y[index], phase="probe", recompute=True), phase="probe", recompute=True
        )
        spent[k] = [oracle.calls.seconds_in[kind] for kind in KINDS]
    each = np.diff(spent, axis=0, prepend=0.0)
    return dict(zip(KINDS, np.median(each, axis=0).tolist(), strict=True))


def _line(method: Trainer, work: Workload, seconds: dict[Kind, float], workers: int, budget: Budget) -> Line:
    least = least_price(method, work)
    reason = method.refuse(work.problem)
    for kind in KINDS:
        needs, limit = sum(least[kind].values()), budget.limit(kind)
        if reason is None and limit is not None and needs > limit:
            what = "solves" if kind == "solve" else "cost calls"
            reason = f"needs at least {needs:,} {what}, the budget has {limit:,}"
    if reason is not None:
        return Line(method.name, reason)
    demand = method.demand(work.Y.shape[1])
    measured = _figures(method.name, demand)
    calls = _expected(demand, work, least, measured)
    online = 0.0 if measured is None else measured.online_solves
    bounds = (0.0, 0.0) if measured is None else measured.online_solves_range
    around = [(bound - online) * len(work.split.train) for bound in bounds]
    solves, costs = (sum(calls[kind].values()) for kind in KINDS)
    spent = solves * seconds["solve"] + costs * seconds["cost"]
    share = min(_share(budget.solves, solves), _share(budget.cost_calls, costs), _share(budget.seconds, spent))
    within = {kind: _within(calls[kind], share) for kind in KINDS}
    most = sum(within["solve"].values()) if share < 1.0 else math.inf
    return Line(
        method.name,
        measured=measured is not None,
        solves=within["solve"],
        cost_calls=within["cost"],
        solves_range=(min(solves + around[0], most), min(solves + around[1], most)),
        hours=spent * share / workers / 3600,
        largest_n_y=_largest(lambda n_y: _fits(method, work, online, budget, n_y)),
        cut=share < 1.0,
    )


def _share(limit: float | None, needed: float) -> float:
    return 1.0 if limit is None or needed <= limit else limit / needed


def _within(calls: Calls, share: float) -> Calls:
    """Calls by phase where the run ends at this share of all; what comes before training is paid first."""
    if share >= 1.0:
        return calls
    left, kept = share * sum(calls.values()), Calls()
    for phases in (BEFORE_TRAINING, ("online", "validation")):
        wanted = {phase: number for phase, number in calls.items() if phase in phases}
        part = min(1.0, left / max(sum(wanted.values()), 1e-300))
        kept |= {phase: part * number for phase, number in wanted.items()}
        left -= part * sum(wanted.values())
    return kept


def _expected(demand: Demand, work: Workload, least: Price, measured: Figures | None) -> dict[Kind, Calls]:
    """Calls by phase; the least price where nothing was measured."""
    if measured is None:
        return {kind: Calls({**least[kind]}) for kind in KINDS}
    own = measured.readings if demand.readings is None else demand.readings
    readings = len(work.split.valid) * (own + work.starts - 1)
    online = {"solve": measured.online_solves, "cost": measured.online_cost_calls}
    return {
        kind: Calls({**least[kind], "online": online[kind] * len(work.split.train), "validation": readings})
        for kind in KINDS
    }


def usual_solves(method: Trainer, work: Workload) -> int | None:
    """The solves of a usual run, as a quote has them; None for a method or for settings that were not measured."""
    measured = _figures(method.name, demand := method.demand(work.Y.shape[1]))
    if measured is None or method.name not in METHODS:
        return None
    default = METHODS[method.name].with_settings({})
    if (method.settings, method.common) != (default.settings, default.common):
        return None
    return round(sum(_expected(demand, work, least_price(method, work), measured)["solve"].values()))


def _figures(name: str, demand: Demand) -> Figures | None:
    """The measured figures of a method, except solves that follow from its settings."""
    measured, solves = _measured().get(demand.figures or name), demand.online_solves
    if measured is None or solves is None:
        return measured
    return measured._replace(online_solves=solves, online_solves_range=(solves, solves))


@functools.cache
def _measured() -> dict[str, Figures]:
    text = resources.files("fewsolves.quoting").joinpath("measured.json").read_text()
    methods: dict[str, dict[str, Any]] = json.loads(text)["methods"]
    return {name: Figures(*(one[field] for field in Figures._fields)) for name, one in methods.items()}


def _fits(method: Trainer, work: Workload, online_solves: float, budget: Budget, n_y: int) -> bool:
    """Whether the method can handle n_y parameters here."""
    least = least_price(method, work, n_y)
    if any(sum(least[kind].values()) > (budget.limit(kind) or math.inf) for kind in KINDS):
        return False
    demand = method.demand(n_y)
    points = demand.points + online_solves
    return bool(len(work.split.train) * points * n_y * demand.bytes_stored <= _free_memory() / 2)


def _free_memory() -> float:
    try:
        return float(os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, OSError, ValueError):
        return math.inf  # this system does not report it


def _largest(fits: Callable[[int], bool]) -> int | None:
    """The largest n_y up to `MAX_PARAMETERS` that fits; None where all do."""
    low, high = 0, MAX_PARAMETERS
    if fits(high):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def _cells(line: Line) -> tuple[str, ...]:
    low, high = (f"{bound:,.0f}" for bound in line.solves_range)
    parts = {phase: f"{line.solves.get(phase, 0.0):,.0f}" for phase in SHOWN_PHASES}
    largest = "any" if line.largest_n_y is None else f"{line.largest_n_y:,}"
    varies = f"{low} to {high}" if low != high else ""
    at_least = "" if line.measured else "at least "
    if not line.measured:
        varies, parts["online"] = "not measured", ""
    solves, time = f"{at_least}{line.total_solves:,.0f}", f"{at_least}{duration(3600 * line.hours)}"
    return line.method, solves, varies, *parts.values(), time, largest


def _wrapped(sentences: Sequence[str], room: int) -> list[str]:
    """Each in lines of a terminal that is narrow; in one line otherwise."""
    return [line for one in sentences for line in (textwrap.wrap(one, room) if room < WIDEST else [one])]
