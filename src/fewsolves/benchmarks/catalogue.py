"""The benchmarks by name: one dataset with its problem, its rows, their true distribution and the regret it allows."""

from __future__ import annotations

import dataclasses
import inspect
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from fewsolves.benchmarks.knapsack import BetaCapacity, kp_capacity, kp_values, kp_weights
from fewsolves.benchmarks.panel.assignment import assignment
from fewsolves.benchmarks.panel.dispatching import dispatching
from fewsolves.benchmarks.panel.fleet import fleet
from fewsolves.benchmarks.panel.inventory import inventory
from fewsolves.benchmarks.panel.loading import loading
from fewsolves.benchmarks.panel.lot_sizing import lot_sizing
from fewsolves.benchmarks.panel.portfolio import portfolio
from fewsolves.benchmarks.panel.scheduling import scheduling
from fewsolves.benchmarks.panel.staffing import staffing
from fewsolves.benchmarks.panel.tour import tour
from fewsolves.benchmarks.real.market_clearing import market_clearing
from fewsolves.benchmarks.real.pjm import pjm_commitment, pjm_schedule
from fewsolves.benchmarks.real.yaz import yaz
from fewsolves.benchmarks.set_cover import wsmc
from fewsolves.benchmarks.sources import Dataset, Source, Streams
from fewsolves.benchmarks.toy import toy
from fewsolves.data import Split
from fewsolves.errors import InputError
from fewsolves.problem import Array, Problem


class _Entry(NamedTuple):
    description: str
    build: Callable[..., Dataset]
    preset: Mapping[str, object]  # what the name fixes; options override it


_PANEL = {
    "tour": _Entry("round trip over 11 stops by local search, 55 travel times unknown", tour, {}),
    "scheduling": _Entry("one machine, weighted tardiness, 10 durations unknown", scheduling, {}),
    "lot-sizing": _Entry("12 periods in batches, demands unknown, expediting", lot_sizing, {}),
    "lot-sizing-stock": _Entry("the same from a stock known per row", lot_sizing, {"largest_stock": 80}),
    "staffing": _Entry("call centre by a rule, 8 arrival rates unknown, simulated cost", staffing, {}),
    "portfolio": _Entry("mean and variance of 20 assets, trading costs, returns unknown", portfolio, {}),
    "inventory": _Entry("orders of 6 goods that share a store, demands unknown", inventory, {}),
    "assignment": _Entry("7 tasks to 7 agents, 49 costs unknown but linear in x", assignment, {}),
    "dispatching": _Entry("12 jobs on 3 machines by a priority rule, durations unknown", dispatching, {}),
    "fleet": _Entry("vehicles of two sizes for one unknown demand", fleet, {}),
    "loading": _Entry("16 parcels of unknown weight, limit known per row", loading, {}),
}
_REAL = {
    "market-clearing": _Entry("real loads: day-ahead dispatch of 12 units, real-time correction", market_clearing, {}),
    "yaz-newsvendor": _Entry("real demands: seven dishes of a restaurant, each for itself", yaz, {"capacity": None}),
    "yaz-kitchen": _Entry("the same dishes in one kitchen, with set-ups", yaz, {}),
    "pjm-schedule": _Entry("real loads: 24 h of generation with ramp limits, as published", pjm_schedule, {}),
    "pjm-commitment": _Entry("the same loads as a unit commitment, 0.1 s a solve", pjm_commitment, {}),
}
_BENCHMARKS = {
    "kp-weights": _Entry("50-item knapsack, weights unknown, repaired by recourse at penalty 10", kp_weights, {}),
    "kp-values": _Entry("50-item knapsack, values unknown: a linear objective", kp_values, {}),
    "kp-capacity": _Entry("50-item knapsack, capacity unknown, repaired by recourse at penalty 10", kp_capacity, {}),
    **{
        f"wsmc-10-{n_sets}": _Entry(f"multi-cover of 10 unknown demands by {n_sets} sets", wsmc, {"n_sets": n_sets})
        for n_sets in (50, 250, 500, 750, 1000)
    },
    **{
        f"toy-{n_y}": _Entry(f"identity decision, step-shaped cost, {n_y} dimensions", toy, {"n_y": n_y})
        for n_y in (64, 128, 256, 512)
    },
    **_PANEL,
    **_REAL,
}
NAMES: tuple[str, ...] = tuple(_BENCHMARKS)
PANEL: tuple[str, ...] = tuple(_PANEL)
REAL: tuple[str, ...] = tuple(_REAL)  # one dataset each, whatever the seed
SCALINGS = (0.8, 0.9, 0.95, 1.0, 1.02, 1.05, 1.1, 1.15, 1.2, 1.3)  # of the conditional mean, tried by `floor`
DESCRIPTIONS: dict[str, str] = {name: entry.description for name, entry in _BENCHMARKS.items()}


class Rows(NamedTuple):
    """Rows of one dataset, and the problem over them: with their known data, where it has instances."""

    X: Array  # (n, p)
    Y: Array  # (n, n_y)
    problem: Problem

    def cost(self, Y_hat: Array) -> Array:
        """(n,): true cost of what is decided for a prediction of each row."""
        solve, cost, instances = self.problem.solve_batch, self.problem.cost_batch, self.problem.instances
        assert solve is not None and cost is not None
        known = () if instances is None else (instances,)
        costs: Array = cost(self.Y, solve(Y_hat, *known), *known)
        return costs


@dataclass(frozen=True, kw_only=True, eq=False)
class Benchmark:
    """One dataset of a benchmark, `problem` over its rows; everything follows from (name, seed, options)."""

    name: str
    seed: int
    options: Mapping[str, object]
    problem: Problem
    X: Array = field(repr=False)  # (n, p)
    Y: Array = field(repr=False)  # (n, n_y)
    source: Source = field(repr=False)
    split: Split | None = field(default=None, repr=False)  # of real data, by time

    @property
    def rows(self) -> Rows:
        return Rows(self.X, self.Y, self.problem)

    def fresh(self, n: int, seed: int = 0) -> Rows:
        """n new rows of this dataset: same fixed data, a random stream of their own."""
        X, Y = self.source.draw(n, _stream(self.name, self.seed, 2, seed))
        instances = self.source.instances(n, _stream(self.name, self.seed, 2, seed, 1))
        return Rows(X, Y, self.problem.with_instances(instances))

    def conditional_mean(self, X: Array) -> Array:
        """E[y | x] for every row of X."""
        return self.source.mean(np.atleast_2d(X))

    def sample_given(self, x: Array, n: int, rng: np.random.Generator) -> Array:
        """(n, n_y) draws of y from its true distribution given one x."""
        return self.source.draw_given(np.tile(np.asarray(x, dtype=np.float64), (n, 1)), rng)


def load(name: str, seed: int = 0, **options: object) -> Benchmark:
    """Build a benchmark; options change its data, and `backend="milp"` solves it through scipy's HiGHS.

    >>> load("kp-weights", seed=0, n=100).Y.shape
    (100, 50)
    """
    if name not in _BENCHMARKS:
        raise InputError(f"unknown benchmark {name!r}; there are {', '.join(NAMES)}")
    entry = _BENCHMARKS[name]
    parameters = inspect.signature(entry.build).parameters
    known = {key: p.default for key, p in parameters.items() if p.kind is p.KEYWORD_ONLY} | dict(entry.preset)
    unknown = sorted(set(options) - set(known))
    if unknown:
        raise InputError(f"{name} has no option {', '.join(unknown)}; it takes {', '.join(known)}")
    full = known | options
    if full.get("backend", "embedded") not in ("embedded", "milp"):
        raise InputError(f"backend is 'embedded' or 'milp', got {full['backend']!r}")
    streams = Streams(fixed=_stream(name, seed, 0), rows=_stream(name, seed, 1))
    problem, source, X, Y, split = entry.build(streams, **full)
    instances = source.instances(len(X), _stream(name, seed, 1, 1))
    problem = dataclasses.replace(problem, name=name, instances=instances)
    return Benchmark(name=name, seed=seed, options=full, problem=problem, X=X, Y=Y, source=source, split=split)


class Floor(NamedTuple):
    """The mean regret that knowing the true distribution of y given x leaves."""

    absolute: float
    relative: float  # to the mean optimal cost
    scale: float | None  # of the conditional mean; None where the policy is the sample average


def floor(benchmark: Benchmark, n_fresh: int = 2000) -> Floor:
    """Regret on fresh instances of the best scaling of E[y | x] (for the Beta capacity: of the sample average).

    Recourse makes the mean itself a poor prediction, hence the scalings. A reference, not a bound: a policy that
    shifts each parameter by its own spread may do a little better.
    """
    fresh = benchmark.fresh(n_fresh)
    best_cost = fresh.cost(fresh.Y)
    reference = abs(float(np.mean(best_cost)))
    if isinstance(benchmark.source, BetaCapacity):
        assert fresh.problem.cost_batch is not None
        decisions = _sample_average(benchmark, benchmark.source, fresh.X)
        regret = float(np.mean(fresh.problem.cost_batch(fresh.Y, decisions) - best_cost))
        return Floor(regret, regret / reference, None)
    mean = benchmark.conditional_mean(fresh.X)
    regrets = {s: float(np.mean(fresh.cost(s * mean) - best_cost)) for s in SCALINGS}
    scale = min(SCALINGS, key=lambda s: (regrets[s], abs(s - 1.0)))
    return Floor(regrets[scale], regrets[scale] / reference if reference > 0.0 else 0.0, scale)


def _sample_average(benchmark: Benchmark, source: BetaCapacity, X: Array, n_samples: int = 500) -> Array:
    """The decision of least average cost over draws of y given x, among those of all capacities that can occur."""
    problem = benchmark.problem
    assert problem.solve_batch is not None and problem.cost_batch is not None
    capacities = np.arange(np.rint(source.total) + 1.0)[:, None]
    candidates = problem.solve_batch(capacities)
    n = len(capacities)
    costs = problem.cost_batch(np.repeat(capacities, n, axis=0), np.tile(candidates, (n, 1))).reshape(n, n)
    rng = _stream(benchmark.name, benchmark.seed, 3)
    draws = source.draw_given(np.repeat(X, n_samples, axis=0), rng).astype(np.int64)
    cells = np.repeat(np.arange(len(X)), n_samples) * n + draws[:, 0]
    frequency = np.bincount(cells, minlength=len(X) * n).reshape(len(X), n) / n_samples
    chosen: Array = candidates[np.argmin(frequency @ costs, axis=1)]
    return chosen


def _stream(name: str, seed: int, *key: int) -> np.random.Generator:
    """Problems of the panel share no random number, so that a mean over them is one of independent datasets."""
    own = (zlib.crc32(name.encode()),) if name in _PANEL else ()
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(*own, *key)))
