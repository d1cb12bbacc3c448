import io
import random
import re
import threading

import numpy as np
import pytest

from fewsolves.ledger.identity.reads import Reach
from fewsolves.ledger.identity.state import digest_alone, state_of


class Plain:
    def __init__(self, limit):
        self.limit = limit


def same(one, other):
    return digest_alone(one, Reach()) == digest_alone(other, Reach())


@pytest.mark.parametrize(
    ("one", "equal", "other"),
    [
        (1, 1, 2),
        (1, 1, 1.0),
        ((10**5000,), (10**5000,), (10**5000 + 1,)),
        (np.float64(1), np.float64(1), np.float32(1)),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, {"a": 1, "b": 3}),
        ({1, 2}, {2, 1}, {1, 3}),
        (Plain(1), Plain(1), Plain(2)),
        (re.compile("a"), re.compile("a"), re.compile("b")),
        (range(3), range(3), range(4)),
        (io.StringIO("a"), io.StringIO("a"), io.StringIO("b")),
        (random.Random(1), random.Random(1), random.Random(2)),
        (np.random.default_rng(1), np.random.default_rng(1), np.random.default_rng(2)),
        (bytearray(b"a"), bytearray(b"a"), bytearray(b"b")),
    ],
)
def test_state_equal_values_have_equal_digests_and_others_do_not(one, equal, other):
    assert same(one, equal)
    assert not same(one, other)


def test_state_of_what_cannot_be_looked_into_is_none():
    assert state_of(threading.Lock(), Reach()) is None
    assert state_of((k for k in range(3)), Reach()) is None
    assert state_of(object(), Reach()) is not None, "it holds nothing"


def test_state_of_an_object_that_cannot_be_copied_is_not_whole():
    class Opaque:
        def __init__(self):
            self.limit = 1

        def __reduce_ex__(self, protocol):
            raise TypeError("cannot pickle")

    found = state_of(Opaque(), Reach())
    assert not found.whole
    assert (".limit", 1) in found.parts
