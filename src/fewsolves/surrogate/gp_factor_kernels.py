"""W, the inverse of the Cholesky factor of R + rho I, and alpha = W' W y, four examples at a time.

R       (n, n)    correlations of the points         rho     noise ratio        hyper   (M, 3): l, rho, s2
A       lane array of packed lower triangles: R on entry, W on exit
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fewsolves.surrogate.gp_blocks import in_tiles
from fewsolves.surrogate.gp_gather_kernels import gather, packed_size
from fewsolves.surrogate.gp_lanes import WIDTH, inlined, kernel, load, splat, sqrt, store, store_transposed, where_above
from fewsolves.surrogate.gp_profile_kernels import SMALLEST_PIVOT, correlate

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
