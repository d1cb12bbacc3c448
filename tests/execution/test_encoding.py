import collections
import sys
import types
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fewsolves.execution.encoding import Encoded, as_decision, decode, encode

pytestmark = pytest.mark.portable


class Route(NamedTuple):
    stops: list[int]
    length: float


SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
KEYS = st.text() | st.integers() | st.tuples(st.integers(), st.text())
VALUES = st.recursive(
    SCALARS,
    lambda part: (
        st.lists(part) | st.tuples(part, part) | st.dictionaries(KEYS, part) | st.builds(Route, st.just([1]), part)
    ),
    max_leaves=12,
)


def same(one, other):
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return list(one) == list(other) and all(same(one[name], other[name]) for name in one)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    return one == other


@given(VALUES)
def test_encoding_what_comes_back_is_what_went_in_types_included(value):
    assert same(decode(encode(value)), value)


@pytest.mark.parametrize(
    "value",
    [
        np.arange(6).reshape(2, 3).T,
        np.array([1.5, np.nan], dtype="f4"),
        np.array(["a", "long"]),
        np.array(["2026-01-01"], dtype="M8[D]"),
        np.array([[1, "a"], [None, (2, 3)]], dtype=object),
        np.zeros((0, 3), dtype=">i2"),
    ],
    ids=lambda value: str(value.dtype),
)
def test_encoding_arrays_inside_of_other_things(value):
    (found,) = decode(encode([value]))
    assert found.shape == value.shape
    assert found.dtype == value.dtype.newbyteorder("=")
    assert np.array_equal(found, value, equal_nan=value.dtype.kind == "f")


def test_encoding_numbers_of_numpy_and_sets():
    value = {"a": np.float32(1.5), "b": np.True_, "c": {3, 1, 2}, "d": frozenset("ab")}
    found = decode(encode(value))
    assert found == value
    assert [type(one) for one in found.values()] == [type(one) for one in value.values()]
    assert encode({3, 1, 2}) == encode({2, 3, 1})


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"machine": ["a", "b"], "start": [0.5, np.nan], "on": [True, False]}),
        pd.DataFrame({0: [1, 2]}, index=pd.to_datetime(["2026-01-01", "2026-01-02"])),
        pd.DataFrame({"n": pd.array([1, None], dtype="Int64"), "s": pd.array(["x", None], dtype="string")}),
        pd.DataFrame(index=[3, 4]),
    ],
    ids=["plain", "dates", "extension", "empty"],
)
def test_encoding_data_frames(frame):
    pd.testing.assert_frame_equal(
        decode(encode(frame)), frame, check_freq=False, check_column_type=False, check_index_type=False
    )


def test_encoding_a_series():
    series = pd.Series([1, 2], index=["x", "y"], name="units")
    pd.testing.assert_series_equal(decode(encode({"z": series}))["z"], series)


def test_encoding_a_named_tuple_of_a_module_that_is_not_loaded_has_the_same_names():
    made = types.ModuleType("a_module_of_theirs")
    made.Trip = collections.namedtuple("Trip", "stops cost", module=made.__name__)
    sys.modules[made.__name__] = made
    try:
        text = encode(made.Trip([1, 2], 3.0))
        assert type(decode(text)) is made.Trip
    finally:
        del sys.modules[made.__name__]
    found = decode(text)
    assert (found.stops, found.cost) == ([1, 2], 3.0)
    assert found == made.Trip([1, 2], 3.0)


@pytest.mark.parametrize("value", [3.0, 2, True, [1, 2.0], (1, 2), [], np.zeros((2, 2)), np.float32(1)])
def test_encoding_numbers_stay_arrays(value):
    found = as_decision(value)
    assert isinstance(found, np.ndarray)
    assert np.array_equal(found, np.array(value))


@pytest.mark.parametrize("value", ["a", {"x": 1}, [[1, 2], [3, 4]], [[1], [2, 3]], Route([1], 2.0), [("a", 1)], {1, 2}])
def test_encoding_everything_else_is_text_whatever_its_lengths(value):
    found = as_decision(value)
    assert isinstance(found, Encoded)
    assert decode(found) == value


@pytest.mark.parametrize(
    "value",
    [
        object(),
        {"a": object()},
        [1j],
        1j,
        float("nan"),
        10**400,
        np.array([object()]),
        pd.Series(["a"], dtype="category"),
    ],
)
def test_encoding_what_cannot_be_kept_is_refused(value):
    with pytest.raises((TypeError, ValueError)):
        as_decision(value)


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{",
        b"\xff",
        b'{"!":"os.system"}',
        b'{"!":"array","dtype":"O","shape":[1],"data":""}',
        b'{"!":"array","dtype":"<f8","shape":[9],"data":"AAAA"}',
        b'{"!":"array","dtype":"<f8","shape":[-1,0],"data":""}',
        b'{"!":"named","module":"os","name":"system","fields":["a b"],"items":[1]}',
        b'{"!":"set","items":[[1]]}',
        b"[" * 100_000,
    ],
)
def test_encoding_an_unknown_text_is_no_decision(text):
    with pytest.raises(ValueError):
        decode(text)


def test_encoding_a_text_does_not_choose_what_is_run():
    found = decode(b'{"!":"named","module":"os","name":"system","fields":["command"],"items":["true"]}')
    assert found == ("true",), "a named tuple of that name, and nothing of that module"
