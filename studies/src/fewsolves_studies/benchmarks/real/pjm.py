"""Generation for the load of a PJM zone, one day ahead: a schedule as published, and a unit commitment.

x      loads of the day before, temperatures of both days (with squares and cubes), weekend, holiday, season
y      24 hourly loads
pjm-schedule     (24,) generation with ramp limits; a convex program                        (ramped_schedule.py)
pjm-commitment   (10, 24) which units run; a mixed-integer program of a tenth of a second        (commitment.py)

Data and schedule are those of Donti, Amos and Kolter (2017), "Task-based end-to-end model learning in stochastic
optimization": see data/. The first four fifths of the days are trained on, as there; the spread of the load is that of
least squares on them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fewsolves.data import Scale, Split
from fewsolves.demo.sources import Dataset, Streams, parameter_rows
from fewsolves.problem import Array
from fewsolves_studies.benchmarks.panel.batched import Batched
from fewsolves_studies.benchmarks.real.commitment import Fleet, commitment_costs, commitments, ten_units
from fewsolves_studies.benchmarks.real.ramped_schedule import schedules
from fewsolves_studies.benchmarks.real.recorded import Recorded, split_by_time
from fewsolves_studies.benchmarks.real.tables import HOURS, read_columns

UNDER, OVER, RAMP = 50.0, 0.5, 0.4
TRAINED = 0.8  # of the days


@dataclass(frozen=True, eq=False)
class Schedule(Batched):
    """Solve and cost of the published problem."""

    sigma: Array

    def solve_batch(self, Y_hat: Array) -> Array:
        return schedules(parameter_rows(Y_hat, HOURS), self.sigma, UNDER, OVER, RAMP)[0]

    def cost_batch(self, Y: Array, Z: Array) -> Array:
        costs: Array = hourly_costs(parameter_rows(Y, HOURS), np.asarray(Z, dtype=np.float64)).sum(axis=1)
        return costs


def hourly_costs(Y: Array, Z: Array) -> Array:
    """(B, T)"""
    costs: Array = UNDER * np.maximum(Y - Z, 0.0) + OVER * np.maximum(Z - Y, 0.0) + 0.5 * (Z - Y) ** 2
    return costs


@dataclass(frozen=True, eq=False)
class Commitment(Batched):
    """Solve and cost of the ten units."""

    fleet: Fleet

    def solve_batch(self, Y_hat: Array) -> Array:
        return commitments(parameter_rows(Y_hat, HOURS))

    def cost_batch(self, Y: Array, Z: Array) -> Array:
        return commitment_costs(self.fleet, parameter_rows(Y, HOURS), Z)


def pjm_rows() -> tuple[Array, Array, Array]:
    """Days (n,), features (n, 149) and loads (n, 24); a day needs the one before it in the same file."""
    table = read_columns("pjm", "days.csv.gz")
    days = np.array(table["date"], dtype="datetime64[D]")
    load, warm = (
        np.array([table[f"{name}_{hour}"] for hour in range(HOURS)], dtype=np.float64).T
        for name in ("load", "temperature")
    )
    weekend = (days.astype(int) + 3) % 7 >= 5
    angle = 2.0 * np.pi * (1 + (days - days.astype("datetime64[Y]")).astype(int)) / 365.0
    calendar = np.column_stack([weekend, _holiday(days), _summer_time(days), np.cos(angle), np.sin(angle)])
    before = np.column_stack([load, warm, warm**2])[:-1]
    X = np.column_stack([before, warm[1:], warm[1:] ** 2, warm[1:] ** 3, calendar[1:]])
    kept = days[1:] != SECOND_FILE
    return days[1:][kept], X[kept], load[1:][kept]


SECOND_FILE = np.datetime64("2011-12-31")  # its first day, whose yesterday is in the other one


def _summer_time(days: Array) -> Array:
    """Whether clocks are set forward at the start of the day: from after the second Sunday of March in New York."""
    return (days > _weekday_of_month(days, 3, 6, 2)) & (days <= _weekday_of_month(days, 11, 6, 1))


def _weekday_of_month(days: Array, month: int, weekday: int, nth: int) -> Array:
    """In the year of each day: the nth Monday (0), Tuesday, ... of a month."""
    first = (days.astype("datetime64[Y]").astype("datetime64[M]") + (month - 1)).astype("datetime64[D]")
    shift = (weekday - (first.astype(int) + 3)) % 7
    found: Array = first + shift + 7 * (nth - 1)
    return found


def _holiday(days: Array) -> Array:
    """Federal holidays; one on a Saturday is kept on Friday, one on a Sunday on Monday."""
    found = np.zeros(len(days), dtype=bool)
    for month, weekday, nth in ((1, 0, 3), (2, 0, 3), (9, 0, 1), (10, 0, 2), (11, 3, 4)):
        found |= days == _weekday_of_month(days, month, weekday, nth)
    found |= days == _weekday_of_month(days, 6, 0, 1) - 7  # the last Monday of May
    year = days.astype("datetime64[Y]").astype("datetime64[M]")
    for month, day in ((1, 1), (7, 4), (11, 11), (12, 25)):
        fixed = (year + (month - 1)).astype("datetime64[D]") + (day - 1)
        on = (fixed.astype(int) + 3) % 7
        found |= days == fixed - (on == 5) + (on == 6)
    return found


def _split(days: Array, train_days: int | None, test: slice, validation: str = "weeks") -> Split:
    boundary = int(TRAINED * len(days))
    first = days[0 if train_days is None else boundary - train_days]
    return split_by_time(days, str(first), str(days[boundary]), np.arange(boundary, len(days))[test], validation)


def pjm_schedule(
    streams: Streams,
    *,
    train_days: int | None = None,  # number of the last days before the test; None: all
    test_days: int | None = None,  # number of the first days; None: all
    validation: str = "weeks",  # every fifth; or "last": the last fifth of the days; the spread is the same
) -> Dataset:
    """The published problem."""
    days, X, Y = pjm_rows()
    tested = slice(test_days)
    seen = _split(days, train_days, tested).train
    scale = Scale.of(X[seen])
    design = np.column_stack([(X[seen] - scale.mean) / scale.std, np.ones(len(seen))])
    fitted = design @ np.linalg.lstsq(design, Y[seen], rcond=None)[0]
    sigma = np.sqrt(np.mean((Y[seen] - fitted) ** 2, axis=0))
    problem = Schedule(sigma).problem()
    return Dataset(problem, Recorded(days, _outputs()), X, Y, _split(days, train_days, tested, validation))


def pjm_commitment(
    streams: Streams,
    *,
    train_days: int | None = 365,  # number of the last days before the test: a solve takes a tenth of a second
    test_days: int | None = None,  # number of the first days; None: all
    test_every: int = 2,  # of the test days: every second
    validation: str = "weeks",  # every fifth; or "last": the last fifth of the days
) -> Dataset:
    """The unit commitment."""
    days, X, Y = pjm_rows()
    problem = Commitment(ten_units()).problem()
    tested = slice(None, None if test_days is None else test_days * test_every, test_every)
    return Dataset(problem, Recorded(days, _outputs()), X, Y, _split(days, train_days, tested, validation))


def _outputs() -> tuple[str, ...]:
    return tuple(f"load, hour {hour}" for hour in range(HOURS))
