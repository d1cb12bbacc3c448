"""Sources of (x, y) pairs: the true distribution of one dataset, from which as many pairs are drawn as wanted.

x       (n, p)      features                     y (n, n_y)   parameters
B       (n_y, p)    in {0, 1}, once per dataset: which features an item listens to
base    (n, n_y)    1 + (B x / sqrt(p) + 3)^degree                                (Elmachtoub and Grigas, 2022)
rate                max(0, base + u), u ~ U(-h, h)             noise="additive"
                    max(0, base) u,   u ~ U(1 - h, 1 + h)      noise="multiplicative"
count   (n, n_y)    ~ Poisson(rate)

A benchmark's file builds a `Dataset` from `Streams`; its problem checks what it is given as y with `parameter_rows`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from fewsolves.data import Split
from fewsolves.errors import InputError
from fewsolves.problem import Array, Problem


class Source(ABC):
    """The true joint distribution of one dataset."""

    @abstractmethod
    def features(self, n: int, rng: np.random.Generator) -> Array:
        """(n, p) draws of x."""

    @abstractmethod
    def draw_given(self, X: Array, rng: np.random.Generator) -> Array:
        """(n, n_y): one draw of y for every row of X."""

    @abstractmethod
    def mean(self, X: Array) -> Array:
        """(n, n_y): E[y | x]."""

    def instances(self, n: int, rng: np.random.Generator) -> list[Any] | None:
        """Known data of n rows, one entry each; None for a problem whose rows have none."""
        return None

    def draw(self, n: int, rng: np.random.Generator) -> tuple[Array, Array]:
        X = self.features(n, rng)
        return X, self.draw_given(X, rng)


class Streams(NamedTuple):
    """Two independent generators of one dataset seed."""

    fixed: np.random.Generator  # what all instances share
    rows: np.random.Generator  # the instances


class Dataset(NamedTuple):
    """The problem, where its data comes from, and the rows drawn first."""

    problem: Problem
    source: Source
    X: Array
    Y: Array
    split: Split | None = None  # by time, where rows are in its order; None: at random


@dataclass(frozen=True, eq=False)
class PoissonCounts(Source):
    """Counts whose rate is a polynomial of the features, times a fixed factor per item."""

    B: Array
    degree: int
    noise: str
    half_width: float
    factor: Array  # (n_y,)

    def __post_init__(self) -> None:
        if self.noise not in ("additive", "multiplicative"):
            raise InputError(f"noise is 'additive' or 'multiplicative', got {self.noise!r}")

    def features(self, n: int, rng: np.random.Generator) -> Array:
        return rng.standard_normal((n, self.B.shape[1]))

    def draw_given(self, X: Array, rng: np.random.Generator) -> Array:
        u = rng.uniform(-self.half_width, self.half_width, (len(X), len(self.B)))
        base = self._base(X)
        rate = np.maximum(0.0, base + u) if self.noise == "additive" else np.maximum(0.0, base) * (1.0 + u)
        return self.factor * rng.poisson(rate)

    def mean(self, X: Array) -> Array:
        base, h = self._base(X), self.half_width
        if self.noise == "multiplicative" or h == 0.0:
            return self.factor * np.maximum(0.0, base)
        cut = np.clip(base + h, 0.0, 2.0 * h) ** 2 / (4.0 * h)  # E max(0, base + u) where zero lies within the noise
        return self.factor * np.where(base > h, base, cut)

    def _base(self, X: Array) -> Array:
        base: Array = 1.0 + (X @ self.B.T / np.sqrt(self.B.shape[1]) + 3.0) ** self.degree
        return base


def random_incidence(n_y: int, n_features: int, rng: np.random.Generator) -> Array:
    """B, Bernoulli(1/2)."""
    return rng.integers(0, 2, (n_y, n_features)).astype(np.float64)


def parameter_rows(y: Array, n_y: int) -> Array:
    """`y` as (B, n_y) float64; one vector becomes one row. NaN and infinity are refused."""
    rows = np.atleast_2d(np.asarray(y, dtype=np.float64))
    if rows.ndim != 2 or rows.shape[1] != n_y:
        raise InputError(f"expected {n_y} parameters per row, got an array of shape {np.shape(y)}")
    if not np.isfinite(rows).all():
        row, column = np.argwhere(~np.isfinite(rows))[0]
        raise InputError(f"parameters must be finite, got {rows[row, column]} at row {row}, column {column}")
    return rows
