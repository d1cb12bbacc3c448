"""Weighted set multi-cover of uncertain demands: buy sets before the demands are known, pay for what is short.

    A (m, S) in {0, 1}   coverage       c (S,)  set costs, integers 1..99       y (m,)  demands, n_y = m
    z (S,) integer >= 0  copies bought  q (m,)  price of one missing unit: penalty times the dearest set covering it

    solve  min c.z subject to A z >= ceil(y_hat)          cost  g(y, z) = c.z + q.max(0, y - A z)

A slack at price q in the model would never be used for a penalty above 1. Demands within 1e-9 (relative above 1)
over an integer are that integer, and negative ones are 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fewsolves.demo.cover_solver import Cover, reduce_columns
from fewsolves.demo.milp import cover_milp
from fewsolves.demo.sources import Dataset, PoissonCounts, Streams, parameter_rows, random_incidence
from fewsolves.errors import InputError
from fewsolves.problem import Array, Problem

ROUNDING_NOISE = 1e-9


@dataclass(frozen=True, eq=False)
class SetCover:
    """Solve and cost of one set system."""

    coverage: Array
    costs: Array
    shortage: Array
    cover: Cover
    backend: str  # "embedded", or "milp": all columns, by HiGHS

    def solve(self, y_hat: Array) -> Array:
        z: Array = self.solve_batch(np.asarray(y_hat)[None])[0]
        return z

    def solve_batch(self, Y_hat: Array) -> Array:
        Y_hat = parameter_rows(Y_hat, len(self.shortage))
        demands = np.maximum(0.0, np.ceil(Y_hat - ROUNDING_NOISE * np.maximum(1.0, np.abs(Y_hat))))
        if self.backend == "milp":
            return np.stack([cover_milp(self.coverage, self.costs, d) for d in demands])
        return self.cover.solve(demands)

    def cost(self, y: Array, z: Array) -> float:
        return float(self.cost_batch(np.asarray(y)[None], np.asarray(z)[None])[0])

    def cost_batch(self, Y: Array, Z: Array) -> Array:
        Z = np.asarray(Z, dtype=np.float64)
        short = np.maximum(0.0, parameter_rows(Y, len(self.shortage)) - Z @ self.coverage.T)
        cost: Array = Z @ self.costs + short @ self.shortage
        return cost


def set_cover(coverage: Array, costs: Array, shortage: Array, *, backend: str = "embedded") -> Problem:
    """The problem of one set system."""
    cover = SetCover(coverage, costs, shortage, reduce_columns(coverage, costs), backend)
    return Problem(
        solve=cover.solve,
        cost=cover.cost,
        solve_batch=cover.solve_batch,
        cost_batch=cover.cost_batch,
        name="wsmc",
    )


def wsmc(
    streams: Streams,
    *,
    n: int = 1000,  # instances
    n_items: int = 10,
    n_sets: int = 50,
    n_features: int = 5,
    degree: int = 5,
    noise: str = "additive",
    half_width: float = 0.5,
    penalty: float = 10.0,
    backend: str = "embedded",
) -> Dataset:
    """Every set gets one item, then every item two distinct sets (Grossman and Wool, 1997); demands are counts."""
    if n_sets < 2:
        raise InputError(f"every item needs two distinct sets, got n_sets={n_sets}")
    B = random_incidence(n_items, n_features, streams.fixed)
    coverage = np.zeros((n_items, n_sets))
    coverage[streams.fixed.integers(n_items, size=n_sets), np.arange(n_sets)] = 1.0
    for item in range(n_items):
        coverage[item, streams.fixed.choice(n_sets, 2, replace=False)] = 1.0
    costs = streams.fixed.integers(1, 100, n_sets).astype(np.float64)
    shortage = penalty * (coverage * costs).max(axis=1)
    source = PoissonCounts(B, degree, noise, half_width, np.ones(n_items))
    return Dataset(set_cover(coverage, costs, shortage, backend=backend), source, *source.draw(n, streams.rows))
