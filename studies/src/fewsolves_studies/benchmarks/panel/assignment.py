"""Tasks to agents, one each, at unknown costs.

    y   (n n,)   cost of agent i at task j, row by row          z   (n n,)   0 or 1, a permutation matrix

    solve  min y_hat.z, exactly (scipy's linear_sum_assignment)             cost   g(y, z) = y.z

The costs are linear in x, so least squares finds E[y | x]; g is linear in y, so nothing else matters: by construction
there is nothing to gain.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import linear_sum_assignment

from fewsolves.demo.sources import Dataset, Streams, parameter_rows
from fewsolves.problem import Array
from fewsolves_studies.benchmarks.panel.batched import Batched
from fewsolves_studies.benchmarks.panel.responses import Sums, random_signal


@dataclass(frozen=True)
class Assignment(Batched):
    """Solve and cost of `n_tasks` tasks and as many agents."""

    n_tasks: int

    def solve_batch(self, Y_hat: Array) -> Array:
        n = self.n_tasks
        tables = parameter_rows(Y_hat, n * n).reshape(-1, n, n)
        Z = np.zeros(tables.shape)
        for table, z in zip(tables, Z, strict=True):
            z[linear_sum_assignment(table)] = 1.0
        return Z.reshape(-1, n * n)

    def cost_batch(self, Y: Array, Z: Array) -> Array:
        cost: Array = np.einsum("bi,bi->b", parameter_rows(Y, self.n_tasks**2), np.asarray(Z, dtype=np.float64))
        return cost


def assignment(
    streams: Streams,
    *,
    n: int = 300,  # rows
    n_tasks: int = 7,
    n_features: int = 5,
    curvature: float = 0.0,
    spread: float = 5.0,
    noise: float = 4.0,
) -> Dataset:
    """Every cell of the table has its own level and its own linear answer to the features."""
    fixed = streams.fixed
    tasks = Assignment(n_tasks)
    n_y = n_tasks**2
    signal = random_signal(n_y, n_features, fixed, curvature=curvature, shared=0.2)
    problem = tasks.problem(name="assignment", linear="min")
    source = Sums(signal, fixed.uniform(15.0, 35.0, n_y), spread, noise, common=0.2)
    return Dataset(problem, source, *source.draw(n, streams.rows))
