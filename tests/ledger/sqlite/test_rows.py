import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fewsolves.execution.base import LONGEST_MESSAGE, Failure
from fewsolves.ledger.decision import pack_decision
from fewsolves.ledger.sqlite.rows import (
    Call,
    PendingCall,
    checksum,
    columns_of,
    is_evaluation,
    pack,
    short,
    unpack,
    value_of,
)

pytestmark = pytest.mark.portable

KEY = bytes(range(16))
SOLVE = PendingCall("solve", "online", 3, 0, KEY, y_hat=np.array([1.0, -0.0]))
COST = PendingCall("cost", "online", 3, 0, KEY, decision_key=KEY, solve=1)


def row(pending, value, seq=1):
    return Call(seq, 1, *pending.position, pending.key, "ok")._replace(**columns_of(pending, value))


@pytest.mark.parametrize("z", [np.arange(3), np.ones((2, 2)), np.array(True), np.zeros(0)])
def test_rows_of_a_solve_give_the_decision_back(z):
    found = value_of(row(SOLVE, pack_decision(z))).value()
    assert found.dtype == z.dtype
    assert np.array_equal(found, z)


def test_rows_of_a_cost_call_give_a_number_and_a_failure_its_words():
    assert value_of(row(COST, 2.5)) == 2.5
    assert str(row(COST, -0.0).value) == "0.0", "as SQLite would have it"
    failed = value_of(row(SOLVE, Failure("timeout", "it took\x1b[31m long")))
    assert (failed.status, "\x1b" in failed.message) == ("timeout", False)


@pytest.mark.parametrize(
    "columns",
    [
        {"status": "fine"},
        {"kind": "price"},
        {"phase": "night"},
        {"value": None},
        {"value": float("nan")},
        {"value": "1"},
    ],
)
def test_rows_that_make_no_sense_are_no_answer(columns):
    with pytest.raises(ValueError, match=r"unknown|a cost of"):
        value_of(row(COST, 1.0)._replace(**columns))


def test_rows_with_a_decision_that_does_not_fit_its_columns_are_no_answer():
    whole = row(SOLVE, pack_decision(np.arange(3.0)))
    for columns in ({"shape": "[4]"}, {"dtype": "<f4"}, {"decision": b""}, {"decision_key": None}):
        with pytest.raises(ValueError):
            value_of(whole._replace(**columns))


@pytest.mark.parametrize("name", Call._fields)
def test_rows_checksum_covers_every_column(name):
    whole = row(SOLVE, pack_decision(np.arange(3.0)))._replace(at=1.0)
    assert checksum(whole._replace(**{name: b"other" if name != "seq" else 99})) != checksum(whole)


def test_rows_checksum_knows_which_column_bytes_are_in():
    one = row(SOLVE, 1.0)._replace(y_hat=b"ab", decision=b"c")
    assert checksum(one) != checksum(one._replace(y_hat=b"a", decision=b"bc"))


def test_rows_checksum_of_a_row_without_later_columns_is_that_of_older_ledgers():
    assert checksum(Call(1, 1, "cost", "labels", 0, 0, KEY, "ok", value=2.0)).hex() == "2d157fc5ac11d528"


@given(st.lists(st.floats(allow_nan=False)))
def test_rows_pack_numbers_to_the_last_bit(numbers):
    found = unpack(pack(np.array(numbers, dtype=float)), len(numbers))
    assert np.array_equal(found, numbers)
    assert not np.signbit(found[found == 0]).any()


@pytest.mark.parametrize(("content", "n"), [(b"1234567", None), (b"12345678", 2), (None, 1), ("12345678", 1)])
def test_rows_unpack_refuses_other_lengths_and_other_things(content, n):
    with pytest.raises(ValueError, match="numbers"):
        unpack(content, n)


def test_rows_make_an_evaluation_where_solve_and_cost_belong_together():
    z = pack_decision(np.ones(2))
    solve = row(SOLVE, z, seq=1)
    cost = row(COST._replace(decision_key=z.key), 1.0, seq=2)
    assert is_evaluation(solve, cost)
    assert is_evaluation(solve, cost._replace(row=9)), "it names its solve"
    assert is_evaluation(solve, cost._replace(solve=None)), "it is of the same row"
    assert not is_evaluation(solve, cost._replace(row=9, solve=None))
    assert not is_evaluation(solve, cost._replace(decision_key=KEY))
    assert not is_evaluation(solve._replace(status="error"), cost)
    assert not is_evaluation(cost, solve)


@given(st.text(max_size=6000))
def test_rows_messages_are_short_and_plain(text):
    plain = short(text)
    assert len(plain.encode()) <= LONGEST_MESSAGE
    assert all(c.isprintable() or c in "\n\t" for c in plain)
    assert short(plain) == plain


def test_rows_of_drawn_points_hold_the_distribution():
    drawn = SOLVE._replace(drawn=(np.zeros(2), np.ones(2)))
    found = row(drawn, pack_decision(np.ones(2)))
    assert (unpack(found.centre).tolist(), unpack(found.sigma).tolist()) == ([0.0, 0.0], [1.0, 1.0])
