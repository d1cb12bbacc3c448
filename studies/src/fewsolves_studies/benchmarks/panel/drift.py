"""Capacity for days to come, after days whose level has drifted.

y   (n,)   load of each service              z   (n,)   blocks rented, integers >= 0, of b units each

cost   g(y, z) = rent b.z + short.max(0, y - b z)
solve  the least g at the predicted loads: the blocks that are full, and one more where it is cheaper than what is left
l_t (n,)   log level of a day, l_t = l_{t-1} + trend + step, step ~ N(0, sigma^2)

Rows are days in the order of time, and so is the split: three fifths, one, and one. Fresh rows come after them: day 1
to `horizon` after the last row, then again from day 1 along another path of the level, and so on. E[y | x] is that of a
day drawn from that time. Neither the day nor the level is among the features, so that a number per output is what
recent days tell. A unit that is missing is dearer than one too many.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fewsolves.data import Split
from fewsolves.demo.sources import Dataset, Streams, parameter_rows
from fewsolves.problem import Array
from fewsolves_studies.benchmarks.panel.batched import Batched
from fewsolves_studies.benchmarks.panel.responses import Factors, random_signal

WEEK = 7
MEMORY = 0.5  # share of yesterday's weather in today's


@dataclass(frozen=True, eq=False)
class Capacity(Batched):
    """Solve and cost of one set of services."""

    block: Array  # b
    rent: float  # of a unit
    short: Array

    def solve_batch(self, Y_hat: Array) -> Array:
        wanted = np.maximum(0.0, parameter_rows(Y_hat, len(self.block)))
        full = np.floor(wanted / self.block)
        left = wanted - full * self.block
        Z: Array = (full + (self.short * left > self.rent * self.block)).astype(np.int64)
        return Z

    def cost_batch(self, Y: Array, Z: Array) -> Array:
        rented = np.asarray(Z, dtype=np.float64) * self.block
        missing = np.maximum(0.0, parameter_rows(Y, len(self.block)) - rented)
        cost: Array = self.rent * rented.sum(axis=1) + missing @ self.short
        return cost


@dataclass(frozen=True, eq=False, kw_only=True)
class Days(Factors):
    """The days after the last row; `level` is what y is on average over them."""

    last: int  # number of the last row
    horizon: int
    end: Array  # (n_y,) log level of the last row
    trend: Array  # (n_y,)
    step: float  # sigma

    def features(self, n: int, rng: np.random.Generator) -> Array:
        day = self.last + 1 + np.arange(n) % self.horizon
        return _weather(day, self.horizon, self.signal.A.shape[1], rng)

    def draw_given(self, X: Array, rng: np.random.Generator) -> Array:
        day = rng.integers(1, self.horizon, len(X), endpoint=True)[:, None]
        walked = self.trend * day + self.step * np.sqrt(day) * rng.standard_normal((len(X), len(self.level)))
        return self._at(self.end + walked, X, rng)

    def draw(self, n: int, rng: np.random.Generator) -> tuple[Array, Array]:
        X = self.features(n, rng)
        paths = -(-n // self.horizon)
        steps = self.trend + self.step * rng.standard_normal((paths, self.horizon, len(self.level)))
        log_level = self.end + np.cumsum(steps, axis=1).reshape(-1, len(self.level))[:n]
        return X, self._at(log_level, X, rng)

    def past(self, log_level: Array, rng: np.random.Generator) -> tuple[Array, Array]:
        """Rows up to the last one, of which (n, n_y) log levels are given."""
        day = np.arange(len(log_level))
        X = _weather(day, len(day), self.signal.A.shape[1], rng)
        return X, self._at(log_level, X, rng)

    def _at(self, log_level: Array, X: Array, rng: np.random.Generator) -> Array:
        Y: Array = super().draw_given(X, rng) * np.exp(log_level) / self.level
        return Y


def _weather(day: Array, stretch: int, p: int, rng: np.random.Generator) -> Array:
    """(n, p): cosine and sine of the weekday, then weather that remembers yesterday's within a stretch of days."""
    angle = 2.0 * np.pi * (day % WEEK) / WEEK
    weather = rng.standard_normal((len(day), p - 2))
    for k in range(len(day)):
        if k % stretch:
            weather[k] = MEMORY * weather[k - 1] + np.sqrt(1.0 - MEMORY**2) * weather[k]
    return np.column_stack([np.sqrt(2.0) * np.cos(angle), np.sqrt(2.0) * np.sin(angle), weather])


def drift(
    streams: Streams,
    *,
    n: int = 300,  # days
    n_services: int = 4,
    n_features: int = 4,
    curvature: float = 0.2,
    spread: float = 0.2,
    noise: float = 0.15,
    trend: tuple[float, float] = (-0.0005, 0.001),  # least and largest, per day
    step: float = 0.01,
    horizon: int = 63,
    rent: float = 1.0,
) -> Dataset:
    """Some services shrink, by up to a seventh in 300 days; others grow, by up to a third."""
    fixed = streams.fixed
    start, slope = np.log(fixed.uniform(20.0, 50.0, n_services)), fixed.uniform(*trend, n_services)
    services = Capacity(fixed.uniform(4.0, 8.0, n_services), rent, fixed.uniform(3.0, 6.0, n_services))
    signal = random_signal(n_services, n_features, fixed, curvature=curvature, shared=0.4)
    log_level = start + np.cumsum(slope + step * fixed.standard_normal((n, n_services)), axis=0)
    day = np.arange(1, horizon + 1)[:, None]
    level = np.exp(log_level[-1]) * np.exp((slope + step**2 / 2.0) * day).mean(axis=0)
    end = log_level[-1]
    source = Days(
        signal, level, spread, noise, common=0.2, last=n - 1, horizon=horizon, end=end, trend=slope, step=step
    )
    fifth = n // 5
    split = Split(*np.split(np.arange(n), [n - 2 * fifth, n - fifth]))
    problem = services.problem(name="drift")
    return Dataset(problem, source, *source.past(log_level, streams.rows), split)
