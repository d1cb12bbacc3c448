"""Wire format of a worker process: its answers are fixed binary records, never pickle, every length bounded.

    magic   4s   marks a record                      status   B    place in `RECORD_STATUSES`
    kind    c    numpy kind of the value, J: text    item     B    its bytes per element
    ndim    B    dimensions of the value             number   Q    of the row, as the trainer sent it
    seconds d    inside the user's function          message, body   I, Q    their lengths in bytes

then the shape (ndim times Q), the message (UTF-8) and the value's bytes. A worker that crashes or misbehaves can thus
end in an error of its own, not in code that runs in the trainer. No two rows are ever sent with one number, and what
does not carry the number of the row in work is no answer to it.
"""

from __future__ import annotations

import math
import struct
from typing import Any, NamedTuple, get_args

import numpy as np

from fewsolves.execution.base import LONGEST_MESSAGE, MAX_DECISION_BYTES, Failure, Status
from fewsolves.execution.encoding import Encoded, decode
from fewsolves.problem import Array

RECORD_STATUSES: tuple[str, ...] = ("answer", "ready", "unusable", "forked", "leaving", *get_args(Status))
"""answer: has a value · ready: the problem is loaded, the message names its functions with a batched form ·
unusable: it could not be loaded · forked: a process that the function started returned from it too, and was ended ·
leaving: the worker ends, by no fault of a row."""

HEADER = struct.Struct("<4sBcBBQdIQ")
MAGIC = b"fws2"
MAX_DIMENSIONS = 32
TEXT = b"J"  # the kind of a decision that is no array


class Record(NamedTuple):
    """One record; `value` is a decision, a cost (of one element), or None."""

    status: str
    number: int
    seconds: float
    message: str
    value: Array | Encoded | None


class Garbled(Exception):  # noqa: N818 (it never leaves the oracle)
    """The bytes are no record."""


def pack(status: str, number: int = 0, seconds: float = 0.0, message: str = "", value: Any = None) -> bytes:
    """The bytes of one record."""
    words = message.encode("utf-8", "replace")[:LONGEST_MESSAGE]
    if value is None:
        return HEADER.pack(MAGIC, RECORD_STATUSES.index(status), b"-", 0, 0, number, seconds, len(words), 0) + words
    text = isinstance(value, Encoded)
    array = np.frombuffer(value, dtype="u1") if text else np.asarray(value)
    body = array.tobytes()
    described = TEXT if text else array.dtype.kind.encode(), array.dtype.itemsize, array.ndim
    head = HEADER.pack(MAGIC, RECORD_STATUSES.index(status), *described, number, seconds, len(words), len(body))
    return b"".join((head, struct.pack(f"<{array.ndim}Q", *array.shape), words, body))


def pack_answer(number: int, row: int, seconds: float, value: Array | Encoded | float | Failure) -> bytes:
    """The bytes that answer one row."""
    if isinstance(value, Failure):
        return pack(value.status, number, seconds, value.message)
    size = len(value) if isinstance(value, Encoded) else getattr(value, "nbytes", 0)
    if size > MAX_DECISION_BYTES:
        too_large = f"the decision at row {row} has {size:,} bytes; at most {MAX_DECISION_BYTES:,} can be taken"
        return pack("bad-return", number, seconds, too_large)
    return pack("answer", number, seconds, value=value)


def unpack(buffer: bytearray) -> list[Record]:
    """The complete records at the start of `buffer`, which are taken off it; raises where it begins with no record."""
    records: list[Record] = []
    at = 0
    try:
        while (found := _first(buffer, at)) is not None:
            records.append(found[0])
            at = found[1]
    except Garbled:
        if not records:
            raise
    del buffer[:at]
    return records


def _first(buffer: bytearray, at: int) -> tuple[Record, int] | None:
    """The record that begins at `at` and where it ends; None where it has not arrived yet."""
    if len(buffer) - at < HEADER.size:
        return None
    magic, status, kind, item, ndim, number, seconds, n_words, n_body = HEADER.unpack_from(buffer, at)
    if magic != MAGIC or status >= len(RECORD_STATUSES) or ndim > MAX_DIMENSIONS:
        raise Garbled
    if n_words > LONGEST_MESSAGE or n_body > MAX_DECISION_BYTES or not math.isfinite(seconds):
        raise Garbled
    words_at = at + HEADER.size + 8 * ndim
    end = words_at + n_words + n_body
    if len(buffer) < end:
        return None
    shape = struct.unpack_from(f"<{ndim}Q", buffer, at + HEADER.size)
    message = buffer[words_at : words_at + n_words].decode("utf-8", "replace")
    body = bytes(buffer[words_at + n_words : end])
    value = None if kind == b"-" else _text(body) if kind == TEXT else _array(kind, item, shape, body)
    return Record(RECORD_STATUSES[status], number, seconds, message, value), end


def _text(body: bytes) -> Encoded:
    try:
        decode(body)  # reject text that could not be decoded later
    except ValueError:
        raise Garbled from None
    return Encoded(body)


def _array(kind: bytes, item: int, shape: tuple[int, ...], body: bytes) -> Array:
    if kind not in b"biuf" or math.prod(shape) * item != len(body):
        raise Garbled
    try:
        dtype = np.dtype(f"{kind.decode()}{item}")
        return np.frombuffer(body, dtype=dtype).reshape(shape).copy()
    except (TypeError, ValueError):
        raise Garbled from None
