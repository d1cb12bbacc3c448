"""Market clearing: a day-ahead dispatch for predicted loads, corrected in real time once the loads are known.

x       temperatures of the day, loads of the day before and of a week before, weekday, season
y       24 loads of the system in MW                                          z  (24, 12) output of each unit
solve   the day-ahead dispatch of least cost for the predicted loads          (dispatch.py: a linear program)
cost    the plan and its correction at the true loads, with 500 per MWh not served    (redispatch.py: another one)

Data, grid and model are those of Stratigakos, Camal, Michiorri and Kariniotakis (2021), "Prescriptive trees for
value-oriented forecasting and optimization": see data/. Tested on 2011 as there, without the three days (those of a
hurricane and its power cuts) that are left out there.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fewsolves.demo.sources import Dataset, Streams, parameter_rows
from fewsolves.errors import InputError
from fewsolves.problem import Array
from fewsolves_studies.benchmarks.panel.batched import Batched
from fewsolves_studies.benchmarks.real.dispatch import day_ahead_plans
from fewsolves_studies.benchmarks.real.grid import FOLDER, Grid, ieee24
from fewsolves_studies.benchmarks.real.recorded import Recorded, split_by_time, weekday, year_angle
from fewsolves_studies.benchmarks.real.redispatch import redispatch_costs
from fewsolves_studies.benchmarks.real.tables import HOURS, read_numbers

FIRST_DAY, BOUNDARY = "2009-01-01", "2011-01-01"
STARTS = {6: "2010-06-01", 12: "2010-01-01", 18: "2009-06-01"}  # months of training, as they are called there
LEFT_OUT = (238, 239, 240)  # of 304 test days
PEAK = 2700.0  # MW, of the scaled load
LOWEST = 0.15  # of it


@dataclass(frozen=True, eq=False)
class MarketClearing(Batched):
    """Solve and cost of the grid."""

    grid: Grid

    def solve_batch(self, Y_hat: Array) -> Array:
        return day_ahead_plans(self.grid, parameter_rows(Y_hat, HOURS))

    def cost_batch(self, Y: Array, Z: Array) -> Array:
        return redispatch_costs(self.grid, parameter_rows(Y, HOURS), np.asarray(Z, dtype=np.float64))


def hourly_loads() -> tuple[Array, Array, Array]:
    """Days (n,), loads in MW (n, 24) and temperatures (n, 24)."""
    hours = read_numbers(FOLDER, "hours.csv.gz")
    load, temperature = (hours[name].reshape(-1, HOURS) for name in ("load", "temperature"))
    scaled = LOWEST + (1.0 - LOWEST) * (load - load.min()) / (load.max() - load.min())
    days = np.datetime64(FIRST_DAY) + np.arange(len(load))
    return days, PEAK * scaled, temperature


def market_clearing(
    streams: Streams,
    *,
    months: int = 12,  # of training, as published: 6, 12 or 18
    test_days: int = 301,  # number of the first days
    validation: str = "weeks",  # every fifth; or "last": the last fifth of the days
) -> Dataset:
    """All days that have a week before them."""
    if months not in STARTS:
        raise InputError(f"market-clearing is trained on months = 6, 12 or 18, got {months!r}")
    days, loads, temperature = hourly_loads()

    def thirds(values: Array) -> Array:
        means: Array = values.reshape(len(values), -1, 3).mean(axis=2)  # of three hours: 24 numbers say little more
        return means

    warm = (thirds(temperature) - 60.0) / 20.0  # degrees Fahrenheit: mild is 0
    X = np.column_stack([warm, warm**2, weekday(days), year_angle(days)])[7:]
    X = np.column_stack([X, thirds(loads)[6:-1], thirds(loads)[:-7]])
    days, Y = days[7:], loads[7:]
    after = np.flatnonzero(days >= np.datetime64(BOUNDARY))
    test = np.delete(after, LEFT_OUT)[:test_days]
    split = split_by_time(days, STARTS[months], BOUNDARY, test, validation)
    outputs = tuple(f"load in MW, hour {hour}" for hour in range(HOURS))
    return Dataset(MarketClearing(ieee24()).problem(), Recorded(days, outputs), X, Y, split)
