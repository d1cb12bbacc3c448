"""Where points lie in memory, as examples get more of them."""

from itertools import pairwise

import numpy as np

from fewsolves.methods.gp_surrogate.gp import blocks as gp_blocks


def add(blocks, index, rng):
    """One point for each of the distinct examples."""
    blocks = gp_blocks.with_room(blocks, index, np.ones(index.size, dtype=np.int64))
    gp_blocks.append(blocks, index, rng.normal(size=(index.size, 3)), rng.normal(size=index.size), index)
    return blocks


def test_gp_blocks_what_examples_hold_does_not_depend_on_where_it_lies():
    rng, copies = np.random.default_rng(0), np.random.default_rng(0)
    blocks, held = gp_blocks.empty_blocks(20, 3), [[] for _ in range(20)]
    for step in range(40):
        index = np.flatnonzero(np.random.default_rng(step).random(20) < 0.4)
        blocks = add(blocks, index, rng)
        points, targets = copies.normal(size=(index.size, 3)), copies.normal(size=index.size)
        for b, i in enumerate(index):
            held[i].append((*points[b], targets[b]))
    for i, expected in enumerate(held):
        rows = slice(blocks.row[i], blocks.row[i] + blocks.size[i])
        assert np.array_equal(np.c_[blocks.points[rows, :3], blocks.targets[rows]], np.array(expected).reshape(-1, 4))
    places = sorted(zip(blocks.row, blocks.row + blocks.capacity, strict=True))
    assert all(end <= begin for (_, end), (begin, _) in pairwise(places)), "none overlap"
    assert blocks.end[0] == max(end for _, end in places)


def test_gp_blocks_a_few_that_grow_leave_the_others_where_they_are_at_no_price():
    rng = np.random.default_rng(0)
    blocks = add(gp_blocks.empty_blocks(1000, 3), np.arange(1000), rng)
    before, some = blocks.row.copy(), np.arange(5)
    for _ in range(4):
        grown = add(blocks, some, rng)
        assert grown is blocks, "no array was replaced"
    assert (blocks.row[some] >= 4000).all() and np.array_equal(blocks.row[5:], before[5:])
