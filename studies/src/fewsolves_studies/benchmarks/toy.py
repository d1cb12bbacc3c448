"""A problem without a solver: the decision is the prediction, and its cost climbs in steps with the error.

x (n, p) ~ N(0, I)     W (d, p) ~ U(0, 1)     y = W x     z*(y_hat) = y_hat
g(y, z) = s floor(||y - z||_2 / l)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fewsolves.demo.sources import Dataset, Source, Streams, parameter_rows
from fewsolves.errors import InputError
from fewsolves.problem import Array, Problem


@dataclass(frozen=True)
class Steps:
    """Solve and cost of the toy problem in `n_y` dimensions."""

    n_y: int
    s: float  # height of a step
    l: float  # noqa: E741  the paper's name: length of a step

    def solve(self, y_hat: Array) -> Array:
        z: Array = self.solve_batch(np.asarray(y_hat)[None])[0]
        return z

    def solve_batch(self, Y_hat: Array) -> Array:
        return parameter_rows(Y_hat, self.n_y).copy()

    def cost(self, y: Array, z: Array) -> float:
        return float(self.cost_batch(np.asarray(y)[None], np.asarray(z)[None])[0])

    def cost_batch(self, Y: Array, Z: Array) -> Array:
        distance = np.linalg.norm(parameter_rows(Y, self.n_y) - np.asarray(Z, dtype=np.float64), axis=1)
        cost: Array = self.s * np.floor(distance / self.l)
        return cost


@dataclass(frozen=True, eq=False)
class LinearMap(Source):
    """y = W x, no noise."""

    W: Array

    def features(self, n: int, rng: np.random.Generator) -> Array:
        return rng.standard_normal((n, self.W.shape[1]))

    def draw_given(self, X: Array, rng: np.random.Generator) -> Array:
        return self.mean(X)

    def mean(self, X: Array) -> Array:
        y: Array = X @ self.W.T
        return y


def toy(
    streams: Streams,
    *,
    n: int = 1000,  # instances
    n_y: int = 64,
    n_features: int = 5,
    s: float = 5.0,
    l: float = 1.0,  # noqa: E741
) -> Dataset:
    if not (s > 0 and l > 0):
        raise InputError(f"steps need s > 0 and l > 0, got s={s}, l={l}")
    steps = Steps(n_y, s, l)
    problem = Problem(
        solve=steps.solve, cost=steps.cost, solve_batch=steps.solve_batch, cost_batch=steps.cost_batch, name="toy"
    )
    source = LinearMap(streams.fixed.uniform(size=(n_y, n_features)))
    return Dataset(problem, source, *source.draw(n, streams.rows))
