"""Hyperparameters by a fixed number of steps of Adam, as GPyTorch is mostly used: not to the optimum.

    l, s2, noise      = log(1 + e^w), noise 1e-4 more; all w = 0 at first, which is 0.69 for each
    f                 log p(y | l, s2, noise) + log p(l), the objective of `fit`
    rho, alpha, W     noise / s2, (R + rho I)^-1 y, and the inverse Cholesky factor of R + rho I (`factor`)
    M                 h(t) D: l^3 times the slope of R in l (`covariance`)

    2 df/dnoise = alpha'alpha / s2^2 - tr / s2                                      tr = tr (R + rho I)^-1 = |W|^2
    2 df/ds2    = (y'alpha - rho alpha'alpha) / s2^2 - (n - rho tr) / s2
    2 df/dl     = (alpha'M alpha / s2 - sum_a w_a'M w_a) / l^3 + 2 d log p(l)/dl    w_a: the rows of W

A later fit goes on from where the last one ended, with an Adam that has forgotten. After few steps hyperparameters say
more about where they started than about the targets: this exists only to reproduce one reading of the paper.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from fewsolves.methods.gp_surrogate.gp.blocks import Array, Blocks
from fewsolves.methods.gp_surrogate.gp.covariance import Covariance, correlate, correlate_group
from fewsolves.methods.gp_surrogate.gp.factor import group_weights, invert_factor, unpacked
from fewsolves.methods.gp_surrogate.gp.gather import empty_group, entry_of, even_rows, gather, packed_rows
from fewsolves.methods.gp_surrogate.gp.lanes import LANES, compiled, inlined, lanes_in_use
from fewsolves.methods.gp_surrogate.gp.threads import on_threads

RATE, LEAST_NOISE = 0.1, 1e-4
START = math.log(2.0), 1.0 + LEAST_NOISE / math.log(2.0), math.log(2.0)  # l, rho and s2
MEAN, SQUARE, EPS = 0.9, 0.999, 1e-8  # of Adam
SMALLEST = 1e-12  # softplus has no inverse at 0


@dataclass(frozen=True)
class Climb:
    """A fit of `steps` steps of Adam for each example: a `Fitting` of the Gaussian processes."""

    steps: int
    start: tuple[float, float, float] = START

    def __call__(
        self, blocks: Blocks, order: Array, prior: tuple[float, float], hyper: Array, covariance: Covariance
    ) -> None:
        on_threads(lambda part: _climb(blocks, order[part], self.steps, prior, hyper, covariance), order.size)


@compiled
def _climb(blocks: Any, order: Any, steps: int, prior: Any, hyper: Any, covariance: Any) -> None:
    longest = even_rows(blocks.size[order[-1]])
    room, size = empty_group(longest, covariance), packed_rows(longest)
    all_W, all_M, all_alpha = np.zeros((size, 2 * LANES)), np.zeros((size, 2 * LANES)), np.zeros((longest, LANES))
    c, rho, pivot, sums = np.empty(LANES), np.empty(LANES), np.empty(LANES), np.empty((5, LANES))
    w, mean, square = np.empty((3, LANES)), np.empty((3, LANES)), np.empty((3, LANES))
    for first in range(0, order.size, LANES):
        members = order[first : first + LANES]
        n, lanes = even_rows(blocks.size[members[-1]]), lanes_in_use(members.size)
        group = gather(blocks, members, covariance, n, room)
        W, M, alpha = all_W[: packed_rows(n)], all_M[: packed_rows(n)], all_alpha[:n]
        for k in range(LANES):
            length, ratio, s2 = hyper[members[min(k, members.size - 1)]]
            w[0, k], w[1, k], w[2, k] = _inverse(length), _inverse(s2), _inverse(ratio * s2 - LEAST_NOISE)
        mean[:], square[:] = 0.0, 0.0
        for step in range(1, steps + 1):
            for k in range(LANES):
                c[k], rho[k] = 0.5 / _softplus(w[0, k]) ** 2, (_softplus(w[2, k]) + LEAST_NOISE) / _softplus(w[1, k])
            correlate_group(group.D, group.S, c, covariance.kernel, W)
            _slopes(group.D, group.S, c, covariance.kernel, M)
            invert_factor(W, rho, n, lanes, alpha, pivot)
            group_weights(W, group.y, lanes, alpha)
            _sums(W, M, alpha, group.y, lanes, sums)
            for k in range(members.size):
                gradient = _gradient(sums[:, k], w[:, k], rho[k], group.counts[k], n, group.scale[k] ** 2, prior)
                for h in range(3):
                    mean[h, k] = MEAN * mean[h, k] + (1.0 - MEAN) * gradient[h]
                    square[h, k] = SQUARE * square[h, k] + (1.0 - SQUARE) * gradient[h] ** 2
                    below = math.sqrt(square[h, k] / (1.0 - SQUARE**step)) + EPS
                    w[h, k] += RATE * mean[h, k] / (1.0 - MEAN**step) / below
        for k in range(members.size):
            s2 = _softplus(w[1, k])
            hyper[members[k], 0], hyper[members[k], 2] = _softplus(w[0, k]), s2
            hyper[members[k], 1] = (_softplus(w[2, k]) + LEAST_NOISE) / s2


@inlined
def _softplus(w: float) -> Any:
    return w + math.log1p(math.exp(-w)) if w > 0.0 else math.log1p(math.exp(w))


@inlined
def _inverse(value: float) -> Any:
    """w with log(1 + e^w) = value."""
    value = max(value, SMALLEST)
    return value + math.log(-math.expm1(-value))


@inlined
def _gradient(sums: Any, w: Any, rho: float, n: float, padded: int, scale: float, prior: Any) -> Any:
    """The gradient of f / n in w; sums are those of `_sums`, with targets in units whose square is `scale`."""
    mu, sigma = prior
    length, s2 = _softplus(w[0]), _softplus(w[1])
    trace = sums[0] - (padded - n) / (1.0 + rho)  # what pads the group has 1 + rho on the diagonal, and nothing else
    weights, fit, forms = scale * sums[1], scale * sums[2], scale * sums[3] / s2 - sums[4]
    by_l = 0.5 * forms / length**3 - (1.0 + (math.log(length) - mu) / sigma**2) / length
    by_s2 = 0.5 * ((fit - rho * weights) / s2 - (n - rho * trace)) / s2
    by_noise = 0.5 * (weights / s2 - trace) / s2
    return by_l * _slope(w[0]) / n, by_s2 * _slope(w[1]) / n, by_noise * _slope(w[2]) / n


@inlined
def _slope(w: float) -> Any:
    """The slope of softplus."""
    return 1.0 / (1.0 + math.exp(-w))


@compiled
def _slopes(D: Any, S: Any, c: Any, kernel: int, M: Any) -> None:
    """M = h(c D) D, times the sharing factor S unless that is empty; lane arrays. 0 where D is infinite."""
    t, slopes = np.empty(2 * LANES), np.empty(2 * LANES)
    for e in range(len(D)):
        t[:LANES], t[LANES:] = c * D[e, :LANES], c * D[e, LANES:]
        correlate(kernel, t, slopes)
        M[e] = slopes * np.where(np.isfinite(D[e]), D[e], 0.0)
    if S.size:
        M *= S


def _sums_in_numpy(W: Array, M: Array, alpha: Array, y: Array, lanes: int, sums: Array) -> None:
    n = len(y)
    T, lower, a, b = unpacked(W, n, lanes), unpacked(M, n, lanes), alpha[:, :lanes].T, y[:, :lanes].T
    symmetric = lower + lower.transpose(0, 2, 1)
    parts = (T**2).sum(axis=(1, 2)), (a * a).sum(axis=1), (a * b).sum(axis=1)
    forms = np.einsum("ki,kij,kj->k", a, symmetric, a), np.einsum("kai,kij,kaj->k", T, symmetric, T, optimize=True)
    sums[:, :lanes] = *parts, *forms


@compiled(plain=_sums_in_numpy)
def _sums(W: Any, M: Any, alpha: Any, y: Any, lanes: int, sums: Any) -> None:
    """sums (5, L): |W|^2, alpha'alpha, y'alpha, alpha'M alpha, and w_a'M w_a summed over the rows of W."""
    n, row = len(y), np.zeros((len(y), LANES))
    halves = W.reshape(2 * len(W), LANES)
    sums[:] = 0.0
    for a in range(n):
        sums[1] += alpha[a] * alpha[a]
        sums[2] += y[a] * alpha[a]
        own = 2 * entry_of(a, 0) + a % 2
        for b in range(a + 1):
            row[b] = halves[own + 2 * b]
            sums[0] += row[b] * row[b]
        _add_form(row, M, a + 1, lanes, sums[4])
    _add_form(alpha, M, n, lanes, sums[3])


@inlined
def _add_form(x: Any, M: Any, n: int, lanes: int, form: Any) -> None:
    """Add x'M x over the first n rows of M, whose diagonal is 0."""
    halves, inner = M.reshape(2 * len(M), LANES), np.empty(LANES)
    for a in range(1, n):
        own = 2 * entry_of(a, 0) + a % 2
        for k in range(lanes):
            inner[k] = 0.0
        for b in range(a):
            m, xb = halves[own + 2 * b], x[b]
            for k in range(lanes):
                inner[k] += m[k] * xb[k]
        for k in range(lanes):
            form[k] += 2.0 * x[a, k] * inner[k]
