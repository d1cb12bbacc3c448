"""W, the inverse of the Cholesky factor of R + rho I, and the weights alpha = (R + rho I)^-1 y = W' W y.

    R       (n, n)    correlations of the points of one example         rho     its noise ratio
    W       (n, n)    lower triangle with W (R + rho I) W' = I          hyper   (M, 3): l, rho, s2 of each example
    r, t, g (n,)      correlations of a point with the others, t = W r, g = W' t = (R + rho I)^-1 r

Products with W cost no more than solves with the Cholesky factor, and do not wait for one another. A new point with
target y adds one row to W, in O(n^2):

    pivot = 1 + rho - t't        row = (-g', 1) / sqrt(pivot)
    step = (y - r'alpha) / pivot        alpha becomes (alpha - step g, step)

`extend` does that for points that arrive between two fits, one example at a time, on the tiles of `blocks`;
`factorise` builds W from its first row on in the same way, many examples at a time, on the lane arrays of `gather`.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np

from fewsolves.methods.gp_surrogate.gp.blocks import Array, in_tiles, longest_capacity, position
from fewsolves.methods.gp_surrogate.gp.covariance import SMALLEST_PIVOT, correlate_group, correlate_point
from fewsolves.methods.gp_surrogate.gp.gather import (
    empty_group,
    entry,
    entry_of,
    even_rows,
    gather,
    packed_rows,
    scatter,
)
from fewsolves.methods.gp_surrogate.gp.lanes import LANES, MULTIPLE, compiled, inlined, lanes_in_use

MAX_RESCUE_RATIO = 0.1


@compiled
def factorise(blocks: Any, order: Any, hyper: Any, failed: Any, covariance: Any) -> None:
    """W and alpha at the given hyperparameters; where R + rho I is not positive definite, rho grows up to 0.1.

    order: the examples, sorted by size.
    """
    longest = even_rows(blocks.size[order[-1]])
    room = empty_group(longest, covariance)
    all_rows, g = np.zeros((packed_rows(longest), 2 * LANES)), np.zeros((longest, LANES))
    c, rho, pivot = np.empty(LANES), np.empty(LANES), np.empty(LANES)
    for first in range(0, order.size, LANES):
        members = order[first : first + LANES]
        n, lanes = even_rows(blocks.size[members[-1]]), lanes_in_use(members.size)
        group, A = gather(blocks, members, covariance, n, room), all_rows[: packed_rows(n)]
        for k in range(LANES):
            i = members[min(k, members.size - 1)]
            c[k], rho[k] = 0.5 / hyper[i, 0] ** 2, hyper[i, 1]
        while True:
            correlate_group(group.D, group.S, c, covariance.kernel, A)
            invert_factor(A, rho, n, lanes, g, pivot)
            again = False
            for k in range(members.size):
                if not pivot[k] > SMALLEST_PIVOT and rho[k] < MAX_RESCUE_RATIO:
                    rho[k] = min(10.0 * rho[k], MAX_RESCUE_RATIO)
                    again = True
            if not again:
                break
        group_weights(A, group.y, lanes, g)
        for k in range(members.size):
            i = members[k]
            failed[i] = not pivot[k] > SMALLEST_PIVOT
            hyper[i, 1] = rho[k]
            for a in range(blocks.size[i]):
                blocks.weights[blocks.row[i] + a] = g[a, k] * group.scale[k]
        scatter(A, blocks, members)


def unpacked(A: Array, n: int, lanes: int) -> Array:
    """The triangles (lanes, n, n) of a lane array, zero above the diagonal; in NumPy."""
    triangles, (a, b) = np.zeros((lanes, n, n)), np.tril_indices(n)
    triangles[:, a, b] = A[entry(a, b), LANES * (a % 2) + np.arange(lanes)[:, None]]
    return triangles


def _invert_in_numpy(A: Array, rho: Array, n: int, lanes: int, g: Array, pivot: Array) -> None:
    R, (a, b) = unpacked(A, n, lanes), np.tril_indices(n)
    W, least = np.zeros_like(R), np.full(lanes, np.inf)
    for row in range(n):
        r = R[:, row, :row]
        t = np.einsum("kij,kj->ki", W[:, :row, :row], r)
        rest = R[:, row, row] + rho[:lanes] - (t**2).sum(axis=1)
        least = np.where(rest > SMALLEST_PIVOT, np.minimum(least, rest), 0.0)
        root = 1.0 / np.sqrt(np.where(rest > SMALLEST_PIVOT, rest, SMALLEST_PIVOT))
        W[:, row, :row] = -np.einsum("kij,ki->kj", W[:, :row, :row], t) * root[:, None]
        W[:, row, row] = root
    pivot[:lanes] = least
    A[entry(a, b)[:, None], LANES * (a % 2)[:, None] + np.arange(lanes)] = W[:, a, b].T


@compiled(plain=_invert_in_numpy)
def invert_factor(A: Any, rho: Any, n: int, lanes: int, g: Any, pivot: Any) -> None:
    """R, the lane array A of triangles, becomes W, row by row, each as appending its point would add it.

    g (n, L) is overwritten. pivot (L,): the smallest of each lane, 0 if one was not positive.
    """
    halves = A.reshape(2 * A.shape[0], LANES)
    t, rest = np.empty(2 * LANES), np.empty(LANES)
    pivot[:] = np.inf
    for a in range(n):
        first = entry_of(a, 0)
        own = 2 * first + a % 2  # in `halves`, where elements of one row are two rows apart
        diagonal = halves[own + 2 * a]
        for k in range(lanes):
            rest[k] = diagonal[k] + rho[k]
        for c in range(a):
            for k in range(lanes):
                g[c, k] = 0.0
        for r in range(a // 2):  # t = W r and g = W' t, two rows of W at a time
            _two_products(A, halves, entry_of(2 * r, 0), own, r, lanes, t, rest, g)
        if a % 2:
            _last_product(A, halves, first, own, a, lanes, t, rest, g)
        for k in range(lanes):
            positive = rest[k] > SMALLEST_PIVOT  # NaN is not
            least = pivot[k] if pivot[k] < rest[k] else rest[k]
            pivot[k] = least if positive else 0.0
            rest[k] = 1.0 / math.sqrt(rest[k] if positive else SMALLEST_PIVOT)
            diagonal[k] = rest[k]
        for c in range(a):
            w, gc = halves[own + 2 * c], g[c]
            for k in range(lanes):
                w[k] = -gc[k] * rest[k]


@inlined
def _two_products(A: Any, halves: Any, first: int, own: int, r: int, lanes: int, t: Any, rest: Any, g: Any) -> None:
    """t (2 L,): rows 2r and 2r + 1 of W times the row of R that begins at `own`; t't off the rest, W't to g."""
    for k in range(2 * LANES):
        t[k] = 0.0
    for c in range(2 * r + 1):
        w, x = A[first + c], halves[own + 2 * c]
        for k in range(lanes):
            t[k] += w[k] * x[k]
            t[LANES + k] += w[LANES + k] * x[k]
    w, x = A[first + 2 * r + 1], halves[own + 2 * (2 * r + 1)]
    for k in range(lanes):
        w[k] = 0.0  # above the diagonal
        t[LANES + k] += w[LANES + k] * x[k]
    for k in range(lanes):
        rest[k] -= t[k] * t[k] + t[LANES + k] * t[LANES + k]
    for c in range(2 * r + 2):
        w, gc = A[first + c], g[c]
        for k in range(lanes):
            gc[k] += w[k] * t[k] + w[LANES + k] * t[LANES + k]


@inlined
def _last_product(A: Any, halves: Any, first: int, own: int, a: int, lanes: int, t: Any, rest: Any, g: Any) -> None:
    """The same for row a - 1 of W, which lies beside the new row a."""
    for k in range(lanes):
        t[k] = 0.0
    for c in range(a):
        two = A[first + c]
        for k in range(lanes):
            t[k] += two[k] * two[LANES + k]
    for k in range(lanes):
        rest[k] -= t[k] * t[k]
    for c in range(a):
        two, gc = A[first + c], g[c]
        for k in range(lanes):
            gc[k] += two[k] * t[k]


def _weights_in_numpy(W: Array, y: Array, lanes: int, alpha: Array) -> None:
    triangles = unpacked(W, len(y), lanes)
    alpha[: len(y), :lanes] = np.einsum("kji,kjl,lk->ik", triangles, triangles, y[:, :lanes], optimize=True)


@compiled(plain=_weights_in_numpy)
def group_weights(W: Any, y: Any, lanes: int, alpha: Any) -> None:
    """alpha = W' W y; W is a lane array of triangles, y and alpha are (n, L)."""
    halves, t = W.reshape(2 * W.shape[0], LANES), np.empty(LANES)
    alpha[: len(y)] = 0.0
    for a in range(len(y)):
        own = 2 * entry_of(a, 0) + a % 2
        for k in range(lanes):
            t[k] = 0.0
        for c in range(a + 1):
            w, yc = halves[own + 2 * c], y[c]
            for k in range(lanes):
                t[k] += w[k] * yc[k]
        for c in range(a + 1):
            w, to = halves[own + 2 * c], alpha[c]
            for k in range(lanes):
                to[k] += w[k] * t[k]


@cache
def _triangle(n: int) -> tuple[Array, Array, Array]:
    """Rows, columns and positions in tiles of a triangle."""
    a, b = np.tril_indices(n)
    return a, b, position(a, b)


def triangle_of(W: Array, start: int, n: int) -> Array:
    """The triangle in the tiles from `start` on, (n, n); in NumPy."""
    triangle, (a, b, at) = np.zeros((n, n)), _triangle(int(n))
    triangle[a, b] = W[start + at]
    return triangle


def _multiply_in_numpy(W: Array, start: int, n: int, r: Array, t: Array) -> float:
    t[:n] = triangle_of(W, start, n) @ r[:n]
    return float(t[:n] @ t[:n])


@inlined(plain=_multiply_in_numpy)
def multiply(W: Any, start: int, n: int, r: Any, t: Any) -> Any:
    """t = W r for the tiles from `start` on; returns t't. r is zero from n to the next multiple of 4."""
    square = 0.0
    at = start
    for a in range(0, n, MULTIPLE):
        t0 = t1 = t2 = t3 = 0.0
        for b in range(0, a + 1, MULTIPLE):
            tile = W[at : at + 16]
            r0, r1, r2, r3 = r[b], r[b + 1], r[b + 2], r[b + 3]
            t0 += (tile[0] * r0 + tile[1] * r1) + (tile[2] * r2 + tile[3] * r3)
            t1 += (tile[4] * r0 + tile[5] * r1) + (tile[6] * r2 + tile[7] * r3)
            t2 += (tile[8] * r0 + tile[9] * r1) + (tile[10] * r2 + tile[11] * r3)
            t3 += (tile[12] * r0 + tile[13] * r1) + (tile[14] * r2 + tile[15] * r3)
            at += 16
        t[a], t[a + 1], t[a + 2], t[a + 3] = t0, t1, t2, t3
        square += (t0 * t0 + t1 * t1) + (t2 * t2 + t3 * t3)
    return square


def _multiply_transposed_in_numpy(W: Array, start: int, n: int, t: Array, g: Array) -> None:
    g[:n] = t[:n] @ triangle_of(W, start, n)


@inlined(plain=_multiply_transposed_in_numpy)
def multiply_transposed(W: Any, start: int, n: int, t: Any, g: Any) -> None:
    """g = W' t for the same triangle."""
    at = start
    for a in range(0, n, MULTIPLE):
        t0, t1, t2, t3 = t[a], t[a + 1], t[a + 2], t[a + 3]
        for b in range(0, a + 1, MULTIPLE):
            tile = W[at : at + 16]
            for k in range(MULTIPLE):
                new = (tile[k] * t0 + tile[4 + k] * t1) + (tile[8 + k] * t2 + tile[12 + k] * t3)
                g[b + k] = new if b == a else g[b + k] + new
            at += 16


def _inner_in_numpy(left: Array, left_start: int, right: Array, n: int) -> float:
    return float(left[left_start : left_start + n] @ right[:n])


@inlined(plain=_inner_in_numpy, any_order=True)
def inner(left: Any, left_start: int, right: Any, n: int) -> Any:
    """The sum of left[left_start + a] right[a]."""
    sum_ = 0.0
    for a in range(n):
        sum_ += left[left_start + a] * right[a]
    return sum_


@compiled
def extend(blocks: Any, index: Any, factored: Any, hyper: Any, failed: Any, covariance: Any) -> None:
    """Rows of W, and alpha, for the points from number factored[i] on."""
    longest = longest_capacity(blocks, index)
    distance, r, no_slopes = np.empty(longest), np.empty(longest), np.empty(0)
    t, g = np.empty(longest), np.empty(longest)
    for i in index:
        row, start = blocks.row[i], blocks.entry[i]
        for n in range(factored[i], blocks.size[i]):
            for a in range(n):
                distance[a] = blocks.distances[start + in_tiles(n, a)]
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
        for a in range(-(-n // MULTIPLE) * MULTIPLE):
            y[a] = blocks.targets[row + a]
        multiply(blocks.factors, blocks.entry[i], n, y, t)
        multiply_transposed(blocks.factors, blocks.entry[i], n, t, g)
        for a in range(n):
            blocks.weights[row + a] = g[a]
