"""W, the inverse of the Cholesky factor of R + rho I, and the weights alpha = (R + rho I)^-1 y = W' W y.

    R       (n, n)    correlations of the points of one example         rho     its noise ratio
    W       (n, n)    lower triangle with W (R + rho I) W' = I          hyper   (M, 3): l, rho, s2 of each example
    r, t, g (n,)      correlations of a point with the others, t = W r, g = W' t = (R + rho I)^-1 r

Products with W cost no more than solves with the Cholesky factor, and do not wait for one another. A new point with
target y adds one row to W, in O(n^2):

    pivot = 1 + rho - t't        row = (-g', 1) / sqrt(pivot)
    step = (y - r'alpha) / pivot        alpha becomes (alpha - step g, step)

`extend` does that for points that arrive between two fits, one example at a time, on the tiles of `blocks`;
`factorise` builds W from its first row on in the same way, four examples at a time, on the lane arrays of `gather`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fewsolves.methods.gp_surrogate.gp.blocks import in_tiles, longest_capacity
from fewsolves.methods.gp_surrogate.gp.covariance import SMALLEST_PIVOT, correlate_group, correlate_point
from fewsolves.methods.gp_surrogate.gp.gather import empty_group, gather, packed_size, scatter
from fewsolves.methods.gp_surrogate.gp.lanes import (
    WIDTH,
    compiled,
    inlined,
    load,
    splat,
    sqrt,
    store,
    total,
    where_above,
)

MAX_RESCUE_RATIO = 0.1


@compiled
def factorise(blocks: Any, order: Any, hyper: Any, failed: Any, covariance: Any) -> None:
    """W and alpha at the given hyperparameters; where R + rho I is not positive definite, rho grows up to 0.1.

    order: the examples, sorted by size.
    """
    longest = blocks.size[order[-1]]
    group = empty_group(longest, covariance)
    A, g = np.empty(packed_size(longest)), np.empty(WIDTH * longest)
    c, rho, pivot = np.empty(WIDTH), np.empty(WIDTH), np.empty(WIDTH)
    for first in range(0, order.size, WIDTH):
        members = order[first : first + WIDTH]
        n = blocks.size[members[-1]]
        gather(blocks, members, covariance, n, group)
        for k in range(WIDTH):
            i = members[min(k, members.size - 1)]
            c[k], rho[k] = 0.5 / hyper[i, 0] ** 2, hyper[i, 1]
        while True:
            correlate_group(group.D, group.S, c, n, covariance.kernel, A)
            invert_factor(A, rho, n, g, pivot)
            again = False
            for k in range(members.size):
                if not pivot[k] > SMALLEST_PIVOT and rho[k] < MAX_RESCUE_RATIO:
                    rho[k] = min(10.0 * rho[k], MAX_RESCUE_RATIO)
                    again = True
            if not again:
                break
        group_weights(A, group.y, n, g)
        for k in range(members.size):
            i = members[k]
            failed[i] = not pivot[k] > SMALLEST_PIVOT
            hyper[i, 1] = rho[k]
            for a in range(blocks.size[i]):
                blocks.weights[blocks.row[i] + a] = g[WIDTH * a + k] * group.scale[k]
        scatter(A, blocks, members)


@compiled
def invert_factor(A: Any, rho: Any, n: int, g: Any, pivot: Any) -> None:
    """R, the lane array A of packed lower triangles, becomes W, row by row, each as appending its point would add it.

    pivot (4,): the smallest of each lane, 0 if one was not positive. t = W r and g = W' t go through the rows of W in
    fours, so that each entry of r and g is read once for all four.
    """
    least = splat(np.inf)
    floor = splat(SMALLEST_PIVOT)
    for a in range(n):
        r = WIDTH * (a * (a + 1) // 2)
        rest = load(A, r + WIDTH * a) + load(rho, 0)
        b = 0
        while b < a:
            rows = min(4, a - b)
            r0 = WIDTH * (b * (b + 1) // 2)
            r1 = r0 + WIDTH * (b + 1)
            r2 = r1 + WIDTH * (b + 2)
            r3 = r2 + WIDTH * (b + 3)
            if rows < 4:  # the last few rows: those that are not there yet repeat the one before, with weight 0
                r1 = r1 if rows > 1 else r0
                r2 = r2 if rows > 2 else r0
                r3 = r0
            t0 = t1 = t2 = t3 = splat(0.0)
            for c in range(0, WIDTH * b, WIDTH):
                x = load(A, r + c)
                t0, t1 = t0 + load(A, r0 + c) * x, t1 + load(A, r1 + c) * x
                t2, t3 = t2 + load(A, r2 + c) * x, t3 + load(A, r3 + c) * x
            c0, c1, c2, c3 = WIDTH * b, WIDTH * (b + 1), WIDTH * (b + 2), WIDTH * (b + 3)
            w00 = load(A, r0 + c0)
            t0 = t0 + w00 * load(A, r + c0)
            rest = rest - t0 * t0
            g0 = w00 * t0
            if rows > 1:
                w10, w11 = load(A, r1 + c0), load(A, r1 + c1)
                t1 = t1 + w10 * load(A, r + c0) + w11 * load(A, r + c1)
                rest = rest - t1 * t1
                g0 = g0 + w10 * t1
                g1 = w11 * t1
                if rows > 2:
                    w20, w21, w22 = load(A, r2 + c0), load(A, r2 + c1), load(A, r2 + c2)
                    t2 = t2 + w20 * load(A, r + c0) + w21 * load(A, r + c1) + w22 * load(A, r + c2)
                    rest = rest - t2 * t2
                    g0 = g0 + w20 * t2
                    g1 = g1 + w21 * t2
                    g2 = w22 * t2
                    if rows > 3:
                        w30, w31, w32, w33 = load(A, r3 + c0), load(A, r3 + c1), load(A, r3 + c2), load(A, r3 + c3)
                        t3 = t3 + w30 * load(A, r + c0) + w31 * load(A, r + c1)
                        t3 = t3 + w32 * load(A, r + c2) + w33 * load(A, r + c3)
                        rest = rest - t3 * t3
                        g0 = g0 + w30 * t3
                        g1 = g1 + w31 * t3
                        g2 = g2 + w32 * t3
                        store(g, c3, w33 * t3)
                    store(g, c2, g2)
                store(g, c1, g1)
            store(g, c0, g0)
            zero = splat(0.0)
            t1 = t1 if rows > 1 else zero
            t2 = t2 if rows > 2 else zero
            t3 = t3 if rows > 3 else zero
            for c in range(0, WIDTH * b, WIDTH):
                new = load(A, r0 + c) * t0 + load(A, r1 + c) * t1 + load(A, r2 + c) * t2 + load(A, r3 + c) * t3
                store(g, c, load(g, c) + new)
            b += 4
        least = where_above(rest, floor, where_above(least, rest, rest, least), splat(0.0))  # NaN is not above
        root = splat(1.0) / sqrt(where_above(rest, floor, rest, floor))
        for c in range(0, WIDTH * a, WIDTH):
            store(A, r + c, -load(g, c) * root)
        store(A, r + WIDTH * a, root)
    store(pivot, 0, least)


@compiled
def group_weights(W: Any, y: Any, n: int, alpha: Any) -> None:
    """alpha = W' W y, lane arrays."""
    for a in range(n):
        row = WIDTH * (a * (a + 1) // 2)
        ta = splat(0.0)
        for c in range(0, WIDTH * (a + 1), WIDTH):
            ta = ta + load(W, row + c) * load(y, c)
        for c in range(0, WIDTH * a, WIDTH):
            store(alpha, c, load(alpha, c) + load(W, row + c) * ta)
        store(alpha, WIDTH * a, load(W, row + WIDTH * a) * ta)


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
    """g = W' t for the same triangle."""
    at = start
    for a in range(0, n, WIDTH):
        t0, t1, t2, t3 = splat(t[a]), splat(t[a + 1]), splat(t[a + 2]), splat(t[a + 3])
        for b in range(0, a + 1, WIDTH):
            new = (load(W, at) * t0 + load(W, at + 4) * t1) + (load(W, at + 8) * t2 + load(W, at + 12) * t3)
            store(g, b, new if b == a else load(g, b) + new)
            at += 16


@inlined
def inner(left: Any, left_start: int, right: Any, n: int) -> Any:
    """The sum of left[left_start + a] right[a]."""
    sum_ = splat(0.0)
    for a in range(0, n, WIDTH):
        sum_ = sum_ + load(left, left_start + a) * load(right, a)
    return total(sum_)


@compiled
def extend(blocks: Any, index: Any, factored: Any, hyper: Any, failed: Any, covariance: Any) -> None:
    """Rows of W, and alpha, for the points from number factored[i] on."""
    longest = longest_capacity(blocks, index)
    distance, r, no_slopes = np.empty(longest), np.empty(longest), np.empty(0)
    t, g = np.empty(longest), np.empty(longest)
    for i in index:
        row, start = blocks.row[i], blocks.entry[i]
        for n in range(factored[i], blocks.size[i]):
            for a in range(0, n, WIDTH):
                store(distance, a, load(blocks.distances, start + in_tiles(n, a)))
            owner = blocks.owners[row + n]
            correlate_point(distance, n, 0.5 / hyper[i, 0] ** 2, blocks, i, owner, covariance, r, no_slopes)
            pivot = 1.0 + hyper[i, 1] - multiply(blocks.factors, start, n, r, t)
            if not pivot > SMALLEST_PIVOT:
                failed[i] = True
            if failed[i]:
                break
            multiply_transposed(blocks.factors, start, n, t, g)
            root = 1.0 / math.sqrt(pivot)
            step = (blocks.targets[row + n] - inner(blocks.weights, row, r, n)) / pivot
            for a in range(n):
                blocks.factors[start + in_tiles(n, a)] = -g[a] * root
                blocks.weights[row + a] -= step * g[a]
            blocks.factors[start + in_tiles(n, n)] = root
            blocks.weights[row + n] = step
        factored[i] = blocks.size[i]


@compiled
def log_likelihood(blocks: Any, hyper: Any, out: Any) -> None:
    """log p(y | l, rho, s2) of each example, from its factor: sum log W_aa - 1/2 (y'alpha / s2 + n log(2 pi s2))."""
    for i in range(out.size):
        s2 = hyper[i, 2]
        out[i] = -0.5 * blocks.size[i] * math.log(2.0 * math.pi * s2)
        for a in range(blocks.size[i]):
            out[i] += math.log(blocks.factors[blocks.entry[i] + in_tiles(a, a)])
            out[i] -= 0.5 * blocks.targets[blocks.row[i] + a] * blocks.weights[blocks.row[i] + a] / s2


@compiled
def solve_weights(blocks: Any, index: Any) -> None:
    """alpha = W' W y of some examples."""
    longest = longest_capacity(blocks, index)
    y, t, g = np.empty(longest), np.empty(longest), np.empty(longest)
    for i in index:
        n, row = blocks.size[i], blocks.row[i]
        for a in range(0, n, WIDTH):
            store(y, a, load(blocks.targets, row + a))
        multiply(blocks.factors, blocks.entry[i], n, y, t)
        multiply_transposed(blocks.factors, blocks.entry[i], n, t, g)
        for a in range(n):
            blocks.weights[row + a] = g[a]
