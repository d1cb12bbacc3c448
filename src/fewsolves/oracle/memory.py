"""What has been paid for in this run: identical solves and cost calls are answered from here.

A key is a 16-byte digest, so that a long run with 512 parameters stays small.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import blake2b

import numpy as np

from fewsolves.problem import Array


def solve_key(y_hat: Array, row: int | None) -> bytes:
    """Key of one solve; `row` only where rows differ in their known data, else one solve serves every example."""
    return _digest(y_hat + 0.0, row)  # + 0.0 turns -0.0 into 0.0


def cost_key(z: Array, row: int) -> bytes:
    """Key of one cost call: the true parameters are those of `row`."""
    return _digest(z, row)


def _digest(values: Array, row: int | None) -> bytes:
    digest = blake2b(np.ascontiguousarray(values).tobytes(), digest_size=16)
    if row is not None:
        digest.update(row.to_bytes(8, "little"))
    return digest.digest()


def solve_keys(rows: Array, y_hat: Array, *, own: bool) -> list[bytes]:
    """Keys of some solves; `own` where rows differ in their known data."""
    return [solve_key(point, int(row) if own else None) for point, row in zip(y_hat, rows, strict=True)]


def cost_keys(rows: Array, decisions: Sequence[Array]) -> list[bytes]:
    """Keys of some cost calls."""
    return [cost_key(z, int(row)) for z, row in zip(decisions, rows, strict=True)]


def first_of_each(keys: Sequence[bytes], known: Mapping[bytes, object]) -> list[int]:
    """Positions at which a key occurs for the first time and has no answer yet."""
    first: dict[bytes, int] = {}
    for k, key in enumerate(keys):
        if key not in known:
            first.setdefault(key, k)
    return list(first.values())


class Memory:
    """Decisions by solve key, costs by cost key."""

    def __init__(self) -> None:
        self.decisions: dict[bytes, Array] = {}
        self.optima: dict[int, float] = {}  # by row, so that what is asked for at every step needs no digest
        self.costs: dict[bytes, float] = {}
