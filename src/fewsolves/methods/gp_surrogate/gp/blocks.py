"""Ragged arrays: where the points, targets and factors of all examples lie in memory.

    M, d          examples, inputs           n_i    points of example i
    points        (rows, stride)             inputs, padded with zeros to a multiple of 4
    targets       (rows,)                    y
    weights       (rows,)                    alpha = (R + rho I)^-1 y
    owners        (rows,)                    the example that a point was evaluated for
    distances     (entries,)                 lower triangle of D, squared distances of the points of one example
    factors       (entries,)                 lower triangle of W = inverse of the Cholesky factor of R + rho I

Example i owns `capacity[i]` rows from `row[i]` on and the triangles from `entry[i]` on. Examples differ in size, so all
blocks lie one behind the other in common arrays; a block that is full moves to the end with 1.5 times the room.
A triangle is kept as 4 x 4 tiles, row of tiles after row of tiles, so that products take four rows at a time and no
loop meets a ragged end. Whatever is not in use is zero, and zeros add nothing to any sum. The folder's README has a
picture.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fewsolves.errors import InputError
from fewsolves.methods.gp_surrogate.gp.lanes import MULTIPLE, compiled, inlined

Array = NDArray[Any]
GROWTH = 1.5  # of a block that is full
SPARE = 2.0  # length of the common arrays, relative to what is in use
MAX_ABS = 1e150  # of inputs and targets: the square is still a float64


class Blocks(NamedTuple):
    """The arrays as compiled functions see them."""

    points: Array
    targets: Array
    weights: Array
    owners: Array
    distances: Array
    factors: Array
    row: Array
    entry: Array
    size: Array
    capacity: Array
    end: Array  # of the blocks in the common arrays: rows, entries


def position(a: Any, b: Any) -> Any:
    """The position of element (a, b), b <= a, in a triangle of 4 x 4 tiles."""
    return 16 * ((a >> 2) * ((a >> 2) + 1) // 2 + (b >> 2)) + 4 * (a & 3) + (b & 3)


in_tiles = inlined(position)


def triangle_size(capacity: Array) -> Array:
    tiles = capacity // MULTIPLE
    return np.asarray(8 * tiles * (tiles + 1))


def empty_blocks(n_examples: int, n_inputs: int) -> Blocks:
    stride = -(-n_inputs // MULTIPLE) * MULTIPLE
    starts = *(np.zeros(n_examples, dtype=np.int64) for _ in range(4)), np.zeros(2, dtype=np.int64)
    rows = (np.zeros(0), np.zeros(0), np.zeros(0, dtype=np.int64))
    return Blocks(np.zeros((0, stride)), *rows, np.zeros(0), np.zeros(0), *starts)


def packed_rows(blocks: Blocks, values: Array) -> Array:
    """The rows in use of `points`, `targets`, `weights` or `owners`, example after example."""
    packed = np.zeros((int(blocks.size.sum()), *values.shape[1:]), dtype=values.dtype)
    _copy(values, packed, blocks.row, _starts(blocks.size), blocks.size, np.arange(blocks.size.size))
    return packed


def packed_triangles(blocks: Blocks, values: Array) -> Array:
    """The tiles in use of `distances` or `factors`, example after example."""
    size = triangle_size(_whole_tiles(blocks.size))
    packed = np.zeros(int(size.sum()))
    _copy(values, packed, blocks.entry, _starts(size), size, np.arange(size.size))
    return packed


def restored_blocks(size: Array, points: Array, rows: dict[str, Array], factors: Array) -> Blocks:
    """Blocks from packed arrays (`rows`: targets, weights and owners); distances are left to be measured again."""
    n_entries = triangle_size(_whole_tiles(size))
    lengths = {name: len(values) for name, values in rows.items()} | {"points": len(points)}
    fits = size.min(initial=0) >= 0 and size.max(initial=0) <= len(points)  # else sums may wrap around
    if not fits or set(lengths.values()) != {size.sum()} or factors.shape != (n_entries.sum(),):
        raise InputError(f"the state does not fit together: {size.sum()} points, {lengths}, factors {factors.shape}")
    everyone = np.arange(size.size)
    blocks = with_room(empty_blocks(size.size, points.shape[1]), everyone, size)
    padded = np.zeros((len(points), blocks.points.shape[1]))
    padded[:, : points.shape[1]] = points
    for name, values in {"points": padded, **rows}.items():
        _copy(values, getattr(blocks, name), _starts(size), blocks.row, size, everyone)
    _copy(factors, blocks.factors, _starts(n_entries), blocks.entry, n_entries, everyone)
    blocks.size[:] = size
    return blocks


def with_room(blocks: Blocks, index: Array, n_new: Array) -> Blocks:
    """The blocks with room for `n_new` more points of the (distinct) examples `index`; others are not looked at."""
    needed = blocks.size[index] + n_new
    full = needed > blocks.capacity[index]
    if not full.any():
        return blocks
    index, needed = index[full], needed[full]
    capacity = _whole_tiles(np.maximum(needed, np.ceil(GROWTH * blocks.capacity[index]).astype(np.int64)))
    end = blocks.end + np.array([capacity.sum(), triangle_size(capacity).sum()])
    if end[0] > blocks.targets.size or end[1] > blocks.distances.size:
        grown = blocks.capacity.copy()
        grown[index] = capacity
        return _packed(blocks, grown)
    row, entry = blocks.row[index], blocks.entry[index]
    blocks.row[index] = blocks.end[0] + _starts(capacity)
    blocks.entry[index] = blocks.end[1] + _starts(triangle_size(capacity))
    blocks.capacity[index], blocks.end[:] = capacity, end
    _move(blocks, blocks, index, row, entry)
    return blocks


def keep(blocks: Blocks, index: Array, kept: Array) -> None:
    """Close the gaps that points leave which are not kept, and measure again; W knows no point of these examples."""
    end = 0
    for i in index:
        first, size = blocks.row[i], blocks.size[i]
        here = kept[end : end + size]
        end += size
        left = int(here.sum())
        for values in (blocks.points, blocks.targets, blocks.owners):
            block = values[first : first + size]
            block[:left], block[left:] = block[here], 0
        blocks.weights[first : first + size] = 0.0
        for values in (blocks.distances, blocks.factors):
            values[blocks.entry[i] : blocks.entry[i] + int(triangle_size(blocks.capacity[i]))] = 0.0
        blocks.size[i] = left
    measure(blocks, index)


@compiled
def append(blocks: Any, index: Any, points: Any, targets: Any, owners: Any) -> None:
    """Put one point after the other into blocks that have the room, with its distances; W does not know them yet."""
    distance = np.empty(longest_capacity(blocks, index))
    for b in range(index.size):
        i = index[b]
        new = blocks.row[i] + blocks.size[i]
        for k in range(points.shape[1]):
            blocks.points[new, k] = points[b, k]
        blocks.targets[new], blocks.owners[new] = targets[b], owners[b]
        _measure_point(blocks, i, blocks.size[i], distance)
        blocks.size[i] += 1


@compiled
def measure(blocks: Any, index: Any) -> None:
    """Squared distances of all points of some examples."""
    distance = np.empty(longest_capacity(blocks, index))
    for i in index:
        for a in range(blocks.size[i]):
            _measure_point(blocks, i, a, distance)


def _measure_in_numpy(blocks: Blocks, i: int, a: int, distance: Array) -> None:
    first, others = blocks.row[i], np.arange(a)
    _distances_in_numpy(blocks.points, first, a, blocks.points[first + a], distance)
    blocks.distances[blocks.entry[i] + position(a, others)] = distance[:a]


@inlined(plain=_measure_in_numpy)
def _measure_point(blocks: Any, i: int, a: int, distance: Any) -> None:
    """Squared distances of point a of example i to those before it."""
    squared_distances(blocks.points, blocks.row[i], a, blocks.points[blocks.row[i] + a], distance)
    for b in range(a):
        blocks.distances[blocks.entry[i] + in_tiles(a, b)] = distance[b]


def _distances_in_numpy(points: Array, first: int, n: int, x: Array, out: Array) -> None:
    out[:n] = ((points[first : first + n] - x) ** 2).sum(axis=1)


@inlined(plain=_distances_in_numpy, any_order=True)
def squared_distances(points: Any, first: int, n: int, x: Any, out: Any) -> None:
    """|x - x_a|^2 of `n` rows of `points` from `first` on."""
    for a in range(n):
        point = points[first + a]
        square = 0.0
        for k in range(x.size):
            step = point[k] - x[k]
            square += step * step
        out[a] = square


@inlined
def longest_capacity(blocks: Any, index: Any) -> Any:
    """Room of the largest of some examples: how long a vector of its points may get."""
    longest = 0
    for i in index:
        longest = max(longest, blocks.capacity[i])
    return longest


def _packed(blocks: Blocks, capacity: Array) -> Blocks:
    """All blocks without gaps in new arrays. Untouched pages of np.zeros cost no memory, so the arrays may be long."""
    n_rows, n_entries = int(SPARE * capacity.sum()), int(SPARE * triangle_size(capacity).sum())
    packed = Blocks(
        points=np.zeros((n_rows, blocks.points.shape[1])),
        targets=np.zeros(n_rows),
        weights=np.zeros(n_rows),
        owners=np.zeros(n_rows, dtype=np.int64),
        distances=np.zeros(n_entries),
        factors=np.zeros(n_entries),
        row=_starts(capacity),
        entry=_starts(triangle_size(capacity)),
        size=blocks.size,
        capacity=capacity,
        end=np.array([capacity.sum(), triangle_size(capacity).sum()]),
    )
    _move(blocks, packed, np.arange(capacity.size), blocks.row, blocks.entry)
    return packed


def _move(old: Blocks, new: Blocks, index: Array, row: Array, entry: Array) -> None:
    """The examples `index`, which begin at `row` and `entry` in the old arrays."""
    size, everyone = old.size[index], np.arange(index.size)
    for name in ("points", "targets", "weights", "owners"):
        _copy(getattr(old, name), getattr(new, name), row, new.row[index], size, everyone)
    size = triangle_size(_whole_tiles(size))
    for name in ("distances", "factors"):
        _copy(getattr(old, name), getattr(new, name), entry, new.entry[index], size, everyone)


def _copy(old: Array, new: Array, old_start: Array, new_start: Array, size: Array, index: Array) -> None:
    """The rows of examples `index` from one array into another, both of any 8-byte type."""
    width = math.prod(new.shape[1:])
    _copy_numbers(old.reshape(-1).view(float), new.reshape(-1).view(float), old_start, new_start, size, index, width)


def _copy_in_numpy(
    old: Array, new: Array, old_start: Array, new_start: Array, size: Array, index: Array, width: int
) -> None:
    for i in index:
        n = size[i] * width
        new[new_start[i] * width :][:n] = old[old_start[i] * width :][:n]


@compiled(plain=_copy_in_numpy)
def _copy_numbers(
    old: Array, new: Array, old_start: Array, new_start: Array, size: Array, index: Array, width: int
) -> None:
    for i in index:
        for k in range(size[i] * width):
            new[new_start[i] * width + k] = old[old_start[i] * width + k]


def _whole_tiles(count: Array) -> Array:
    return np.asarray(-(-count // MULTIPLE) * MULTIPLE)


def _starts(sizes: Array) -> Array:
    return np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)
