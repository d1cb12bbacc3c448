"""What has been paid for in this run: identical solves and cost calls are answered from here.

A key is a 16-byte digest, so that a long run with 512 parameters stays small.
"""

from __future__ import annotations

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


class Memory:
    """Decisions by solve key, costs by cost key."""

    def __init__(self) -> None:
        self.decisions: dict[bytes, Array] = {}
        self.costs: dict[bytes, float] = {}
