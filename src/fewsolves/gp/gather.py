"""Four examples side by side: the lane arrays that the fit works on.

    D     (n (n + 1) / 2, 4)    squared distances, lower triangles row by row          y    (n, 4)    targets
    S     the same              factors of sharing, empty without it                   n    points of the largest

An example with fewer points is padded by points at infinite distance from all others, with target 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fewsolves.gp.blocks import in_tiles
from fewsolves.gp.covariance import shared_factor
from fewsolves.gp.lanes import WIDTH, inlined, kernel, load, store_transposed


@kernel
def largest_target(blocks: Any, examples: Any) -> float:
    """In absolute value; 0 if its square would be."""
    largest = 0.0
    for i in examples:
        for a in range(blocks.row[i], blocks.row[i] + blocks.size[i]):
            largest = max(largest, abs(blocks.targets[a]))
    return largest if largest > 1e-140 else 0.0


@inlined
def packed_size(n: int) -> int:
    """Numbers in a lane array of triangles; `gather` writes up to three lanes beyond the last."""
    return WIDTH * (n * (n + 1) // 2 + 3)


@kernel
def gather(blocks: Any, members: Any, sharing: Any, n: int, D: Any, S: Any, y: Any, counts: Any, scale: Any) -> None:
    """Lane arrays of up to four examples, the largest last; y is divided by its largest absolute value `scale`."""
    largest = blocks.entry[members[-1]]
    for at in range(WIDTH * n):
        y[at] = 0.0
    for k in range(WIDTH):
        counts[k] = blocks.size[members[k]] if k < members.size else 0
        scale[k] = largest_target(blocks, members[k : k + 1]) if k < members.size else 0.0
        if scale[k] > 0.0:
            for a in range(blocks.size[members[k]]):
                y[WIDTH * a + k] = blocks.targets[blocks.row[members[k]] + a] / scale[k]
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
            store_transposed(D, at + WIDTH * b, d0, d1, d2, d3)
    for k in range(WIDTH):
        count = int(counts[k])
        for a in range(count, n):
            first = WIDTH * (a * (a + 1) // 2) + k
            for at in range(first, first + WIDTH * a, WIDTH):
                D[at] = np.inf
            D[first + WIDTH * a] = 0.0
        if S.size:
            row = blocks.row[members[min(k, members.size - 1)]]
            at = k
            for a in range(n):
                for b in range(a + 1):
                    S[at] = 1.0
                    if a < count:
                        S[at] = shared_factor(sharing, blocks.owners[row + a], blocks.owners[row + b])
                    at += WIDTH
