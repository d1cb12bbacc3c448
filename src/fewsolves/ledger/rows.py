"""One row of the ledger: one call that was asked for, as plain columns under a checksum.

    position    (run, kind, phase, row, k): the k-th request of that kind for that row of the table in that phase
    key         16-byte digest of what was asked: the same in every run
    of          where the answer was already in the ledger: the row that has it, and then nothing was paid
    solve       of a cost call: the row of the solve whose decision was costed

Decisions are dtype, shape and bytes, little endian. Lengths are checked before anything is made of them, and nothing is
ever unpickled. The checksum finds accidents, not attackers.

What the oracle asks of the ledger, and what the ledger answers.
"""

from __future__ import annotations

import json
import math
from hashlib import blake2b
from typing import Any, NamedTuple, get_args

import numpy as np

from fewsolves.execution.base import KINDS, PHASES, Failure, Status
from fewsolves.problem import Array

LONGEST_MESSAGE = 4096  # bytes
LARGEST_DECISION = 64 * 2**20  # bytes
PAID, KNOWN = "ok", "known"  # status of an answer; a failure has its own
STATUSES = {PAID, KNOWN, *get_args(Status)}


class Call(NamedTuple):
    """The columns, in their order in the file."""

    seq: int
    run: int
    kind: str
    phase: str
    row: int
    k: int
    key: bytes
    status: str
    attempt: int = 1
    seconds: float = 0.0
    value: float | None = None  # of a cost call
    solve: int | None = None
    of: int | None = None
    message: str | None = None
    y_hat: bytes | None = None  # of a solve
    dtype: str | None = None
    shape: str | None = None
    decision_key: bytes | None = None
    decision: bytes | None = None
    centre: bytes | None = None  # y_hat was drawn from N(centre, sigma^2), in the units of y
    sigma: bytes | None = None


BLOBS = ("y_hat", "decision", "centre", "sigma")
_N_SMALL = Call._fields.index("y_hat")


def checksum(call: Call) -> bytes:
    """Of all columns; lengths are in it, so that bytes cannot move from one column to the next."""
    blobs = [call.y_hat, call.decision, call.centre, call.sigma]
    lengths = ([len(b)] if isinstance(b, bytes) else b for b in blobs)
    small = (*call[:_N_SMALL], call.dtype, call.shape, call.decision_key, *lengths)
    parts = [repr(small).encode("utf-8", "replace"), *(b for b in blobs if isinstance(b, bytes))]
    return blake2b(b"".join(parts), digest_size=8).digest()


def pack(values: Array) -> bytes:
    """Float64 numbers as bytes; -0.0 is 0.0."""
    return np.ascontiguousarray(values + 0.0, dtype="<f8").tobytes()


def pack_decision(z: Array) -> dict[str, Any]:
    """The columns of a decision."""
    z = np.asarray(z)
    plain = np.ascontiguousarray(z, dtype=z.dtype.newbyteorder("<"))
    return {
        "dtype": plain.dtype.str,
        "shape": json.dumps(list(z.shape)),
        "decision": (content := plain.tobytes()),
        "decision_key": blake2b(content, digest_size=16, person=plain.dtype.str.encode()[:16]).digest(),
    }


def unpack(content: Any, n: int | None = None) -> Array:
    """The float64 numbers, n of them; ValueError where they are not."""
    if not isinstance(content, bytes) or len(content) % 8 or (n is not None and len(content) != 8 * n):
        raise ValueError(f"expected {n} numbers")
    return np.frombuffer(content, dtype="<f8").astype(float)


def unpack_decision(call: Call) -> Array:
    """The decision; ValueError where the columns do not fit together."""
    if not isinstance(call.decision, bytes) or len(call.decision) > LARGEST_DECISION:
        raise ValueError("a decision is missing or too large")
    try:
        dtype, shape = np.dtype(str(call.dtype)), json.loads(str(call.shape))
    except (TypeError, RecursionError) as error:
        raise ValueError(f"a decision of no known type or shape: {error}") from error
    whole = isinstance(shape, list) and len(shape) <= 32 and all(type(n) is int and n >= 0 for n in shape)
    if dtype.kind not in "biuf" or not whole or math.prod(shape) * dtype.itemsize != len(call.decision):
        raise ValueError(f"a decision of {len(call.decision)} bytes is not {shape} of {dtype}")
    return np.frombuffer(call.decision, dtype=dtype).reshape(shape).astype(dtype.newbyteorder("="))


def answer(call: Call) -> Array | float | Failure:
    """What the call gave; ValueError where the row makes no sense."""
    if call.status not in STATUSES or call.kind not in KINDS or call.phase not in PHASES:
        raise ValueError(f"unknown status {call.status!r}, kind {call.kind!r} or phase {call.phase!r}")
    if call.status != PAID:
        return Failure(call.status, str(call.message or ""))  # type: ignore[arg-type]
    if call.kind == "solve":
        return unpack_decision(call)
    if not isinstance(call.value, float) or not math.isfinite(call.value):
        raise ValueError(f"a cost of {call.value!r}")
    return call.value


def short(message: str) -> str:
    """At most `LONGEST_MESSAGE` bytes of it, without what a terminal or a database could take for more than text."""
    plain = "".join(c if c.isprintable() or c in "\n\t" else "?" for c in message[:LONGEST_MESSAGE])
    return plain.encode("utf-8", "replace")[:LONGEST_MESSAGE].decode("utf-8", "ignore")


class Request(NamedTuple):
    """One call that the oracle is about to make."""

    kind: str
    phase: str
    row: int
    k: int  # which request for this row in this phase
    key: bytes
    y_hat: Array | None  # of a solve
    decision: Array | None  # of a cost call
    solve: int | None = None
    drawn: tuple[Array, Array] | None = None  # centre and sigma

    @property
    def position(self) -> tuple[str, str, int, int]:
        return self.kind, self.phase, self.row, self.k


class Found(NamedTuple):
    """An answer from the ledger."""

    value: Any
    seconds: float
    seq: int
    own: bool  # paid by this run
    attempts: int = 1


def columns_of(request: Request, value: Any) -> dict[str, Any]:
    """The columns of a row that tell what was asked and what came of it."""
    columns: dict[str, Any] = {"solve": request.solve}
    if request.y_hat is not None:
        columns["y_hat"] = pack(request.y_hat)
    if request.drawn is not None:
        columns["centre"], columns["sigma"] = map(pack, request.drawn)
    if isinstance(value, Failure):
        return columns | {"status": value.status, "message": short(value.message)}
    if request.kind == "solve":
        return columns | pack_decision(value)
    decision_key = pack_decision(request.decision)["decision_key"] if request.decision is not None else None
    return columns | {"value": float(value) + 0.0, "decision_key": decision_key}  # + 0.0: SQLite has no -0.0
