"""One row of the ledger: one call, as plain columns under a checksum.

    position    (kind, phase, row, k) in a run: the k-th call of that kind for that row of the table in that phase
    key         16-byte digest of the question: the same in every run
    of          where the answer was already in the ledger: the row that has it, and then nothing was paid
    solve       of a cost call: the row of the solve whose decision was costed

Lengths are checked before anything is made of the bytes, and nothing is ever unpickled. The checksum finds accidents,
not attackers.

A column is added in three places: as the last field of `Call`, None by default, and in `columns_of`, which fills it; in
`migrate.MIGRATIONS`; and where it is read (for the export: in `reading.Evaluation`).
"""

from __future__ import annotations

import math
from hashlib import blake2b
from typing import Any, NamedTuple, get_args, get_type_hints

import numpy as np

from fewsolves.execution.base import KINDS, LONGEST_MESSAGE, PHASES, Failure, Status
from fewsolves.ledger.decision import PackedDecision, read_decision
from fewsolves.problem import Array

PAID, REUSED = "ok", "reused"  # status of an answer; a failure has its own
CALL_STATUSES = {PAID, REUSED, *get_args(Status)}


class Call(NamedTuple):
    """The columns; their types in the file follow from the annotations."""

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
    at: float | None = None  # when it was recorded, in seconds since 1970; since version 4

    @property
    def position(self) -> tuple[str, str, int, int]:
        return self.kind, self.phase, self.row, self.k


_N_SMALL = Call._fields.index("y_hat")
_FIRST_LATER = Call._fields.index("sigma") + 1  # columns that came after version 1
_COLUMN_KINDS = [get_args(hint) or (hint,) for hint in get_type_hints(Call).values()]


def checksum(call: Call) -> bytes:
    """Of all columns; lengths are in it, so that bytes cannot move from one column to the next.

    A column that came later goes in by name where it is not None: to add one leaves the checksums on file right.
    """
    blobs = [call.y_hat, call.decision, call.centre, call.sigma]
    lengths = ([len(b)] if isinstance(b, bytes) else b for b in blobs)
    small = (*call[:_N_SMALL], call.dtype, call.shape, call.decision_key, *lengths)
    parts = [repr(small).encode("utf-8", "replace"), *(b for b in blobs if isinstance(b, bytes))]
    for name, value in zip(Call._fields[_FIRST_LATER:], call[_FIRST_LATER:], strict=True):
        if value is not None:
            parts.append(repr((name, value)).encode("utf-8", "replace"))
    return blake2b(b"".join(parts), digest_size=8).digest()


def has_kinds(call: Call) -> bool:
    """Whether each column has a value of its kind; SQLite has columns of any kind, and checksums stop no attacker."""
    return all(type(value) in kinds for value, kinds in zip(call, _COLUMN_KINDS, strict=True))


def pack(values: Array) -> bytes:
    """Float64 numbers as bytes; -0.0 is 0.0."""
    return np.ascontiguousarray(values + 0.0, dtype="<f8").tobytes()


def unpack(content: Any, n: int | None = None) -> Array:
    """The float64 numbers, n of them; ValueError where they are not."""
    if not isinstance(content, bytes) or len(content) % 8 or (n is not None and len(content) != 8 * n):
        raise ValueError(f"expected {n} numbers")
    return np.frombuffer(content, dtype="<f8").astype(float)


def decision_of(call: Call) -> PackedDecision:
    """The decision of a solve; ValueError where the columns do not fit together."""
    return read_decision(call.decision_key, call.decision, call.dtype, call.shape)


def value_of(call: Call) -> PackedDecision | float | Failure:
    """The value that the call returned; ValueError if the row makes no sense."""
    if call.status not in CALL_STATUSES or call.kind not in KINDS or call.phase not in PHASES:
        raise ValueError(f"unknown status {call.status!r}, kind {call.kind!r} or phase {call.phase!r}")
    if call.status != PAID:
        return Failure(call.status, str(call.message or ""))  # type: ignore[arg-type]
    if call.kind == "solve":
        return decision_of(call)
    if not isinstance(call.value, float) or not math.isfinite(call.value):
        raise ValueError(f"a cost of {call.value!r}")
    return call.value


def is_evaluation(solve: Call, cost: Call) -> bool:
    """Whether the cost call is about the decision of that solve, for the row that it names."""
    return (
        (solve.kind, solve.status, cost.kind, cost.status) == ("solve", PAID, "cost", PAID)
        and solve.decision_key == cost.decision_key
        and (cost.solve == solve.seq or cost.row == solve.row)
    )


def short(message: str) -> str:
    """At most `LONGEST_MESSAGE` bytes of it, without what a terminal or a database could take for more than text."""
    plain = "".join(c if c.isprintable() or c in "\n\t" else "?" for c in message[:LONGEST_MESSAGE])
    return plain.encode("utf-8", "replace")[:LONGEST_MESSAGE].decode("utf-8", "ignore")


class PendingCall(NamedTuple):
    """One call that is about to be made, with its place in the run."""

    kind: str
    phase: str
    row: int
    k: int  # which call for this row in this phase
    key: bytes
    y_hat: Array | None = None  # of a solve
    drawn: tuple[Array, Array] | None = None  # of a solve: centre and sigma
    decision_key: bytes | None = None  # of a cost call
    solve: int | None = None  # of a cost call

    @property
    def position(self) -> tuple[str, str, int, int]:
        return self.kind, self.phase, self.row, self.k


class RecordedAnswer(NamedTuple):
    """The recorded answer of a pending call, from this ledger or from fits of other tables (`ledger.shared`)."""

    value: PackedDecision | float | Failure
    seconds: float
    seq: int | None  # of the row in the ledger
    own: bool  # paid by this run
    by_position: bool  # else by its content
    attempts: int = 1


def columns_of(pending: PendingCall, value: PackedDecision | float | Failure) -> dict[str, Any]:
    """The columns of a row that hold the question and its answer."""
    columns: dict[str, Any] = {"solve": pending.solve, "decision_key": pending.decision_key}
    if pending.y_hat is not None:
        columns["y_hat"] = pack(pending.y_hat)
    if pending.drawn is not None:
        columns["centre"], columns["sigma"] = map(pack, pending.drawn)
    if isinstance(value, Failure):
        return columns | {"status": value.status, "message": short(value.message)}
    if isinstance(value, PackedDecision):
        form = value.form
        return columns | {
            "dtype": form.dtype_text,
            "shape": form.shape_text,
            "decision_key": value.key,
            "decision": value.content,
        }
    return columns | {"value": float(value) + 0.0}  # + 0.0: SQLite has no -0.0
