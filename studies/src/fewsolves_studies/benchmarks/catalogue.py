"""The benchmarks by name: one dataset with its problem, its rows, their true distribution and the regret it allows."""

from __future__ import annotations

import zlib
from typing import NamedTuple

import numpy as np

from fewsolves.data import Split, share_to_validate, split_rows
from fewsolves.demo.benchmark import Benchmark, Entry, make, stream
from fewsolves.demo.set_cover import wsmc
from fewsolves.errors import InputError
from fewsolves.problem import Array
from fewsolves_studies.benchmarks.knapsack import BetaCapacity, kp_capacity, kp_values, kp_weights
from fewsolves_studies.benchmarks.panel.assignment import assignment
from fewsolves_studies.benchmarks.panel.blending import blending
from fewsolves_studies.benchmarks.panel.charging import charging
from fewsolves_studies.benchmarks.panel.crews import crews
from fewsolves_studies.benchmarks.panel.dispatching import dispatching
from fewsolves_studies.benchmarks.panel.drift import drift
from fewsolves_studies.benchmarks.panel.fleet import fleet
from fewsolves_studies.benchmarks.panel.inventory import inventory
from fewsolves_studies.benchmarks.panel.items import items
from fewsolves_studies.benchmarks.panel.loading import loading
from fewsolves_studies.benchmarks.panel.lot_sizing import lot_sizing
from fewsolves_studies.benchmarks.panel.paths import paths
from fewsolves_studies.benchmarks.panel.picking import picking
from fewsolves_studies.benchmarks.panel.portfolio import portfolio
from fewsolves_studies.benchmarks.panel.recourse import recourse
from fewsolves_studies.benchmarks.panel.scheduling import scheduling
from fewsolves_studies.benchmarks.panel.staffing import staffing
from fewsolves_studies.benchmarks.panel.tour import tour
from fewsolves_studies.benchmarks.real.market_clearing import market_clearing
from fewsolves_studies.benchmarks.real.pjm import pjm_commitment, pjm_schedule
from fewsolves_studies.benchmarks.real.yaz import yaz
from fewsolves_studies.benchmarks.toy import toy

_PANEL = {
    "tour": Entry("round trip over 11 stops by local search, 55 travel times unknown", tour, {}),
    "scheduling": Entry("one machine, weighted tardiness, 10 durations unknown", scheduling, {}),
    "lot-sizing": Entry("12 periods in batches, demands unknown, expediting", lot_sizing, {}),
    "lot-sizing-stock": Entry("the same from a stock known per row", lot_sizing, {"largest_stock": 80}),
    "staffing": Entry("call centre by a rule, 8 arrival rates unknown, simulated cost", staffing, {}),
    "portfolio": Entry("mean and variance of 20 assets, trading costs, returns unknown", portfolio, {}),
    "inventory": Entry("orders of 6 goods that share a store, demands unknown", inventory, {}),
    "assignment": Entry("7 tasks to 7 agents, 49 costs unknown but linear in x", assignment, {}),
    "dispatching": Entry("12 jobs on 3 machines by a priority rule, durations unknown", dispatching, {}),
    "fleet": Entry("vehicles of two sizes for one unknown demand", fleet, {}),
    "loading": Entry("16 parcels of unknown weight, limit known per row", loading, {}),
    "blending": Entry("8 materials of unknown content, prices known per row", blending, {}),
    "crews": Entry("8 crews to 4 sites by HiGHS, absences known per row, hours unknown", crews, {}),
    "charging": Entry("a battery for 12 periods, prices known per row, loads unknown", charging, {}),
    "picking": Entry("6 goods on one cart, stock and places known per row, demands unknown", picking, {}),
    "drift": Entry("capacity in blocks for 4 loads whose level drifts, rows in time order", drift, {}),
    "items": Entry("trays of 12 items with features of their own and one law for all", items, {}),
    "recourse": Entry("stock at 3 depots, 6 demands unknown, the cost is a linear program", recourse, {}),
    "paths": Entry("shortest path over a 5 x 5 grid, costs of degree 8 in x", paths, {}),
}
_REAL = {
    "market-clearing": Entry("real loads: day-ahead dispatch of 12 units, real-time correction", market_clearing, {}),
    "yaz-newsvendor": Entry("real demands: seven dishes of a restaurant, each for itself", yaz, {"capacity": None}),
    "yaz-kitchen": Entry("the same dishes in one kitchen, with set-ups", yaz, {}),
    "pjm-schedule": Entry("real loads: 24 h of generation with ramp limits, as published", pjm_schedule, {}),
    "pjm-commitment": Entry("the same loads as a unit commitment, 0.1 s a solve", pjm_commitment, {}),
}
_BENCHMARKS = {
    "kp-weights": Entry("50-item knapsack, weights unknown, repaired by recourse at penalty 10", kp_weights, {}),
    "kp-values": Entry("50-item knapsack, values unknown: a linear objective", kp_values, {}),
    "kp-capacity": Entry("50-item knapsack, capacity unknown, repaired by recourse at penalty 10", kp_capacity, {}),
    **{
        f"wsmc-10-{n_sets}": Entry(f"multi-cover of 10 unknown demands by {n_sets} sets", wsmc, {"n_sets": n_sets})
        for n_sets in (50, 250, 500, 750, 1000)
    },
    **{
        f"toy-{n_y}": Entry(f"identity decision, step-shaped cost, {n_y} dimensions", toy, {"n_y": n_y})
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


def load(name: str, seed: int = 0, **options: object) -> Benchmark:
    """Build a benchmark; options change its data, and `backend="milp"` solves it through scipy's HiGHS.

    >>> load("kp-weights", seed=0, n=100).Y.shape
    (100, 50)
    """
    if name not in _BENCHMARKS:
        raise InputError(f"unknown benchmark {name!r}; there are {', '.join(NAMES)}")
    return make(name, _BENCHMARKS[name], seed, options, _own(name))


def split_without_test(benchmark: Benchmark) -> Split:
    """All rows to train and validate on, where fresh ones are the test; in the order of time the last validate."""
    if benchmark.split is not None:
        before = np.concatenate([benchmark.split.train, benchmark.split.valid])
        return Split(before, benchmark.split.test, np.arange(0))
    n = len(benchmark.X)
    return split_rows(n, rng=np.random.default_rng(benchmark.seed), valid=share_to_validate(n), test=0.0)


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
    rng = stream(benchmark.seed, *benchmark.own, 3)
    draws = source.draw_given(np.repeat(X, n_samples, axis=0), rng).astype(np.int64)
    cells = np.repeat(np.arange(len(X)), n_samples) * n + draws[:, 0]
    frequency = np.bincount(cells, minlength=len(X) * n).reshape(len(X), n) / n_samples
    chosen: Array = candidates[np.argmin(frequency @ costs, axis=1)]
    return chosen


def _own(name: str) -> tuple[int, ...]:
    """Problems of the panel share no random number, so that a mean over them is one of independent datasets."""
    return (zlib.crc32(name.encode()),) if name in _PANEL else ()
