"""Keys of calls: a 16-byte digest of what is asked, the same in every run and in every process."""

from __future__ import annotations

from collections.abc import Sequence
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
