import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from fewsolves.execution.base import LONGEST_MESSAGE, Failure
from fewsolves.execution.records import HEADER, MAGIC, MAX_DECISION_BYTES, Garbled, pack, pack_answer, unpack

pytestmark = pytest.mark.portable

VALUES = arrays(st.sampled_from(["f8", "f4", "i8", "u1", "bool"]), array_shapes(min_dims=0, max_dims=3, min_side=0))


@given(st.lists(st.tuples(st.integers(0, 2**64 - 1), st.floats(0, 1e6), VALUES), max_size=5), st.data())
def test_records_survive_any_way_of_arriving(sent, data):
    stream = b"".join(pack_answer(number, 0, seconds, value) for number, seconds, value in sent)
    buffer, got = bytearray(), []
    while stream:
        n = data.draw(st.integers(1, len(stream)))
        buffer += stream[:n]
        stream = stream[n:]
        got += unpack(buffer)
    assert buffer == b""
    assert len(got) == len(sent)
    for record, (number, seconds, value) in zip(got, sent, strict=True):
        assert (record.status, record.number, record.seconds) == ("answer", number, seconds)
        assert (record.value.dtype, record.value.shape) == (value.dtype, value.shape)
        assert record.value.tobytes() == value.tobytes()


def test_records_a_failure_keeps_its_words_within_bounds():
    words = "ü" * LONGEST_MESSAGE
    (record,) = unpack(bytearray(pack_answer(3, 0, 0.5, Failure("timeout", words))))
    assert record.status == "timeout"
    assert record.value is None
    assert words.startswith(record.message.rstrip("\ufffd"))
    assert len(record.message.encode()) <= LONGEST_MESSAGE + 3


@given(st.binary(min_size=HEADER.size, max_size=200))
def test_records_noise_is_no_record(noise):
    if noise[:4] != MAGIC:
        with pytest.raises(Garbled):
            unpack(bytearray(noise))


@given(st.integers(0, HEADER.size + 15), st.integers(1, 255))
def test_records_a_flipped_byte_in_the_head_is_noticed_or_harmless(at, flip):
    good = bytearray(pack_answer(0, 0, 0.0, np.array([[1.0, 2.0]])))
    good[at] ^= flip
    try:
        for record in unpack(good):  # nothing but numbers of the size that was sent
            assert record.value is None or record.value.nbytes == 16
    except Garbled:
        pass


@pytest.mark.parametrize(
    "lengths", [{"n_body": MAX_DECISION_BYTES + 1}, {"n_words": LONGEST_MESSAGE + 1}, {"ndim": 33}, {"n_body": 2**63}]
)
def test_records_lengths_are_checked_before_anything_is_awaited(lengths):
    given = {"ndim": 0, "n_words": 0, "n_body": 0} | lengths
    head = HEADER.pack(MAGIC, 0, b"f", 8, given["ndim"], 0, 0.0, given["n_words"], given["n_body"])
    with pytest.raises(Garbled):
        unpack(bytearray(head))


def test_records_a_shape_that_does_not_fit_its_bytes_is_no_record():
    head = HEADER.pack(MAGIC, 0, b"f", 8, 1, 0, 0.0, 0, 8)
    for shape in (2, 2**61):
        with pytest.raises(Garbled):
            unpack(bytearray(head + struct.pack("<Q", shape) + b"\0" * 8))


def test_records_what_came_before_garbage_is_taken_first():
    buffer = bytearray(pack("ready", message="solve") + b"x" * 100)
    assert [record.message for record in unpack(buffer)] == ["solve"]
    with pytest.raises(Garbled):
        unpack(buffer)
