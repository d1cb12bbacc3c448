"""Two problems for the contracts of methods: `newsvendor`, which any method for black boxes must accept, and
`selection`, whose linear objective suits the methods that need one."""

from __future__ import annotations

import dataclasses
import zlib
from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from fewsolves.errors import Infeasible
from fewsolves.problem import Array, Problem

SHORTAGE = 4.0  # what a missing unit costs in the newsvendor; one too many costs 1
FAILING = 5  # one in this many predictions has no feasible decision


class Table(NamedTuple):
    """Rows of a problem, and how often its functions have been called for one of them."""

    problem: Problem
    X: Array
    Y: Array
    calls: Counter[str]


def newsvendor(n_y: int, n: int = 40, seed: int = 0) -> Table:
    """Order n_y goods: a missing unit costs more than one too many, so the mean demand is not the best order.

    Args:
        n_y: Parameters that are predicted.
        n: Rows of the table.
        seed: The seed of all random numbers.
    """
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    Y = 10.0 + X @ _weights(n_y) + rng.gamma(1.0, 0.3, size=(n, n_y))

    def cost(y: Array, z: Array) -> Array:
        values: Array = (np.maximum(z - y, 0.0) + SHORTAGE * np.maximum(y - z, 0.0)).sum(axis=1)
        return values

    return _counted(Problem(solve_batch=lambda y_hat: y_hat, cost_batch=cost, name="newsvendor"), X, Y)


def selection(n_y: int, n: int = 40, seed: int = 0) -> Table:
    """Take at most half of n_y items (one of one), those of the highest predicted value if that is positive.

    Args:
        n_y: Parameters that are predicted.
        n: Rows of the table.
        seed: The seed of all random numbers.
    """
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    Y = X @ _weights(n_y) + 0.3 * rng.normal(size=(n, n_y))
    most = (n_y + 1) // 2

    def solve(y_hat: Array) -> Array:
        rank = np.argsort(np.argsort(-y_hat, axis=1, kind="stable"), axis=1)
        z: Array = ((rank < most) & (y_hat > 0)).astype(float)
        return z

    def cost(y: Array, z: Array) -> Array:
        values: Array = -(y * z).sum(axis=1)
        return values

    return _counted(Problem(solve_batch=solve, cost_batch=cost, linear="max", name="selection"), X, Y)


def noisy(table: Table) -> Table:
    """Two solves at one point may differ."""
    return table._replace(problem=dataclasses.replace(table.problem, noisy="both", name="noisy newsvendor"))


def failing(table: Table) -> Table:
    """Some predictions, the same ones each time, leave no feasible decision; the truth always does."""
    truth, solve = {y.tobytes() for y in table.Y}, table.problem.solve_batch
    assert solve is not None

    def sometimes(y_hat: Array) -> Any:
        for point in map(bytes, np.ascontiguousarray(y_hat)):
            if zlib.crc32(point) % FAILING == 0 and point not in truth:
                raise Infeasible("no feasible decision")
        return solve(y_hat)

    return table._replace(problem=dataclasses.replace(table.problem, solve_batch=sometimes, name="failing"))


def _weights(n_y: int) -> Array:
    return np.random.default_rng(7).normal(size=(3, n_y))


def _counted(problem: Problem, X: Array, Y: Array) -> Table:
    calls: Counter[str] = Counter()

    def counting(kind: str, function: Callable[..., Any] | None) -> Callable[..., Any]:
        assert function is not None

        def call(rows: Array, *rest: Any) -> Any:
            calls[kind] += len(rows)
            return function(rows, *rest)

        return call

    solve, cost = counting("solve", problem.solve_batch), counting("cost", problem.cost_batch)
    return Table(dataclasses.replace(problem, solve_batch=solve, cost_batch=cost), X, Y, calls)
