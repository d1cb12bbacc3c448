"""Sources of the panel's rows: features, a curved signal of them, and noise of three kinds.

    x       (n, p)    features: the first is -1 or 1, the second uniform, the others normal; all of mean 0, variance 1
    h(x)    (n, n_y)  the signal, of mean 0 and variance 1: sqrt(1 - c) linear + sqrt(c) curved
    c                 curvature: the share of the signal's variance that no linear predictor finds
    level   (n_y,)    what y is on average

    Factors   y = level exp(s h - s^2 / 2) u,   u log-normal of mean 1, partly common to all outputs of a row
    Counts    y ~ Poisson(rate), rate = level exp(s h - s^2 / 2) u
    Sums      y = level + s h + u,              u normal of mean 0, partly common to all outputs of a row

In all of them E[y | x] is known. Known data of a row (instances) depend on neither x nor y.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from fewsolves.demo.sources import Source
from fewsolves.errors import InputError
from fewsolves.problem import Array

REFERENCE_ROWS = 4000  # rows on which a signal's two parts are brought to variance 1


def draw_features(n: int, p: int, rng: np.random.Generator) -> Array:
    X = rng.standard_normal((n, p))
    X[:, 0] = np.where(X[:, 0] > 0.0, 1.0, -1.0)
    X[:, 1] = rng.uniform(-np.sqrt(3.0), np.sqrt(3.0), n)
    return X


def _curves(X: Array) -> Array:
    """(n, 2 p): a kink in every feature and the product of every two neighbours."""
    return np.hstack([np.maximum(X, 0.0), X * np.roll(X, 1, axis=1)])


@dataclass(frozen=True, eq=False)
class Signal:
    """h(x) = X A' + curves(X) B' + offset."""

    A: Array  # (n_y, p)
    B: Array  # (n_y, 2 p)
    offset: Array  # (n_y,)

    def __call__(self, X: Array) -> Array:
        h: Array = X @ self.A.T + _curves(X) @ self.B.T + self.offset
        return h


def random_signal(n_y: int, p: int, rng: np.random.Generator, *, curvature: float, shared: float) -> Signal:
    """Weights of which the share `shared` is common to all outputs; the curved part has no linear part left in it."""
    if p < 2 or not 0.0 <= curvature <= 1.0:
        raise InputError(f"a signal needs n_features >= 2 and 0 <= curvature <= 1, got {p} and {curvature}")
    X = draw_features(REFERENCE_ROWS, p, rng)
    linear = _mixed(n_y, p, rng, shared)
    linear /= (X @ linear.T).std(axis=0)[:, None]
    curved = _mixed(n_y, 2 * p, rng, shared)
    design = np.column_stack([X, np.ones(len(X))])
    values = _curves(X) @ curved.T
    fitted = np.linalg.lstsq(design, values, rcond=None)[0]  # (p + 1, n_y)
    spread = (values - design @ fitted).std(axis=0)
    weight = np.sqrt(curvature) / spread
    return Signal(
        np.sqrt(1.0 - curvature) * linear - weight[:, None] * fitted[:-1].T,
        weight[:, None] * curved,
        -weight * fitted[-1],
    )


def _mixed(n_y: int, k: int, rng: np.random.Generator, shared: float) -> Array:
    weights: Array = np.sqrt(shared) * rng.standard_normal(k) + np.sqrt(1.0 - shared) * rng.standard_normal((n_y, k))
    return weights


@dataclass(frozen=True, eq=False)
class Response(Source):
    """What the three kinds have in common."""

    signal: Signal
    level: Array  # (n_y,)
    spread: float | Array  # s, in units of the signal
    noise: float  # standard deviation of u, or of log u
    common: float  # share of the noise's variance that all outputs of a row have in common
    known: Callable[[int, np.random.Generator], list[Any]] | None = None  # draws the known data of n rows

    def instances(self, n: int, rng: np.random.Generator) -> list[Any] | None:
        return None if self.known is None else self.known(n, rng)

    def features(self, n: int, rng: np.random.Generator) -> Array:
        return draw_features(n, self.signal.A.shape[1], rng)

    def _normal(self, n: int, rng: np.random.Generator) -> Array:
        own = rng.standard_normal((n, len(self.level)))
        u: Array = np.sqrt(self.common) * rng.standard_normal((n, 1)) + np.sqrt(1.0 - self.common) * own
        return self.noise * u


class Factors(Response):
    """Positive parameters: durations, weights, travel times."""

    def draw_given(self, X: Array, rng: np.random.Generator) -> Array:
        return self.mean(X) * np.exp(self._normal(len(X), rng) - self.noise**2 / 2.0)

    def mean(self, X: Array) -> Array:
        mean: Array = self.level * np.exp(self.spread * self.signal(X) - np.square(self.spread) / 2.0)
        return mean


class Counts(Factors):
    """Whole numbers: demands."""

    def draw_given(self, X: Array, rng: np.random.Generator) -> Array:
        return rng.poisson(super().draw_given(X, rng)).astype(np.float64)


class Sums(Response):
    """Parameters of either sign: returns, costs."""

    def draw_given(self, X: Array, rng: np.random.Generator) -> Array:
        return self.mean(X) + self._normal(len(X), rng)

    def mean(self, X: Array) -> Array:
        mean: Array = self.level + self.spread * self.signal(X)
        return mean
