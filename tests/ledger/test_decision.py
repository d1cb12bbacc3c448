import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as stn

from fewsolves.ledger.decision import pack_decision, pack_list, read_decision, unpack_list
from fewsolves.ledger.keys import cost_key, solve_keys

pytestmark = pytest.mark.portable

DTYPES = st.sampled_from(["?", "i1", "<i8", ">i4", "<u2", "<f4", "<f8", ">f8"])
DECISIONS = stn.arrays(DTYPES, stn.array_shapes(min_dims=0, max_dims=3, min_side=0))


@given(DECISIONS)
def test_decision_comes_back_from_its_columns(z):
    packed = pack_decision(z)
    form = packed.form
    again = read_decision(packed.key, packed.content, form.dtype_text, form.shape_text)
    assert again == packed
    array = again.array()
    assert array.dtype == z.dtype.newbyteorder("=")
    assert array.shape == z.shape
    assert array.tobytes() == z.astype(z.dtype.newbyteorder("=")).tobytes()
    assert array.flags.writeable and array.flags.owndata


@given(DECISIONS, DECISIONS)
def test_decision_decisions_have_one_key_if_they_are_the_same(a, b):
    native = (a.astype(a.dtype.newbyteorder("<")), b.astype(b.dtype.newbyteorder("<")))
    same = native[0].dtype == native[1].dtype and a.shape == b.shape and native[0].tobytes() == native[1].tobytes()
    assert (pack_decision(a).key == pack_decision(b).key) == same


def test_decision_the_key_covers_dtype_shape_and_content():
    flat = np.zeros(6)
    others = [flat.reshape(2, 3), flat.reshape(3, 2), flat.reshape(1, 6), flat.astype(int), flat + 1, np.zeros(5)]
    assert len({pack_decision(z).key for z in [flat, *others]}) == 7
    empty = [np.zeros((0, 2)), np.zeros((2, 0)), np.zeros(0)]
    assert len({pack_decision(z).key for z in empty}) == 3


def test_decision_a_layout_in_memory_is_no_other_decision():
    z = np.arange(6.0).reshape(2, 3)
    assert pack_decision(np.asfortranarray(z)) == pack_decision(z) == pack_decision(np.tile(z, 2)[:, :3])


@pytest.mark.parametrize(
    ("content", "dtype", "shape"),
    [
        (b"12345678", "<f8", "[2]"),
        (b"12345678", ">f8", "[1]"),
        (b"12345678", "|O", "[1]"),
        (b"12345678", "<f8", "[" * 9000),
        (b"12345678", "<f8", '["1"]'),
        (b"12345678", "<f8", "1"),
        (b"1", "?", str([1] * 33)),
        (None, "<f8", "[1]"),
        ("12345678", "<f8", "[1]"),
    ],
)
def test_decision_columns_that_do_not_fit_together_are_no_decision(content, dtype, shape):
    with pytest.raises(ValueError):
        read_decision(b"k" * 16, content, dtype, shape)


def test_decision_a_solve_is_known_by_its_point_and_by_its_row_where_rows_differ():
    points = np.array([[0.0, 1.0], [-0.0, 1.0], [0.0, 2.0]])
    shared, own = (solve_keys(np.array([0, 1, 1]), points, own=own) for own in (False, True))
    assert [shared.index(key) for key in shared] == [0, 0, 2]
    assert len(set(own)) == 3
    assert solve_keys(np.array([0, 1, 1]), np.asfortranarray(points), own=True) == own


def test_decision_a_cost_call_is_known_by_its_decision_and_its_row():
    a, b = (pack_decision(np.full(3, value)).key for value in (1.0, 2.0))
    assert len({cost_key(key, row) for key in (a, b) for row in (0, 1, 300)}) == 6


@given(st.lists(DECISIONS | st.lists(st.text()).map(lambda texts: {"texts": texts}), max_size=5))
def test_decision_a_list_of_any_kinds_comes_back_with_its_keys(decisions):
    assert unpack_list(pack_list(decisions)) == [pack_decision(z) for z in decisions]


def test_decision_list_of_parts_that_do_not_fit_together_is_refused():
    packed = pack_list([np.zeros(3), np.zeros(2)])
    with pytest.raises(ValueError, match="a decision of 8 bytes"):
        unpack_list(packed | {"lengths": np.array([24, 8])})
