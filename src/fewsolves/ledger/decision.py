"""Decisions as bytes: content, dtype and shape, little endian, under a key that covers all three.

A decision that is no array of numbers is kept as text (`execution.encoding`), with "json" in place of a dtype.

A solver may return a buffer that it uses again, and a caller may write into what it is given: what is kept is bytes,
which cannot be changed, and every array made of them is new.
"""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from fewsolves.execution.base import MAX_DECISION_BYTES
from fewsolves.execution.encoding import Encoded, as_decision, decode
from fewsolves.execution.records import MAX_DIMENSIONS
from fewsolves.ledger.keys import decision_key
from fewsolves.problem import Array

JSON = "json"


class Form(NamedTuple):
    """What decisions of one kind share; one object for all of them."""

    dtype: np.dtype[Any]  # little endian
    native: np.dtype[Any]  # the same in the order of this machine
    shape: tuple[int, ...]
    dtype_text: str
    shape_text: str  # JSON

    @property
    def flat(self) -> bool:
        return len(self.shape) == 1


class PackedDecision(NamedTuple):
    """One decision, as it is kept in memory and in the ledger."""

    key: bytes
    content: bytes
    form: Form

    def value(self) -> Any:
        """The decision as the solver made it, in memory of its own."""
        return decode(self.content) if self.form.dtype_text == JSON else self.array()

    def argument(self) -> Array | Encoded:
        """The same as executions take it."""
        return Encoded(self.content) if self.form.dtype_text == JSON else self.array()

    def array(self) -> Array:
        """Of one that is an array, that."""
        array = np.frombuffer(self.content, dtype=self.form.dtype).reshape(self.form.shape)
        return array.astype(self.form.native)  # a copy


def pack_decision(z: Any) -> PackedDecision:
    """A copy of the decision, with its key."""
    z = z if isinstance(z, np.ndarray) else as_decision(z)
    if isinstance(z, Encoded):
        form = _text_form(len(z))
        return PackedDecision(decision_key(z, JSON, form.shape_text, flat=True), bytes(z), form)
    form = _form(z.dtype, z.shape)
    content = z.astype(form.dtype, copy=False).tobytes()
    return PackedDecision(decision_key(content, form.dtype_text, form.shape_text, flat=form.flat), content, form)


def read_decision(key: Any, content: Any, dtype: Any, shape: Any) -> PackedDecision:
    """A decision from its columns in a file; ValueError where they do not fit together."""
    if not isinstance(content, bytes) or len(content) > MAX_DECISION_BYTES or not isinstance(key, bytes):
        raise ValueError("a decision is missing or too large")
    form = _read_form(str(dtype), str(shape))
    if math.prod(form.shape) * form.dtype.itemsize != len(content):
        raise ValueError(f"a decision of {len(content)} bytes is not {shape} of {dtype}")
    if form.dtype_text == JSON:
        decode(content)
    return PackedDecision(key, content, form)


def pack_list(decisions: Sequence[Any]) -> dict[str, Any]:
    """Decisions as a few arrays: contents one after the other, the length of each, and the number of its form."""
    packed = [pack_decision(z) for z in decisions]
    forms = {form: k for k, form in enumerate(dict.fromkeys((z.form.dtype_text, z.form.shape_text) for z in packed))}
    return {
        "content": np.frombuffer(b"".join(z.content for z in packed), dtype=np.uint8),
        "lengths": np.array([len(z.content) for z in packed], dtype=np.int64),
        "numbers": np.array([forms[z.form.dtype_text, z.form.shape_text] for z in packed], dtype=np.int64),
        "forms": [list(form) for form in forms],
    }


def unpack_list(packed: Mapping[str, Any]) -> list[PackedDecision]:
    """What `pack_list` made its arrays of; ValueError where they do not fit together."""
    content, ends, found = packed["content"].tobytes(), np.cumsum(packed["lengths"]).tolist(), list[PackedDecision]()
    for first, last, number in zip([0, *ends], ends, packed["numbers"].tolist(), strict=False):
        z = read_decision(b"", content[first:last], *packed["forms"][number])
        key = decision_key(z.content, z.form.dtype_text, z.form.shape_text, flat=z.form.flat)
        found.append(z._replace(key=key))
    return found


@functools.lru_cache(maxsize=1024)
def _text_form(length: int) -> Form:
    return Form(np.dtype("u1"), np.dtype("u1"), (length,), JSON, json.dumps([length]))


@functools.lru_cache(maxsize=1024)
def _form(dtype: np.dtype[Any], shape: tuple[int, ...]) -> Form:
    stored = dtype.newbyteorder("<")
    return Form(stored, stored.newbyteorder("="), shape, stored.str, json.dumps(list(shape)))


@functools.lru_cache(maxsize=1024)
def _read_form(dtype_text: str, shape_text: str) -> Form:
    if dtype_text == JSON:
        return _text_form(int(shape_text.strip("[]")))
    try:
        dtype, shape = np.dtype(dtype_text), json.loads(shape_text)
    except (TypeError, SyntaxError, RecursionError) as error:
        raise ValueError(f"a decision of no known type or shape: {error}") from error
    whole = isinstance(shape, list) and len(shape) <= MAX_DIMENSIONS and all(type(n) is int and n >= 0 for n in shape)
    if dtype.kind not in "biuf" or dtype != dtype.newbyteorder("<") or not whole:
        raise ValueError(f"a decision is not {shape_text:.80} of {dtype_text:.80}")
    return _form(dtype, tuple(shape))
