"""One point against the Gaussian process of one example: the pieces of appending and of predicting.

    x       (d,)      the point                    c       1 / 2 l^2
    r       (n,)      correlations of x with the points of the example, exp(-c |x - x_a|^2)
    W       (n, n)    inverse of the Cholesky factor of R + rho I, in tiles (see `gp.blocks`)
    t, g    (n,)      t = W r, g = W' t = (R + rho I)^-1 r

With sharing, the correlation of points of the examples i and j is divided by 1 + strength |v_i - v_j|, where v are the
landscape vectors. Four points are treated at once; vectors reach to the next multiple of 4, filled up with zeros.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from fewsolves.gp.blocks import Array
from fewsolves.gp.lanes import WIDTH, exp, inlined, load, splat, store, total

SMALLEST_PIVOT = 1e-14


class Sharing(NamedTuple):
    landscapes: Array  # (M, k): v_i; k = 0 without sharing
    strength: float  # e^alpha of the paper


@inlined
def shared_factor(sharing: Any, i: int, j: int) -> Any:
    """1 / (1 + strength |v_i - v_j|): a mixture of exponential kernels, so the product with an RBF stays a kernel."""
    square = 0.0
    for k in range(sharing.landscapes.shape[1]):
        difference = sharing.landscapes[i, k] - sharing.landscapes[j, k]
        square += difference * difference
    return 1.0 / (1.0 + sharing.strength * math.sqrt(square))


@inlined
def squared_distances(points: Any, first: int, n: int, x: Any, out: Any) -> None:
    """|x - x_a|^2 of `n` rows of `points` from `first` on; `out` is filled up to a multiple of 4."""
    stride = points.shape[1]
    for a in range(0, n, WIDTH):
        s0 = s1 = s2 = s3 = splat(0.0)
        at = (first + a) * stride
        for k in range(0, stride, WIDTH):
            xk = load(x, k)
            e0, e1 = load(points, at + k) - xk, load(points, at + stride + k) - xk
            e2, e3 = load(points, at + 2 * stride + k) - xk, load(points, at + 3 * stride + k) - xk
            s0, s1, s2, s3 = s0 + e0 * e0, s1 + e1 * e1, s2 + e2 * e2, s3 + e3 * e3
        out[a], out[a + 1], out[a + 2], out[a + 3] = total(s0), total(s1), total(s2), total(s3)


@inlined
def correlations(distances: Any, n: int, c: float, blocks: Any, i: int, owner: int, sharing: Any, r: Any) -> None:
    """r of a point of example `owner` with the points of example i; zero from n to the next multiple of 4."""
    for a in range(0, n, WIDTH):
        store(r, a, exp(splat(-c) * load(distances, a)))
    if sharing.landscapes.shape[1]:
        for a in range(n):
            r[a] *= shared_factor(sharing, owner, blocks.owners[blocks.row[i] + a])
    for a in range(n, -(-n // WIDTH) * WIDTH):
        r[a] = 0.0


@inlined
def multiply(W: Any, start: int, n: int, r: Any, t: Any) -> Any:
    """t = W r for the triangle from `start` on; returns t't."""
    square = 0.0
    at = start
    for a in range(0, n, WIDTH):
        s0 = s1 = s2 = s3 = splat(0.0)
        for b in range(0, a + 1, WIDTH):
            rb = load(r, b)
            s0, s1 = s0 + load(W, at) * rb, s1 + load(W, at + 4) * rb
            s2, s3 = s2 + load(W, at + 8) * rb, s3 + load(W, at + 12) * rb
            at += 16
        t0, t1, t2, t3 = total(s0), total(s1), total(s2), total(s3)
        t[a], t[a + 1], t[a + 2], t[a + 3] = t0, t1, t2, t3
        square += (t0 * t0 + t1 * t1) + (t2 * t2 + t3 * t3)
    return square


@inlined
def multiply_transposed(W: Any, start: int, n: int, t: Any, g: Any) -> None:
    """g = W' t."""
    at = start
    for a in range(0, n, WIDTH):
        t0, t1, t2, t3 = splat(t[a]), splat(t[a + 1]), splat(t[a + 2]), splat(t[a + 3])
        for b in range(0, a + 1, WIDTH):
            new = (load(W, at) * t0 + load(W, at + 4) * t1) + (load(W, at + 8) * t2 + load(W, at + 12) * t3)
            store(g, b, new if b == a else load(g, b) + new)
            at += 16


@inlined
def inner(left: Any, left_start: int, right: Any, n: int) -> Any:
    sum_ = splat(0.0)
    for a in range(0, n, WIDTH):
        sum_ = sum_ + load(left, left_start + a) * load(right, a)
    return total(sum_)
