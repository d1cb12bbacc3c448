"""Gaussian process regression in plain NumPy: what `methods.gp_surrogate.gp` computes, without what makes it fast.

    X, y      (n, d), (n,)    points and targets of one example         S    (n, n)    factors of sharing, or 1
    D         (n, n)          squared distances of the points           R    (n, n)    correlations k(D, l) S
    length    the length-scale l                                        s2   output scale (a variance)
    rho       noise ratio: the noise has variance rho s2                K    s2 (R + rho I), covariance of the targets
    u         log l, which has the prior Normal(mu, sigma^2)            x    (d,)      a query

Begin here. `profile` and `fit` are what profile.py and fit.py do, `posterior` is what factor.py and posterior.py do.
The tests hold them to it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from fewsolves.problem import Array

GRID = 65  # values tried at once, from end to end of an interval that shrinks to two steps around the best
FINEST = 1e-4  # last step in log l and log rho
NO_DIFFERENCE = 1e-9  # nats; ties go to the smaller: one point cannot separate noise from signal


class Example(NamedTuple):
    """The data of one example."""

    X: Array
    y: Array
    S: Array | float = 1.0


class Hyperparameters(NamedTuple):
    """The hyperparameters of one example, or of all together."""

    length: float
    rho: float
    s2: float


def rbf(D: Array, length: float) -> tuple[Array, Array]:
    """k and dk/dD (Rasmussen & Williams 2006, eq. 4.9)."""
    k = np.exp(-D / (2 * length**2))
    return k, -k / (2 * length**2)


def matern52(D: Array, length: float) -> tuple[Array, Array]:
    """k and dk/dD (eq. 4.17)."""
    z = np.sqrt(5 * D) / length
    return (1 + z + z**2 / 3) * np.exp(-z), -5 / (6 * length**2) * (1 + z) * np.exp(-z)


KERNELS = {"rbf": rbf, "matern52": matern52}


def squared_distances(A: Array, B: Array) -> Array:
    """D of every row of A with every row of B."""
    return np.asarray(((A[:, None] - B[None]) ** 2).sum(axis=2))


def sharing_factor(V: Array, W: Array, strength: float) -> Array:
    """1 / (1 + strength |v - w|) of the landscapes of the owners of two sets of points."""
    return np.asarray(1 / (1 + strength * np.sqrt(squared_distances(V, W))))


def correlations(kernel: str, example: Example, length: float) -> Array:
    """R of one example."""
    return np.asarray(KERNELS[kernel](squared_distances(example.X, example.X), length)[0] * example.S)


def log_posterior(kernel: str, examples: Sequence[Example], h: Hyperparameters, mu: float, sigma: float) -> float:
    """sum_i log N(y_i; 0, K_i) + log p(l); pooled if there are several examples."""
    u = math.log(h.length)
    value = -u - 0.5 * ((u - mu) / sigma) ** 2 - math.log(sigma * math.sqrt(2 * math.pi))  # the density of l, not of u
    for one in examples:
        K = h.s2 * (correlations(kernel, one, h.length) + h.rho * np.eye(len(one.y)))
        value -= 0.5 * (one.y @ np.linalg.solve(K, one.y) + np.linalg.slogdet(2 * math.pi * K)[1])
    return float(value)


def profile(kernel: str, examples: Sequence[Example], length: float, low: float, high: float) -> Hyperparameters:
    """The best rho between low and high, and the best s2, for a given length-scale.

    R = Q diag(v) Q' and z = Q' y make every rho cheap; the best s2 is a mean of squares. Targets must not all be zero.
    """
    spectra = [np.linalg.eigh(correlations(kernel, one, length)) for one in examples]
    v = np.concatenate([values for values, _ in spectra])
    z = np.concatenate([Q.T @ one.y for (_, Q), one in zip(spectra, examples, strict=True)])

    def log_likelihood(log_rho: Array) -> Array:  # up to a constant
        noisy = v[:, None] + np.exp(log_rho)
        return np.asarray(-0.5 * (len(z) * np.log((z[:, None] ** 2 / noisy).mean(axis=0)) + np.log(noisy).sum(axis=0)))

    rho = math.exp(_maximum(log_likelihood, math.log(low), math.log(high)))
    return Hyperparameters(length, rho, float((z**2 / (v + rho)).mean()))


def fit(kernel: str, examples: Sequence[Example], mu: float, sigma: float, low: float, high: float) -> Hyperparameters:
    """MAP hyperparameters: a search in log l alone, within 8 sigma of its prior mean."""

    def best(u: float) -> Hyperparameters:
        return profile(kernel, examples, math.exp(u), low, high)

    def objective(grid: Array) -> Array:
        return np.array([log_posterior(kernel, examples, best(u), mu, sigma) for u in grid])

    return best(_maximum(objective, mu - 8 * sigma, mu + 8 * sigma))


def _maximum(f: Callable[[Array], Array], low: float, high: float) -> float:
    """The maximiser of f, by successively finer grids."""
    while True:
        grid = np.linspace(low, high, GRID)
        values = f(grid)
        best = np.flatnonzero(values >= values.max() - NO_DIFFERENCE)[0]
        step = grid[1] - grid[0]
        if step < FINEST:
            return float(grid[best])
        low, high = max(low, grid[best] - step), min(high, grid[best] + step)


def posterior(
    kernel: str, example: Example, h: Hyperparameters, x: Array, s: Array | float = 1.0
) -> tuple[float, float, Array, Array]:
    """Mean and std of the latent function at x (eq. 2.25 and 2.26), and their gradients in x.

    s (n,): factors of sharing between the owner of the query and those of the points.
    """
    offsets = x - example.X
    k, slope = KERNELS[kernel]((offsets**2).sum(axis=1), h.length)
    r, gradients = k * s, (2 * slope * s)[:, None] * offsets  # (n,), (n, d): dr/dx by the chain rule through D
    noisy = correlations(kernel, example, h.length) + h.rho * np.eye(len(example.y))
    alpha, g = np.linalg.solve(noisy, example.y), np.linalg.solve(noisy, r)
    std = math.sqrt(h.s2 * (1 - r @ g))
    return float(r @ alpha), std, gradients.T @ alpha, -h.s2 / std * (gradients.T @ g)
