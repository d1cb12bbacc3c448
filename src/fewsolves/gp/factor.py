"""W, the inverse of the Cholesky factor of R + rho I, and alpha = W' W y, four examples at a time.

R       (n, n)    correlations of the points         rho     noise ratio        hyper   (M, 3): l, rho, s2
A       lane array of packed lower triangles: R on entry, W on exit

New points and new targets between two fits, at unchanged hyperparameters.

    W       (n, n)    inverse of the Cholesky factor of R + rho I          alpha = W' W y
    r, t, g (n,)      correlations of the new point with the others, t = W r, g = W' t

A new point adds the row (-g', 1) / sqrt(1 + rho - t't) to W, in O(n^2). hyper is (M, 3): l, rho, s2.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fewsolves.gp.blocks import in_tiles
from fewsolves.gp.covariance import (
    SMALLEST_PIVOT,
    correlations,
    inner,
    multiply,
    multiply_transposed,
    squared_distances,
)
from fewsolves.gp.gather import gather, packed_size
from fewsolves.gp.lanes import WIDTH, inlined, kernel, load, splat, sqrt, store, store_transposed, where_above
from fewsolves.gp.profile import correlate

MAX_RESCUE_RATIO = 0.1


@kernel
def factorise(blocks: Any, order: Any, hyper: Any, failed: Any, sharing: Any) -> None:
    """W and alpha at the given hyperparameters; where R + rho I is not positive definite, rho grows up to 0.1."""
    longest = blocks.size[order[-1]]
    packed = packed_size(longest)
    D, A = np.empty(packed), np.empty(packed)
    S = np.empty(packed if sharing.landscapes.shape[1] else 0)
    y, g = np.empty(WIDTH * longest), np.empty(WIDTH * longest)
    counts, scale = np.empty(WIDTH), np.empty(WIDTH)
    minus_c, rho, pivot = np.empty(WIDTH), np.empty(WIDTH), np.empty(WIDTH)
    for group in range(0, order.size, WIDTH):
        members = order[group : group + WIDTH]
        n = blocks.size[members[-1]]
        gather(blocks, members, sharing, n, D, S, y, counts, scale)
        for k in range(WIDTH):
            i = members[min(k, members.size - 1)]
            minus_c[k], rho[k] = -0.5 / hyper[i, 0] ** 2, hyper[i, 1]
        while True:
            correlate(D, S, minus_c, n, A)
            invert_factor(A, rho, n, g, pivot)
            again = False
            for k in range(members.size):
                if not pivot[k] > SMALLEST_PIVOT and rho[k] < MAX_RESCUE_RATIO:
                    rho[k] = min(10.0 * rho[k], MAX_RESCUE_RATIO)
                    again = True
            if not again:
                break
        weigh(A, y, n, g)
        for k in range(members.size):
            i = members[k]
            failed[i] = not pivot[k] > SMALLEST_PIVOT
            hyper[i, 1] = rho[k]
            for a in range(blocks.size[i]):
                blocks.weights[blocks.row[i] + a] = g[WIDTH * a + k] * scale[k]
        _scatter(A, blocks, members)


@inlined
def _scatter(A: Any, blocks: Any, members: Any) -> None:
    """The triangles of a lane array back into the tiles of their examples."""
    tile_row = np.empty(WIDTH * WIDTH)
    for a in range(blocks.size[members[-1]]):
        first = WIDTH * (a * (a + 1) // 2)
        for b in range(0, a + 1, WIDTH):
            at = first + WIDTH * b
            store_transposed(tile_row, 0, load(A, at), load(A, at + 4), load(A, at + 8), load(A, at + 12))
            for k in range(members.size):
                if a < blocks.size[members[k]]:
                    target = blocks.entry[members[k]] + in_tiles(a, b)
                    store(blocks.factors, target, load(tile_row, WIDTH * k))
                    for above in range(a + 1 - b, WIDTH):  # beyond the diagonal
                        blocks.factors[target + above] = 0.0


@kernel
def invert_factor(A: Any, rho: Any, n: int, g: Any, pivot: Any) -> None:
    """A becomes W, row by row: each row is the one that appending its point would add.

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


@kernel
def weigh(W: Any, y: Any, n: int, alpha: Any) -> None:
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
def _longest(blocks: Any, index: Any) -> Any:
    longest = 0
    for i in index:
        longest = max(longest, blocks.capacity[i])
    return longest


@kernel
def place(blocks: Any, index: Any, points: Any, targets: Any, owners: Any) -> None:
    """Put one point after the other into blocks that have the room, with its distances; W does not know them yet."""
    distance = np.empty(_longest(blocks, index))
    for b in range(index.size):
        i = index[b]
        new = blocks.row[i] + blocks.size[i]
        for k in range(points.shape[1]):
            blocks.points[new, k] = points[b, k]
        blocks.targets[new], blocks.owners[new] = targets[b], owners[b]
        _measure(blocks, i, blocks.size[i], distance)
        blocks.size[i] += 1


@kernel
def measure(blocks: Any, index: Any) -> None:
    """Squared distances of all points of some examples."""
    distance = np.empty(_longest(blocks, index))
    for i in index:
        for a in range(blocks.size[i]):
            _measure(blocks, i, a, distance)


@inlined
def _measure(blocks: Any, i: int, a: int, distance: Any) -> None:
    squared_distances(blocks.points, blocks.row[i], a, blocks.points[blocks.row[i] + a], distance)
    for b in range(a):
        blocks.distances[blocks.entry[i] + in_tiles(a, b)] = distance[b]


@kernel
def extend(blocks: Any, index: Any, factored: Any, hyper: Any, failed: Any, sharing: Any) -> None:
    """Rows of W, and alpha, for the points from number factored[i] on."""
    longest = _longest(blocks, index)
    distance, r, t, g = np.empty(longest), np.empty(longest), np.empty(longest), np.empty(longest)
    for i in index:
        row, start = blocks.row[i], blocks.entry[i]
        for n in range(factored[i], blocks.size[i]):
            for a in range(0, n, WIDTH):
                store(distance, a, load(blocks.distances, start + in_tiles(n, a)))
            correlations(distance, n, 0.5 / hyper[i, 0] ** 2, blocks, i, blocks.owners[row + n], sharing, r)
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


@kernel
def log_likelihood(blocks: Any, hyper: Any, out: Any) -> None:
    """log p(y | l, rho, s2) of each example, from its factor: sum log W_aa - 1/2 (y'alpha / s2 + n log(2 pi s2))."""
    for i in range(out.size):
        s2 = hyper[i, 2]
        out[i] = -0.5 * blocks.size[i] * math.log(2.0 * math.pi * s2)
        for a in range(blocks.size[i]):
            out[i] += math.log(blocks.factors[blocks.entry[i] + in_tiles(a, a)])
            out[i] -= 0.5 * blocks.targets[blocks.row[i] + a] * blocks.weights[blocks.row[i] + a] / s2


@kernel
def solve_weights(blocks: Any, index: Any) -> None:
    """alpha = W' W y of some examples."""
    longest = _longest(blocks, index)
    y, t, g = np.empty(longest), np.empty(longest), np.empty(longest)
    for i in index:
        n, row = blocks.size[i], blocks.row[i]
        for a in range(0, n, WIDTH):
            store(y, a, load(blocks.targets, row + a))
        multiply(blocks.factors, blocks.entry[i], n, y, t)
        multiply_transposed(blocks.factors, blocks.entry[i], n, t, g)
        for a in range(n):
            blocks.weights[row + a] = g[a]
