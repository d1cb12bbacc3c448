"""One point against the Gaussian process of one example: append it, or predict there.

    x       (d,)      the point                    c       1 / 2 l^2
    r       (n,)      correlations of x with the points of the example, exp(-c |x - x_a|^2)
    W       (n, n)    inverse of the Cholesky factor of R + rho I         t = W r,  g = W' t = (R + rho I)^-1 r
    alpha   (n,)      (R + rho I)^-1 y

Posterior of the latent function at x (Rasmussen & Williams 2006, eq. 2.25 and 2.26, both sides divided by s2):

    mean = r' alpha                         gradient:  2c sum_a alpha_a r_a (x_a - x)
    var  = s2 (1 - t't)                     gradient of std:  -(s2 / std) 2c sum_a g_a r_a (x_a - x)

Appending x adds the row (-g', 1) / sqrt(1 + rho - t't) to W. W and not the inverse of R + rho I is kept, since
1 - t't then loses no digits to cancellation between large numbers.

With sharing, the correlation of points of the examples i and j is divided by 1 + strength |v_i - v_j|, where v are the
landscape vectors.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from fewsolves.surrogate.gp_blocks import Array, Blocks, in_tiles
from fewsolves.surrogate.gp_lanes import WIDTH, exp, inlined, kernel, lane, load, splat, store, total

SMALLEST_PIVOT = 1e-14


class Sharing(NamedTuple):
    landscapes: Array  # (M, k): v_i; k = 0 without sharing
    strength: float  # e^alpha of the paper


@inlined
def shared_factor(sharing: Any, i: int, j: int) -> float:
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


@kernel
def append(
    blocks: Any, index: Any, points: Any, targets: Any, owners: Any, hyper: Any, failed: Any, sharing: Any
) -> None:
    """Add one point after the other; `hyper` is (M, 3): l, rho, s2. The blocks must have the room."""
    longest = 0
    for b in range(index.size):
        longest = max(longest, blocks.capacity[index[b]])
    distance, r, t, g = np.empty(longest + 4), np.empty(longest + 4), np.empty(longest + 4), np.empty(longest + 4)
    x = np.zeros(blocks.points.shape[1])
    for b in range(index.size):
        i = index[b]
        n, row, start = blocks.count[i], blocks.row[i], blocks.entry[i]
        x[: points.shape[1]] = points[b]
        squared_distances(blocks.points, row, n, x, distance)
        blocks.points[row + n] = x
        blocks.targets[row + n] = targets[b]
        blocks.owners[row + n] = owners[b]
        for a in range(n):
            blocks.distances[start + in_tiles(n, a)] = distance[a]
        blocks.count[i] = n + 1
        if failed[i]:
            continue
        correlations(distance, n, 0.5 / hyper[i, 0] ** 2, blocks, i, owners[b], sharing, r)
        pivot = 1.0 + hyper[i, 1] - multiply(blocks.factors, start, n, r, t)
        if not pivot > SMALLEST_PIVOT:
            failed[i] = True
            continue
        multiply_transposed(blocks.factors, start, n, t, g)
        root = 1.0 / math.sqrt(pivot)
        step = (targets[b] - inner(blocks.weights, row, r, n)) / pivot
        for a in range(n):
            blocks.factors[start + in_tiles(n, a)] = -g[a] * root
            blocks.weights[row + a] -= step * g[a]
        blocks.factors[start + in_tiles(n, n)] = root
        blocks.weights[row + n] = step


@kernel
def solve_weights(blocks: Any, index: Any) -> None:
    """alpha = W' W y of some examples."""
    longest = 0
    for b in range(index.size):
        longest = max(longest, blocks.capacity[index[b]])
    y, t, g = np.zeros(longest + 4), np.empty(longest + 4), np.empty(longest + 4)
    for i in index:
        n, row = blocks.count[i], blocks.row[i]
        padded = -(-n // WIDTH) * WIDTH
        y[:padded] = blocks.targets[row : row + padded]
        multiply(blocks.factors, blocks.entry[i], n, y, t)
        multiply_transposed(blocks.factors, blocks.entry[i], n, t, g)
        blocks.weights[row : row + n] = g[:n]


@kernel
def predict(
    blocks: Any, index: Any, queries: Any, hyper: Any, failed: Any, sharing: Any, mean: Any, std: Any, slopes: Any
) -> None:
    """Posterior mean and std at queries[b] under example index[b]; `slopes` (2, B, d) takes their gradients.

    With slopes of length 0 no gradients are computed.
    """
    longest = 0
    for b in range(index.size):
        longest = max(longest, blocks.capacity[index[b]])
    distance, r, t, g = np.empty(longest + 4), np.empty(longest + 4), np.empty(longest + 4), np.empty(longest + 4)
    stride, d = blocks.points.shape[1], queries.shape[1]
    x, slope_mean, slope_std = np.zeros(stride), np.empty(stride), np.empty(stride)
    for b in range(index.size):
        i = index[b]
        n, row = blocks.count[i], blocks.row[i]
        c, s2 = 0.5 / hyper[i, 0] ** 2, hyper[i, 2]
        if failed[i] or n == 0:
            mean[b], std[b] = 0.0, np.inf if failed[i] else math.sqrt(s2)
            if slopes.size:
                slopes[:, b] = 0.0
            continue
        x[:d] = queries[b]
        squared_distances(blocks.points, row, n, x, distance)
        correlations(distance, n, c, blocks, i, i, sharing, r)
        mean[b] = inner(blocks.weights, row, r, n)
        rest = 1.0 - multiply(blocks.factors, blocks.entry[i], n, r, t)
        std[b] = math.sqrt(s2 * max(rest, SMALLEST_PIVOT))
        if slopes.size == 0:
            continue
        multiply_transposed(blocks.factors, blocks.entry[i], n, t, g)
        by_std = -2.0 * c * s2 / std[b] if rest > SMALLEST_PIVOT else 0.0
        for a in range(-(-n // WIDTH) * WIDTH):
            g[a] *= by_std * r[a]
            r[a] *= 2.0 * c * blocks.weights[row + a]
        _weighted_offsets(blocks.points, row, n, x, r, g, slope_mean, slope_std)
        slopes[0, b], slopes[1, b] = slope_mean[:d], slope_std[:d]


@inlined
def _weighted_offsets(points: Any, first: int, n: int, x: Any, p: Any, q: Any, by_p: Any, by_q: Any) -> None:
    """sum_a p_a (x_a - x) and sum_a q_a (x_a - x), each point read once."""
    stride = points.shape[1]
    by_p[:] = 0.0
    by_q[:] = 0.0
    for a in range(0, n, 2):
        p0, p1, q0, q1 = splat(p[a]), splat(p[a + 1]), splat(q[a]), splat(q[a + 1])
        at = (first + a) * stride
        for k in range(0, stride, WIDTH):
            xk = load(x, k)
            e0, e1 = load(points, at + k) - xk, load(points, at + stride + k) - xk
            store(by_p, k, load(by_p, k) + p0 * e0 + p1 * e1)
            store(by_q, k, load(by_q, k) + q0 * e0 + q1 * e1)
