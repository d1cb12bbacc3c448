"""New points and new targets between two fits, at unchanged hyperparameters.

    W       (n, n)    inverse of the Cholesky factor of R + rho I          alpha = W' W y
    r, t, g (n,)      correlations of the new point with the others, t = W r, g = W' t

A new point adds the row (-g', 1) / sqrt(1 + rho - t't) to W, in O(n^2). hyper is (M, 3): l, rho, s2.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fewsolves.surrogate.gp_blocks import in_tiles
from fewsolves.surrogate.gp_lanes import WIDTH, inlined, kernel, load, store
from fewsolves.surrogate.gp_point_kernels import (
    SMALLEST_PIVOT,
    correlations,
    inner,
    multiply,
    multiply_transposed,
    squared_distances,
)


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
