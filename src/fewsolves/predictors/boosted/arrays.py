"""A tree as arrays: node k has the children 2k + 1, where the feature is below the threshold, and 2k + 2."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np

from fewsolves.problem import Array

DEPTH = 3
INNER, LEAVES = 2**DEPTH - 1, 2**DEPTH
Way = tuple[bool, ...]  # from the root to a node; False: to the left
Nodes = Mapping[Way, tuple[int, float] | float]  # feature and threshold, or the value of a leaf


class TreeArrays(NamedTuple):
    """Some trees, one for each output."""

    feature: Array  # (n_y, INNER)
    threshold: Array  # (n_y, INNER)
    leaf: Array  # (n_y, LEAVES)


def arrays_of(trees: Iterable[Nodes]) -> TreeArrays:
    """Arrays of trees given by their nodes; a branch that ends early is filled up with copies of its leaf."""
    return TreeArrays(*map(np.stack, zip(*map(_filled, trees), strict=True)))


def _filled(tree: Nodes) -> TreeArrays:
    feature, threshold = np.zeros(INNER, dtype=np.int64), np.zeros(INNER, dtype=np.float32)
    leaf = np.zeros(LEAVES)

    def fill(place: int, way: Way) -> None:
        node = tree[way]
        if isinstance(node, tuple):
            feature[place], threshold[place] = node
            for right in (False, True):
                fill(2 * place + 1 + right, (*way, right))
            return
        below = DEPTH - len(way)  # levels that are missing under this leaf
        first = (place + 1) * 2**below - 1 - INNER
        leaf[first : first + 2**below] = node

    fill(0, ())
    return TreeArrays(feature, threshold, leaf)
