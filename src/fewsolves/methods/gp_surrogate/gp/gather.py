"""Groups of four examples side by side: the arrays that fit and factorisation work on.

    n           points of the largest of the four                      k       one of the four, a "lane"
    D           (n (n + 1) / 2, 4)    squared distances, lower triangles row by row
    S           the same              factors of sharing; empty without it
    y           (n, 4)                targets, divided by the largest absolute value of the example, `scale` (4,)
    counts      (4,)                  points of each

A lane array holds one entry for each of four examples side by side, so that one vector instruction serves all four. An
example with fewer points than its neighbours is padded by points at infinite distance from all others, with target 0:
they correlate with nothing. Examples are sorted by size before they are grouped, so that there is little padding.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fewsolves.methods.gp_surrogate.gp.blocks import Array, in_tiles
from fewsolves.methods.gp_surrogate.gp.covariance import shared_factor
from fewsolves.methods.gp_surrogate.gp.lanes import WIDTH, compiled, inlined, load, store, store_transposed


class Group(NamedTuple):
    """Four examples, or fewer at the end of the list."""

    D: Array
    S: Array
    y: Array
    counts: Array
    scale: Array


@inlined
def packed_size(n: int) -> int:
    """Numbers in a lane array of triangles; `gather` writes up to three lanes beyond the last."""
    return WIDTH * (n * (n + 1) // 2 + 3)


@inlined
def empty_group(n: int, covariance: Any) -> Any:
    """Room for four examples of up to n points."""
    shared = packed_size(n) if covariance.landscapes.shape[1] else 0
    return Group(np.empty(packed_size(n)), np.empty(shared), np.empty(WIDTH * n), np.empty(WIDTH), np.empty(WIDTH))


@compiled
def gather(blocks: Any, members: Any, covariance: Any, n: int, group: Any) -> None:
    """Fill a group with up to four examples, the largest last."""
    for k in range(WIDTH):
        group.counts[k] = blocks.size[members[k]] if k < members.size else 0
        group.scale[k] = largest_target(blocks, members[k : k + 1]) if k < members.size else 0.0
    _gather_targets(blocks, members, n, group)
    _gather_distances(blocks, members, n, group)
    if group.S.size:
        _gather_sharing(blocks, members, covariance, n, group)


@compiled
def largest_target(blocks: Any, examples: Any) -> float:
    """In absolute value; 0 if its square would be."""
    largest = 0.0
    for i in examples:
        for a in range(blocks.row[i], blocks.row[i] + blocks.size[i]):
            largest = max(largest, abs(blocks.targets[a]))
    return largest if largest > 1e-140 else 0.0


@inlined
def _gather_targets(blocks: Any, members: Any, n: int, group: Any) -> None:
    for at in range(WIDTH * n):
        group.y[at] = 0.0
    for k in range(members.size):
        if group.scale[k] > 0.0:
            for a in range(blocks.size[members[k]]):
                group.y[WIDTH * a + k] = blocks.targets[blocks.row[members[k]] + a] / group.scale[k]


@inlined
def _gather_distances(blocks: Any, members: Any, n: int, group: Any) -> None:
    largest, counts = blocks.entry[members[-1]], group.counts
    for a in range(n):
        # what an example does not have is read from the largest, and replaced below
        s0 = blocks.entry[members[0]] if a < counts[0] else largest
        s1 = blocks.entry[members[1]] if a < counts[1] else largest
        s2 = blocks.entry[members[2]] if a < counts[2] else largest
        s3 = blocks.entry[members[3]] if a < counts[3] else largest
        at = WIDTH * (a * (a + 1) // 2)
        for b in range(0, a + 1, WIDTH):
            tile = in_tiles(a, b)
            d0, d1 = load(blocks.distances, s0 + tile), load(blocks.distances, s1 + tile)
            d2, d3 = load(blocks.distances, s2 + tile), load(blocks.distances, s3 + tile)
            store_transposed(group.D, at + WIDTH * b, d0, d1, d2, d3)
    for k in range(WIDTH):
        for a in range(int(counts[k]), n):
            first = WIDTH * (a * (a + 1) // 2) + k
            for at in range(first, first + WIDTH * a, WIDTH):
                group.D[at] = np.inf
            group.D[first + WIDTH * a] = 0.0


@inlined
def _gather_sharing(blocks: Any, members: Any, covariance: Any, n: int, group: Any) -> None:
    for k in range(WIDTH):
        row = blocks.row[members[min(k, members.size - 1)]]
        at = k
        for a in range(n):
            for b in range(a + 1):
                group.S[at] = 1.0
                if a < group.counts[k]:
                    group.S[at] = shared_factor(covariance, blocks.owners[row + a], blocks.owners[row + b])
                at += WIDTH


@inlined
def scatter(A: Any, blocks: Any, members: Any) -> None:
    """The triangles of a lane array back into the tiles of `factors`, each to its example."""
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
