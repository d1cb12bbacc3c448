"""Covariance functions and their slopes: the one file that knows the kernel.

    D        squared distance of two points          l     length-scale          c    1 / 2 l^2
    t        c D                                     k(t)  their correlation, k(0) = 1
    h(t)     -k'(t), the slope: the gradient of k in one of the points is 2c h(t) times the offset to the other

    rbf         k = exp(-t)                          h = exp(-t)
    matern52    k = (1 + z + z^2 / 3) exp(-z)        h = 5/3 (1 + z) exp(-z)            z = sqrt(5 D) / l = sqrt(10 t)

(Rasmussen & Williams 2006, eq. 4.9 and 4.17.) The covariance is s2 k(t); every other file asks for k and h here. So a
kernel is added in this file alone: its name in `Kernel`, its number below, its lines in `correlation`.

With sharing, k of points owned by the examples i and j is divided by 1 + strength |v_i - v_j|, where v are the
landscape vectors. That factor is a mixture of exponential kernels in v, so the product stays a kernel.
"""

from __future__ import annotations

import math
from typing import Any, Literal, NamedTuple, get_args

from fewsolves.methods.gp_surrogate.gp.blocks import Array
from fewsolves.methods.gp_surrogate.gp.lanes import WIDTH, compiled, exp, inlined, load, splat, sqrt, store, where_above

Kernel = Literal["rbf", "matern52"]
KERNELS: tuple[str, ...] = get_args(Kernel)
RBF, MATERN52 = range(len(KERNELS))  # compiled functions know a kernel by its place among the names

SMALLEST_PIVOT = 1e-14  # of R + rho I, whose diagonal is at least 1; what is below is rounding
FARTHEST = 1e6  # t from which on every k is 0; points that pad a group of four are infinitely far away


class Covariance(NamedTuple):
    """What the correlation of two points depends on, beside their distance and the length-scale."""

    kernel: int
    landscapes: Array  # (M, k): v_i; k = 0 without sharing
    strength: float  # e^alpha of the paper


@inlined
def correlation(kernel: int, t: Any) -> Any:
    """k(t) and h(t), four at a time; whichever is not used costs nothing."""
    if kernel == MATERN52:
        near = where_above(t, splat(FARTHEST), splat(FARTHEST), t)  # infinity times exp(-infinity) would be NaN
        z = sqrt(splat(10.0) * near)
        decay, linear = exp(-z), splat(1.0) + z
        return (linear + splat(10 / 3) * near) * decay, splat(5 / 3) * linear * decay
    decay = exp(-t)
    return decay, decay


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
    for a in range(0, n, WIDTH):
        correlations, slopes = correlation(covariance.kernel, splat(c) * load(distances, a))
        store(r, a, correlations)
        if h.size:
            store(h, a, slopes)
    if covariance.landscapes.shape[1]:
        for a in range(n):
            factor = shared_factor(covariance, owner, blocks.owners[blocks.row[i] + a])
            r[a] *= factor
            if h.size:
                h[a] *= factor
    for a in range(n, -(-n // WIDTH) * WIDTH):
        r[a] = 0.0
        if h.size:
            h[a] = 0.0


@compiled
def correlate_group(D: Any, S: Any, c: Any, n: int, kernel: int, R: Any) -> None:
    """R = k(c D) of four examples, times the sharing factor S unless that is empty; packed lane arrays (`gather`)."""
    by_length = load(c, 0)
    size = WIDTH * (n * (n + 1) // 2)
    for at in range(0, size, WIDTH):
        correlations, _ = correlation(kernel, by_length * load(D, at))
        store(R, at, correlations)
    if S.size:
        for at in range(0, size, WIDTH):
            store(R, at, load(R, at) * load(S, at))
