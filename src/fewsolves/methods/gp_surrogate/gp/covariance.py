"""Covariance functions and their slopes: the one file that knows the kernel.

    D        squared distance of two points          l     length-scale          c    1 / 2 l^2
    t        c D                                     k(t)  their correlation, k(0) = 1
    h(t)     -k'(t), the slope: the gradient of k in one of the points is 2c h(t) times the offset to the other

    rbf         k = exp(-t)                          h = exp(-t)
    matern52    k = (1 + z + z^2 / 3) exp(-z)        h = 5/3 (1 + z) exp(-z)            z = sqrt(5 D) / l = sqrt(10 t)

(Rasmussen & Williams 2006, eq. 4.9 and 4.17.) The covariance is s2 k(t); all other files take k and h from here. So a
kernel is added in this file alone: its name in `Kernel`, its number below, its lines in `correlate` and `_correlate`.

With sharing, k of points owned by the examples i and j is divided by 1 + strength |v_i - v_j|, where v are the
landscape vectors. That factor is a mixture of exponential kernels in v, so the product stays a kernel.
"""

from __future__ import annotations

import math
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from fewsolves.methods.gp_surrogate.gp.blocks import Array
from fewsolves.methods.gp_surrogate.gp.lanes import LANES, MULTIPLE, compiled, exp, inlined

Kernel = Literal["rbf", "matern52"]
KERNELS: tuple[str, ...] = get_args(Kernel)
RBF, MATERN52 = range(len(KERNELS))  # compiled functions know a kernel by its place among the names

SMALLEST_PIVOT = 1e-14  # of R + rho I, whose diagonal is at least 1; what is below is rounding
FARTHEST = 1e6  # t from which on every k is 0; points that pad a group are infinitely far away


class Covariance(NamedTuple):
    """Parameters of the correlation of two points, beside their distance and the length-scale."""

    kernel: int
    landscapes: Array  # (M, k): v_i; k = 0 without sharing
    strength: float  # e^alpha of the paper


def _correlate(kernel: int, t: Array, slopes: Array) -> None:
    if kernel == MATERN52:
        near = np.minimum(t, FARTHEST)
        z = np.sqrt(10.0 * near)
        decay = np.exp(np.maximum(-z, -700.0)) * (z < 700.0)
        t[:] = (1.0 + z + 10 / 3 * near) * decay
        slopes[:] = 5 / 3 * (1.0 + z[: slopes.size]) * decay[: slopes.size]
    else:
        t[:] = np.exp(-t)
        slopes[:] = t[: slopes.size]


@compiled(plain=_correlate)
def correlate(kernel: int, t: Any, slopes: Any) -> None:
    """The vector t becomes k(t), and `slopes` h(t), unless it is empty."""
    if kernel == MATERN52:
        z = np.empty(t.size)
        for i in range(t.size):
            t[i] = t[i] if t[i] < FARTHEST else FARTHEST  # infinity times exp(-infinity) would be NaN
        for i in range(t.size):
            z[i] = -math.sqrt(10.0 * t[i])
        exp(z)
        for i in range(t.size):
            root = math.sqrt(10.0 * t[i])
            if slopes.size:
                slopes[i] = 5 / 3 * (1.0 + root) * z[i]
            t[i] = ((1.0 + root) + 10 / 3 * t[i]) * z[i]
    else:
        for i in range(t.size):
            t[i] = -t[i]
        exp(t)
        for i in range(slopes.size):
            slopes[i] = t[i]


@inlined
def shared_factor(covariance: Any, i: int, j: int) -> Any:
    """1 / (1 + strength |v_i - v_j|)."""
    square = 0.0
    for k in range(covariance.landscapes.shape[1]):
        difference = covariance.landscapes[i, k] - covariance.landscapes[j, k]
        square += difference * difference
    return 1.0 / (1.0 + covariance.strength * math.sqrt(square))


@inlined
def correlate_point(
    distances: Any, n: int, c: float, blocks: Any, i: int, owner: int, covariance: Any, r: Any, h: Any
) -> None:
    """r = k and, unless it is empty, h = -k' of a point of example `owner` with the n points of example i.

    Both are filled up with zeros to a multiple of 4.
    """
    for a in range(n):
        r[a] = c * distances[a]
    correlate(covariance.kernel, r[:n], h[:n])
    if covariance.landscapes.shape[1]:
        for a in range(n):
            factor = shared_factor(covariance, owner, blocks.owners[blocks.row[i] + a])
            r[a] *= factor
            if h.size:
                h[a] *= factor
    for a in range(n, -(-n // MULTIPLE) * MULTIPLE):
        r[a] = 0.0
        if h.size:
            h[a] = 0.0


def _correlate_group(D: Array, S: Array, c: Array, kernel: int, R: Array) -> None:
    R[:] = np.tile(c, 2) * D
    _correlate(kernel, R.reshape(-1), np.empty(0))
    if S.size:
        R *= S


@compiled(plain=_correlate_group)
def correlate_group(D: Any, S: Any, c: Any, kernel: int, R: Any) -> None:
    """R = k(c D) of a group of examples, times the sharing factor S unless that is empty; lane arrays (`gather`)."""
    for e in range(D.shape[0]):
        d, r = D[e], R[e]
        for k in range(c.size):
            r[k] = c[k] * d[k]
            r[LANES + k] = c[k] * d[LANES + k]
    correlate(kernel, R.reshape(R.size), np.empty(0))
    if S.size:
        for e in range(D.shape[0]):
            s, r = S[e], R[e]
            for k in range(s.size):
                r[k] *= s[k]
