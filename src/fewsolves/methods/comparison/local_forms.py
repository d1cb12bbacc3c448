"""The local losses of LODL and EGL: nonnegative functions of one example's error that vanish where it does.

e        (..., K, d)       errors of K points           e+ = max(e, 0), e- = min(e, 0)
f        (..., K, p)       what a form sees of e, computed once: p = d, or p = 2 d in the directed forms
theta    (..., *shape)     the numbers that are fitted, one set per example

    mse                  mean_j w_j e_j^2                          f = e^2             w (d,)
    directed-mse         mean_j w+_j e+_j^2 + w-_j e-_j^2          f = [e+^2, e-^2]    w (2 d,)
    quadratic            |L' f|^2                                  f = e               L (d, r)
    directed-quadratic   |L' f|^2                                  f = [e+, e-]        L (2 d, r)

Each is a sum of squares, so it is nonnegative without a projection. The first three are convex in e, the last is
convex on every orthant and continuous across them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Literal

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import softplus

FormName = Literal["mse", "directed-mse", "quadratic", "directed-quadratic"]
FORMS: tuple[FormName, ...] = ("mse", "directed-mse", "quadratic", "directed-quadratic")
Preset = Literal["paper", "robust"]

RANK = 20  # maximum number of columns of L
SMALLEST_WEIGHT = 1e-3
UNIT = float(np.log(np.e - 1.0))  # softplus(UNIT) = 1


class Form(ABC):
    """One family of local losses in d dimensions."""

    shape: tuple[int, ...]  # of theta

    def __init__(self, d: int, *, directed: bool) -> None:
        self.d, self.directed = d, directed
        self.p = 2 * d if directed else d

    @abstractmethod
    def features(self, e: Tensor) -> Tensor:
        """(..., K, p) from (..., K, d)."""

    @abstractmethod
    def value(self, theta: Tensor, f: Tensor) -> Tensor:
        """(..., K)."""

    @abstractmethod
    def initial(self, n: int, rng: np.random.Generator) -> Tensor:
        """(n, *shape): where a fit begins, for errors and values of the order of 1."""

    def _split(self, e: Tensor) -> Tensor:
        return torch.cat([e.clamp(min=0), e.clamp(max=0)], dim=-1) if self.directed else e


class WeightedSquares(Form):
    """Squared errors with a positive weight for each coordinate, or for each coordinate and direction."""

    def __init__(self, d: int, *, directed: bool) -> None:
        super().__init__(d, directed=directed)
        self.shape = (self.p,)

    def features(self, e: Tensor) -> Tensor:
        return self._split(e).square()

    def value(self, theta: Tensor, f: Tensor) -> Tensor:
        return (f @ self.weights(theta)[..., None])[..., 0] / self.d

    def weights(self, theta: Tensor) -> Tensor:
        """Positive, and never without a gradient."""
        return softplus(theta) + SMALLEST_WEIGHT

    def initial(self, n: int, rng: np.random.Generator) -> Tensor:
        return torch.full((n, *self.shape), UNIT)


class PublishedWeightedSquares(WeightedSquares):
    """The same with cut-off weights: one that falls below the cut has no gradient and stays there."""

    def weights(self, theta: Tensor) -> Tensor:
        return theta.clamp(min=SMALLEST_WEIGHT)

    def initial(self, n: int, rng: np.random.Generator) -> Tensor:
        return _float(SMALLEST_WEIGHT + rng.uniform(size=(n, *self.shape)))


class Quadratic(Form):
    """A positive semidefinite quadratic of low rank."""

    def __init__(self, d: int, *, directed: bool) -> None:
        super().__init__(d, directed=directed)
        self.shape = (self.p, min(RANK, d))

    def features(self, e: Tensor) -> Tensor:
        return self._split(e)

    def value(self, theta: Tensor, f: Tensor) -> Tensor:
        return (f @ theta).square().sum(-1)

    def initial(self, n: int, rng: np.random.Generator) -> Tensor:
        return _float(rng.standard_normal((n, *self.shape)) / np.sqrt(self.d * self.shape[1]))


class PublishedQuadratic(Quadratic):
    """The same with L lower triangular, cut at 100 and begun near zero, where its gradient vanishes."""

    def value(self, theta: Tensor, f: Tensor) -> Tensor:
        return super().value(theta.tril().clamp(-100.0, 100.0), f)

    def initial(self, n: int, rng: np.random.Generator) -> Tensor:
        return _float(rng.uniform(size=(n, *self.shape)) / self.d**2)


class PublishedDirectedQuadratic(PublishedQuadratic):
    """Entry (i, j) of L comes from one of four tables, by the signs of e_i and of e_j; jumps where e_j is 0.

    theta (2, 2, d, r): sign of e_i, sign of e_j, i, j.
    """

    def __init__(self, d: int) -> None:
        super().__init__(d, directed=True)
        self.shape = (2, 2, d, min(RANK, d))

    def value(self, theta: Tensor, f: Tensor) -> Tensor:
        tables = theta.tril().clamp(-10.0, 10.0)
        plus, minus = (f @ part.flatten(-3, -2) for part in tables.unbind(-3))
        return torch.where(f[..., : self.shape[-1]] > 0, plus, minus).square().sum(-1)


def make_form(name: FormName, d: int, preset: Preset) -> Form:
    """A form by its name, as published or with the repairs."""
    directed = name.startswith("directed")
    if name.endswith("mse"):
        return (PublishedWeightedSquares if preset == "paper" else WeightedSquares)(d, directed=directed)
    if preset == "robust":
        return Quadratic(d, directed=directed)
    return PublishedDirectedQuadratic(d) if directed else PublishedQuadratic(d, directed=False)


def _float(values: np.ndarray) -> Tensor:
    return torch.as_tensor(values, dtype=torch.float32)
