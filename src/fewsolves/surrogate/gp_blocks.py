"""Where the points, targets and factors of all examples lie in memory.

    M, d          examples, inputs           n_i    points of example i
    points        (rows, stride)             inputs, padded with zeros to a multiple of 4
    targets       (rows,)                    y
    weights       (rows,)                    alpha = (R + rho I)^-1 y
    owners        (rows,)                    the example that a point was evaluated for
    distances     (entries,)                 lower triangle of D, squared distances of the points of one example
    factors       (entries,)                 lower triangle of W = inverse of the Cholesky factor of R + rho I

Example i owns `capacity[i]` rows from `row[i]` on and the triangles from `entry[i]` on. Examples differ in size, so all
blocks lie one behind the other in common arrays; a block that is full moves to the end with 1.5 times the room.
A triangle is kept as 4 x 4 tiles, row of tiles after row of tiles, so that kernels never meet a ragged end. Whatever
is not in use is zero, and zeros add nothing to any sum.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fewsolves.surrogate.gp_lanes import WIDTH, inlined, kernel

Array = NDArray[Any]
GROWTH = 1.5


class Blocks(NamedTuple):
    """The arrays as the kernels see them."""

    points: Array
    targets: Array
    weights: Array
    owners: Array
    distances: Array
    factors: Array
    row: Array
    entry: Array
    count: Array
    capacity: Array


@inlined
def in_tiles(a: int, b: int) -> int:
    """Position of element (a, b), b <= a, in a triangle of 4 x 4 tiles."""
    return 16 * ((a >> 2) * ((a >> 2) + 1) // 2 + (b >> 2)) + 4 * (a & 3) + (b & 3)


def triangle_size(capacity: Array) -> Array:
    tiles = capacity // WIDTH
    return np.asarray(8 * tiles * (tiles + 1))


def empty_blocks(n_examples: int, n_inputs: int) -> Blocks:
    stride = -(-n_inputs // WIDTH) * WIDTH
    starts = (np.zeros(n_examples, dtype=np.int64) for _ in range(4))
    rows = (np.zeros(0), np.zeros(0), np.zeros(0, dtype=np.int64))
    return Blocks(np.zeros((0, stride)), *rows, np.zeros(0), np.zeros(0), *starts)


def with_room(blocks: Blocks, index: Array, n_new: Array) -> Blocks:
    """The same blocks, with room for `n_new` more points of the (distinct) examples `index`."""
    needed = blocks.count[index] + n_new
    full = needed > blocks.capacity[index]
    if not full.any():
        return blocks
    index, needed = index[full], needed[full]
    capacity = blocks.capacity.copy()
    wanted = np.maximum(needed, np.ceil(GROWTH * capacity[index]).astype(np.int64))
    capacity[index] = -(-wanted // WIDTH) * WIDTH
    rows_used, entries_used = _end(blocks.row, blocks.capacity), _end(blocks.entry, triangle_size(blocks.capacity))
    row, entry = blocks.row.copy(), blocks.entry.copy()
    row[index] = rows_used + _starts(capacity[index])
    entry[index] = entries_used + _starts(triangle_size(capacity[index]))
    fits = (
        _end(row, capacity) <= blocks.targets.size and _end(entry, triangle_size(capacity)) <= blocks.distances.size
    )
    if fits:
        moved = blocks._replace(row=row, entry=entry, capacity=capacity)
        _move(blocks, moved, index)
        return moved
    return _packed(blocks, capacity)


def _packed(blocks: Blocks, capacity: Array) -> Blocks:
    """All blocks without gaps in new arrays. Untouched pages of np.zeros cost no memory, so the arrays may be long."""
    row, entry = _starts(capacity), _starts(triangle_size(capacity))
    n_rows = int(GROWTH * capacity.sum())
    n_entries = int(GROWTH * triangle_size(capacity).sum())
    everyone = np.arange(capacity.size)
    moved = blocks._replace(row=row, entry=entry, capacity=capacity)
    for name in ("points", "targets", "weights", "owners", "distances", "factors"):  # one by one: one copy at a time
        old = getattr(blocks, name)
        length = n_entries if name in ("distances", "factors") else n_rows
        new = np.zeros((length, *old.shape[1:]), dtype=old.dtype)
        if name in ("distances", "factors"):
            _copy(old, new, blocks.entry, entry, triangle_size(_whole_tiles(blocks.count)), everyone)
        else:
            _copy(old, new, blocks.row, row, blocks.count, everyone)
        moved = moved._replace(**{name: new})
        blocks = blocks._replace(**{name: new})
    return moved


def _move(old: Blocks, new: Blocks, index: Array) -> None:
    for name in ("points", "targets", "weights", "owners"):
        _copy(getattr(old, name), getattr(new, name), old.row, new.row, old.count, index)
    for name in ("distances", "factors"):
        size = triangle_size(_whole_tiles(old.count))
        _copy(getattr(old, name), getattr(new, name), old.entry, new.entry, size, index)


@kernel
def _copy(old: Array, new: Array, old_start: Array, new_start: Array, size: Array, index: Array) -> None:
    for i in index:
        for k in range(size[i]):
            new[new_start[i] + k] = old[old_start[i] + k]


def _whole_tiles(count: Array) -> Array:
    return np.asarray(-(-count // WIDTH) * WIDTH)


def _starts(sizes: Array) -> Array:
    return np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)


def _end(start: Array, size: Array) -> int:
    return int((start + size).max(initial=0))
