import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fewsolves.ledger.keys import SIZE, cost_key, decision_key, shaped_key, solve_keys

pytestmark = pytest.mark.portable

ROWS = np.array([3, 4])
Y = np.array([[1.0, 2.0], [1.0, 2.0]])


def test_keys_of_solves_are_shared_between_rows_unless_rows_have_known_data():
    one, other = solve_keys(ROWS, Y, own=False)
    assert one == other
    one, other = solve_keys(ROWS, Y, own=True)
    assert one != other
    assert len(one) == SIZE


def test_keys_do_not_depend_on_the_sign_of_zero_or_on_how_numbers_are_stored():
    expected = solve_keys(ROWS, Y * 0.0, own=False)
    assert solve_keys(ROWS, -Y * 0.0, own=False) == expected
    assert solve_keys(ROWS, np.asfortranarray(Y * 0.0), own=False) == expected
    assert solve_keys(ROWS, np.zeros((2, 2), dtype=np.float32), own=False) == expected


def test_keys_of_no_rows_are_none():
    assert solve_keys(ROWS[:0], Y[:0], own=True) == []


@given(st.floats(allow_nan=False, allow_infinity=False), st.floats(allow_nan=False, allow_infinity=False))
def test_keys_of_solves_differ_in_the_last_bit(a, b):
    one, other = (solve_keys(ROWS[:1], np.array([[value]]), own=False) for value in (a, b))
    assert (one == other) == (a == b)


def test_keys_of_decisions_distinguish_content_dtype_and_shape():
    content = np.arange(4.0).tobytes()
    flat = decision_key(content, "<f8", "[4]", flat=True)
    square = decision_key(content, "<f8", "[2, 2]", flat=False)
    assert (
        len({flat, square, decision_key(content, "<i8", "[4]", flat=True), decision_key(b"", "<f8", "[0]", flat=True)})
        == 4
    )
    assert square == shaped_key(flat, "[2, 2]") != shaped_key(flat, "[4, 1]")


def test_keys_of_costs_distinguish_row_and_draw():
    of = decision_key(b"12345678", "<f8", "[1]", flat=True)
    assert len({cost_key(of, 0), cost_key(of, 1), cost_key(of, 0, 0), cost_key(of, 0, 1)}) == 4
    with pytest.raises(OverflowError):
        cost_key(of, -1)


def test_keys_are_those_that_ledgers_on_disk_have():
    """Another digest would find nothing in any ledger: it needs a migration."""
    (solve,) = solve_keys(ROWS[:1], np.array([[1.0, -2.5]]), own=True)
    of = decision_key(np.arange(3.0).astype("<f8").tobytes(), "<f8", "[3]", flat=True)
    assert (solve.hex(), of.hex(), cost_key(of, 7).hex()) == (
        "78fd7eb2b6ce7baacb317c31f52d82b8",
        "e6dff5151876e39dc36abab41b3d86ac",
        "4c159c7bead743aa31ba492ddb9697dd",
    )
