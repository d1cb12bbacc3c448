"""Keys of calls: 16-byte digests of the question, the same in every run and in every process.

    solve key       the prediction, and the row where rows differ in their known data
    decision key    dtype, shape and content of a decision
    cost key        decision key and row; of a noisy cost also the number of the draw, where draws are numbered

The rows of a ledger are written with these keys: a change here needs a migration.
"""

from __future__ import annotations

from hashlib import blake2b

import numpy as np

from fewsolves.problem import Array

SIZE = 16  # bytes


def solve_keys(rows: Array, y_hat: Array, *, own: bool) -> list[bytes]:
    """Keys of solves at y_hat (B, n_y); `own` where rows differ in their known data, else one solve serves them all."""
    points = np.ascontiguousarray(y_hat + 0.0, dtype="<f8")  # + 0.0 turns -0.0 into 0.0
    content, size = points.tobytes(), 8 * points.shape[1]
    parts = [content[first : first + size] for first in range(0, len(content), size)]
    if own:
        parts = [part + row.to_bytes(8, "little") for part, row in zip(parts, rows.tolist(), strict=True)]
    return [_digest(part) for part in parts]


def decision_key(content: bytes, dtype: str, shape: str, *, flat: bool) -> bytes:
    """Key of a decision; the shape of a flat one follows from its length."""
    key = blake2b(content, digest_size=SIZE, person=dtype.encode()[:SIZE]).digest()
    return key if flat else shaped_key(key, shape)


def shaped_key(flat_key: bytes, shape: str) -> bytes:
    """Key of the decision with the same content in another shape."""
    return blake2b(shape.encode(), digest_size=SIZE, key=flat_key).digest()


def cost_key(decision_key: bytes, row: int, draw: int | None = None) -> bytes:
    """Key of a cost call: the true parameters are those of the row; `draw` numbers the draws of a noisy cost."""
    numbered = b"" if draw is None else draw.to_bytes(8, "little")
    return _digest(decision_key + row.to_bytes(8, "little") + numbered)


def _digest(content: bytes) -> bytes:
    return blake2b(content, digest_size=SIZE).digest()
