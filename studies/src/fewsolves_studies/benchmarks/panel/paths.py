"""The shortest path over a grid whose edges have unknown costs with heavy tails.

y   (n_y,)   cost of each edge; n_y = 2 m (m - 1): row by row the m - 1 edges to the right, then the m downwards
z   (n_y,)   0 or 1, the edges of a path from the north-west corner to the south-east one, right or down

y      = ((B x / sqrt(p) + 3)^degree + 1) / 3.5^degree u, u ~ U(1 - w, 1 + w)           (Elmachtoub and Grigas, 2022)
solve  min y_hat.z, exactly, by dynamic programming from the last corner            cost   g(y, z) = y.z

The generator is that of the published comparisons; at degree 8 a linear predictor is far from E[y | x], so that which
of its errors matter is what can be learned.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fewsolves.demo.sources import Dataset, Source, Streams, parameter_rows, random_incidence
from fewsolves.problem import Array
from fewsolves_studies.benchmarks.panel.batched import Batched


@dataclass(frozen=True)
class Paths(Batched):
    """Solve and cost on a grid of `side` times `side` nodes."""

    side: int

    @property
    def n_y(self) -> int:
        return 2 * self.side * (self.side - 1)

    def solve_batch(self, Y_hat: Array) -> Array:
        Y_hat, m = parameter_rows(Y_hat, self.n_y), self.side
        n = len(Y_hat)
        rest = np.full((n, m + 1, m + 1), np.inf)  # least cost from a node to the last one
        rest[:, m - 1, m - 1] = 0.0
        across = np.zeros((n, m, m), dtype=bool)  # go right
        for i in range(m - 1, -1, -1):
            for j in range(m - 1, -1, -1):
                if i == j == m - 1:
                    continue
                right = Y_hat[:, self._right(i, j)] + rest[:, i, j + 1] if j < m - 1 else np.full(n, np.inf)
                down = Y_hat[:, self._down(i, j)] + rest[:, i + 1, j] if i < m - 1 else np.full(n, np.inf)
                across[:, i, j] = right <= down if i < m - 1 else True
                rest[:, i, j] = np.where(across[:, i, j], right, down)
        Z, rows = np.zeros(Y_hat.shape), np.arange(n)
        row, column = np.zeros(n, np.int64), np.zeros(n, np.int64)
        for _ in range(2 * (m - 1)):
            go = across[rows, row, column]
            Z[rows, np.where(go, self._right(row, column), self._down(row, column))] = 1.0
            row, column = row + ~go, column + go
        return Z

    def cost_batch(self, Y: Array, Z: Array) -> Array:
        cost: Array = np.einsum("bi,bi->b", parameter_rows(Y, self.n_y), np.asarray(Z, dtype=np.float64))
        return cost

    def _right(self, i: Any, j: Any) -> Any:
        """Number of the edge from node (i, j) to (i, j + 1)."""
        return i * (2 * self.side - 1) + j

    def _down(self, i: Any, j: Any) -> Any:
        return i * (2 * self.side - 1) + self.side - 1 + j


@dataclass(frozen=True, eq=False)
class Polynomial(Source):
    """Costs of the edges."""

    B: Array  # (n_y, p)
    degree: int
    half_width: float  # w

    def features(self, n: int, rng: np.random.Generator) -> Array:
        return rng.standard_normal((n, self.B.shape[1]))

    def draw_given(self, X: Array, rng: np.random.Generator) -> Array:
        mean = self.mean(X)
        return mean * rng.uniform(1.0 - self.half_width, 1.0 + self.half_width, mean.shape)

    def mean(self, X: Array) -> Array:
        base = X @ self.B.T / np.sqrt(self.B.shape[1]) + 3.0
        mean: Array = (base**self.degree + 1.0) / 3.5**self.degree
        return mean


def paths(
    streams: Streams,
    *,
    n: int = 400,  # rows
    side: int = 5,
    n_features: int = 5,
    degree: int = 8,
    half_width: float = 0.0,
) -> Dataset:
    """No noise: all error is that of the predictor's form."""
    grid = Paths(side)
    problem = grid.problem(name="paths", linear="min")
    source = Polynomial(random_incidence(grid.n_y, n_features, streams.fixed), degree, half_width)
    return Dataset(problem, source, *source.draw(n, streams.rows))
