"""A restaurant decides each day how much of seven dishes to prepare, before the guests come.

x      weekday, season, holidays, weather; of each dish: demand a week ago, mean of 7 and 28 days, spread of 28 days
y      (7,) demands                                        z  (7,) portions prepared
cost   g(y, z) = sum_i  under max(0, y_i - z_i) + over max(0, z_i - y_i) + setup [z_i > 0]

newsvendor   setup 0, no limit: the best for y_hat is y_hat itself                        (as published)
kitchen      z_i whole, dishes share the minutes of one kitchen: sum_i minutes_i z_i + first_i [z_i > 0] <= capacity;
             a mixed-integer program, solved exactly by dynamic programming over the minutes

Demands and weather are those of the ddop package (see data/). Service level q is under / (under + over), with
under + over = 10 as in the published comparison (results/real/yaz-kitchen.md). Minutes, set-ups and the capacity are
ours: the data has none.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.lib.stride_tricks import sliding_window_view

from fewsolves.demo.sources import Dataset, Streams, parameter_rows
from fewsolves.errors import InputError
from fewsolves.problem import Array
from fewsolves_studies.benchmarks.panel.batched import Batched
from fewsolves_studies.benchmarks.real.recorded import Recorded, split_by_time, weekday, year_angle
from fewsolves_studies.benchmarks.real.tables import read_columns

DISHES = ("calamari", "fish", "shrimp", "chicken", "koefte", "lamb", "steak")
KNOWN = ("is_holiday", "is_closed", "wind", "clouds", "rain", "sunshine", "temperature")
MINUTES = np.array([2, 3, 2, 3, 3, 4, 4])  # per portion
FIRST = 15  # minutes to set a dish up
WINDOW = 28  # days that the longest feature looks back
TESTED = 185  # days, a quarter, as published


@dataclass(frozen=True, eq=False)
class Kitchen(Batched):
    """Solve and cost; without a capacity it is the newsvendor."""

    under: float
    over: float
    setup: float
    capacity: int | None
    minutes: Array
    first: int

    def solve_batch(self, Y_hat: Array) -> Array:
        Y_hat = np.maximum(parameter_rows(Y_hat, len(DISHES)), 0.0)
        if self.capacity is None:
            return Y_hat
        Z = np.empty(Y_hat.shape, np.int64)
        _portions(Y_hat, self.under, self.over, self.setup, self.capacity, self.minutes, self.first, Z)
        return Z

    def cost_batch(self, Y: Array, Z: Array) -> Array:
        Y, Z = parameter_rows(Y, len(DISHES)), np.asarray(Z, dtype=np.float64)
        missed, left = np.maximum(Y - Z, 0.0), np.maximum(Z - Y, 0.0)
        cost: Array = (self.under * missed + self.over * left + self.setup * (Z > 0.0)).sum(axis=1)
        return cost


@njit(cache=True, nogil=True, error_model="numpy")
def _portions(demands, under, over, setup, capacity, minutes, first, Z):  # type: ignore[no-untyped-def]
    """The least cost of the dishes from the first to the i-th, for each number of minutes that they use."""
    n = len(minutes)
    best = np.empty((n + 1, capacity + 1))
    chosen = np.empty((n, capacity + 1), np.int64)
    for b in range(len(demands)):
        best[0] = 0.0
        for i in range(n):
            demand, each = demands[b, i], minutes[i]
            most = min(int(np.ceil(demand)), (capacity - first) // each)
            for room in range(capacity + 1):
                least, portions = best[i, room] + under * demand, 0
                for z in range(1, most + 1):
                    used = first + each * z
                    if used > room:
                        break
                    cost = best[i, room - used] + under * max(0.0, demand - z) + over * max(0.0, z - demand) + setup
                    if cost < least:
                        least, portions = cost, z
                best[i + 1, room], chosen[i, room] = least, portions
        room = capacity
        for i in range(n - 1, -1, -1):
            z = chosen[i, room]
            Z[b, i] = z
            if z > 0:
                room -= first + minutes[i] * z


def yaz(
    streams: Streams,
    *,
    service: float = 0.9,  # q
    capacity: int | None = 480,  # minutes; None: the newsvendor
    setup: float = 10.0,  # of a dish, in the kitchen
    lags: str = "known",  # or "published": the windows end with the day itself, which is unknown in the morning
    train_days: int | None = None,  # number of the last days before the test; None: all
    test_days: int = TESTED,  # number of the first days
    validation: str = "weeks",  # every fifth; or "last": the last fifth of the days
) -> Dataset:
    """All days that have four weeks before them."""
    if not 0.0 < service < 1.0:
        raise InputError(f"service is between 0 and 1, got {service!r}")
    if lags not in ("known", "published"):
        raise InputError(f"lags is 'known' or 'published', got {lags!r}")
    table = read_columns("yaz", "days.csv.gz")
    days = np.array(table["date"], dtype="datetime64[D]")
    demand = np.array([table[dish] for dish in DISHES], dtype=np.float64).T
    known = np.array([table[name] for name in KNOWN], dtype=np.float64).T
    X = np.column_stack([weekday(days), year_angle(days), known])  # a month has been seen once or twice: no dummies
    windows = _windows(demand)[1:] if lags == "published" else _windows(demand)[:-1]
    X, Y, days = np.column_stack([X[WINDOW:], windows]), demand[WINDOW:], days[WINDOW:]
    boundary = len(days) - TESTED
    first = days[0 if train_days is None else boundary - train_days]
    test = np.arange(boundary, len(days))[:test_days]
    split = split_by_time(days, str(first), str(days[boundary]), test, validation)
    bare = 0.0 if capacity is None else setup
    kitchen = Kitchen(10.0 * service, 10.0 * (1.0 - service), bare, capacity, MINUTES, FIRST)
    return Dataset(kitchen.problem(), Recorded(days, DISHES), X, Y, split)


def _windows(demand: Array) -> Array:
    """(n - 27, 28): features of the dishes at the end of each day that has a window."""
    recent = sliding_window_view(demand, WINDOW, axis=0)  # (n - 27, 7, 28)
    week = recent[..., -7:]
    return np.concatenate([week[..., 0], week.mean(axis=2), recent.mean(axis=2), recent.std(axis=2)], axis=1)
