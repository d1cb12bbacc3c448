"""Groups of examples side by side: the arrays that fit and factorisation work on.

    L           LANES                                              k       one of the examples, a "lane"
    lanes       examples in the group, up to a multiple of 4       n       points of the largest, up to an even number
    D           (n (n + 2) / 4, 2 L)    squared distances, lower triangles, two rows at a time
    S           the same                factors of sharing; (0, 2 L) without it
    y           (n, L)                  targets, divided by the largest absolute value of the example, `scale` (L,)
    counts      (L,)                    points of each

A lane array holds one entry for each example side by side, so that one vector instruction serves several. Rows 2r and
2r + 1 of a triangle lie together: row r (r + 1) + b of the lane array holds the elements (2r, b) and then (2r + 1, b)
of all examples, b = 0 .. 2r + 1; element (2r, 2r + 1), above the diagonal, is not used. An example with fewer points
than n is padded by points at infinite distance from all others, with target 0: they correlate with nothing. Examples
are sorted by size before they are grouped, so that there is little padding.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fewsolves.methods.gp_surrogate.gp.blocks import Array, Blocks, in_tiles, position
from fewsolves.methods.gp_surrogate.gp.covariance import shared_factor
from fewsolves.methods.gp_surrogate.gp.lanes import LANES, compiled, inlined


class Group(NamedTuple):
    """Room for LANES examples."""

    D: Array
    S: Array
    y: Array
    counts: Array
    scale: Array


def even(n: int) -> int:
    """Rows that n points take."""
    return n + n % 2


def triangle_rows(n: int) -> int:
    """Rows of the lane array of triangles with n rows, n even."""
    return n * (n + 2) // 4


even_rows, packed_rows = inlined(even), inlined(triangle_rows)


@inlined
def empty_group(n: int, covariance: Any) -> Any:
    """Room for LANES examples of up to n points, n even."""
    shared = packed_rows(n) if covariance.landscapes.shape[1] else 0
    rows = np.zeros((packed_rows(n), 2 * LANES)), np.zeros((shared, 2 * LANES)), np.zeros((n, LANES))
    return Group(rows[0], rows[1], rows[2], np.zeros(LANES), np.zeros(LANES))


@compiled
def gather(blocks: Any, members: Any, covariance: Any, n: int, group: Any) -> Any:
    """Fill a group with up to LANES examples, sorted by size; the part of it that n rows take."""
    for k in range(LANES):
        group.counts[k] = blocks.size[members[k]] if k < members.size else 0
        group.scale[k] = largest_target(blocks, members[k : k + 1]) if k < members.size else 0.0
    size = packed_rows(n)
    part = Group(group.D[:size], group.S[:size], group.y[:n], group.counts, group.scale)
    part.D[:], part.S[:], part.y[:] = np.inf, 1.0, 0.0
    for a in range(n):
        part.D[entry_of(a, a), LANES * (a % 2) : LANES * (a % 2) + LANES] = 0.0
    for k in range(members.size):
        _gather_one(blocks, members[k], k, part)
        if part.S.size:
            _gather_sharing(blocks, members[k], k, covariance, part)
    return part


def entry(a: Any, b: Any) -> Any:
    """The row of a lane array that holds element (a, b) of the triangles; odd a have the second half of it."""
    return (a // 2) * (a // 2 + 1) + b


entry_of = inlined(entry)


@compiled
def largest_target(blocks: Any, examples: Any) -> float:
    """The largest absolute target; 0 if its square would underflow."""
    largest = 0.0
    for i in examples:
        for a in range(blocks.row[i], blocks.row[i] + blocks.size[i]):
            largest = max(largest, abs(blocks.targets[a]))
    return largest if largest > 1e-140 else 0.0


def _gather_in_numpy(blocks: Blocks, i: int, k: int, group: Group) -> None:
    n, first = blocks.size[i], blocks.row[i]
    a, b = np.tril_indices(n, -1)
    group.D[entry(a, b), LANES * (a % 2) + k] = blocks.distances[blocks.entry[i] + position(a, b)]
    if group.scale[k] > 0.0:
        group.y[:n, k] = blocks.targets[first : first + n] / group.scale[k]


@inlined(plain=_gather_in_numpy)
def _gather_one(blocks: Any, i: int, k: int, group: Any) -> None:
    """Distances and targets of example i into lane k."""
    start = blocks.entry[i]
    for a in range(blocks.size[i]):
        first, lane = entry_of(a, 0), LANES * (a % 2) + k
        for b in range(a):
            group.D[first + b, lane] = blocks.distances[start + in_tiles(a, b)]
        if group.scale[k] > 0.0:
            group.y[a, k] = blocks.targets[blocks.row[i] + a] / group.scale[k]


@inlined
def _gather_sharing(blocks: Any, i: int, k: int, covariance: Any, group: Any) -> None:
    row = blocks.row[i]
    for a in range(blocks.size[i]):
        for b in range(a + 1):
            factor = shared_factor(covariance, blocks.owners[row + a], blocks.owners[row + b])
            group.S[entry_of(a, b), LANES * (a % 2) + k] = factor


def _scatter_in_numpy(A: Array, blocks: Blocks, members: Array) -> None:
    for k, i in enumerate(members):
        a, b = np.tril_indices(blocks.size[i])
        blocks.factors[blocks.entry[i] + position(a, b)] = A[entry(a, b), LANES * (a % 2) + k]


@inlined(plain=_scatter_in_numpy)
def scatter(A: Any, blocks: Any, members: Any) -> None:
    """The triangles of a lane array into the tiles of `factors`, each to its example."""
    for k in range(members.size):
        start = blocks.entry[members[k]]
        for a in range(blocks.size[members[k]]):
            first, lane = entry_of(a, 0), LANES * (a % 2) + k
            for b in range(a + 1):
                blocks.factors[start + in_tiles(a, b)] = A[first + b, lane]
