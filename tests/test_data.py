import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fewsolves.data import Scale, check_table, check_weights, split_rows, split_table
from fewsolves.errors import InputError

pytestmark = pytest.mark.portable


def table(n=10):
    return np.ones((n, 2)), np.ones((n, 3))


@pytest.mark.parametrize(
    ("name", "bad", "says"),
    [("X", np.nan, "X contains NaN at row 4, column 1"), ("Y", np.inf, "Y contains inf at row 4, column 1")],
)
def test_data_bad_numbers_are_named(name, bad, says):
    X, Y = table()
    {"X": X, "Y": Y}[name][4, 1] = bad
    with pytest.raises(InputError, match=says):
        check_table(X, Y)


def test_data_lengths_must_agree():
    with pytest.raises(InputError, match="X has 10 rows and Y has 9"):
        check_table(table(10)[0], table(9)[1])


@pytest.mark.parametrize("n", [0, 1, 4])
def test_data_too_few_rows(n):
    with pytest.raises(InputError, match=r"empty|n_samples"):
        check_table(*table(n))


def test_data_text_is_refused():
    with pytest.raises(InputError, match="X must be a table of numbers"):
        check_table([["a", "b"]] * 6, table(6)[1])


def test_data_one_dimension_is_refused():
    with pytest.raises(InputError, match="reshape"):
        check_table(np.ones(6), table(6)[1])


@given(n=st.integers(5, 2000), seed=st.integers(0, 10))
def test_data_split_uses_each_row_once(n, seed):
    split = split_rows(n, rng=np.random.default_rng(seed))
    rows = np.concatenate([split.train, split.valid, split.test])
    assert sorted(rows) == list(range(n))
    assert len(split.valid) >= 1
    assert len(split.train) >= n / 2


def test_data_the_papers_split():
    split = split_rows(1000, rng=np.random.default_rng(0))
    assert (len(split.train), len(split.valid), len(split.test)) == (800, 100, 100)


def test_data_a_constant_column_keeps_its_scale():
    scale = Scale.of(np.array([[1.0, 5.0], [3.0, 5.0]]))
    assert scale.std.tolist() == [1.0, 1.0]
    assert scale.mean.tolist() == [2.0, 5.0]


def rng():
    return np.random.default_rng(0)


def test_data_a_tenth_is_validated_on_as_it_always_was():
    split, before = split_table(50, 0.1, rng=rng()), split_rows(50, rng=rng(), test=0.0)
    assert np.array_equal(split.train, before.train)
    assert np.array_equal(split.valid, before.valid)


@pytest.mark.parametrize("share", ["last 20 %", "last 20%", "last 20.0 %"])
def test_data_the_last_rows_in_time(share):
    split = split_table(50, share, rng=rng())
    assert split.train.tolist() == list(range(40))
    assert split.valid.tolist() == list(range(40, 50))


@pytest.mark.parametrize("rows", [[3, 1], np.array([1, 3]), [False, True, False, True, False, False]])
def test_data_the_rows_themselves(rows):
    split = split_table(6, rows, rng=rng())
    assert split.valid.tolist() == [1, 3]
    assert split.train.tolist() == [0, 2, 4, 5]


def test_data_groups_stay_together():
    groups = np.repeat(list("abcdefghij"), 5)
    split = split_table(50, 0.2, rng=rng(), groups=groups)
    assert len(split.valid) == 10
    assert not set(groups[split.valid]) & set(groups[split.train])


@pytest.mark.parametrize(
    ("validation", "groups", "says"),
    [
        (0.0, None, "above 0 and below 1.*got 0.0"),
        (1, None, "above 0 and below 1"),
        ("last 0 %", None, "above 0 and below 1"),
        ("last 100 %", None, "above 0 and below 1"),
        ("the last ones", None, "'last 20 %', got 'the last ones'"),
        ([0, 6], None, "has row 6; rows are numbered 0 to 5"),
        ([], None, "whole numbers"),
        ([0.5], None, "whole numbers"),
        (range(6), None, "no row to train on"),
        (0.2, [1, 2], r"groups has shape \(2,\), the table has 6 rows"),
        (0.2, [1] * 6, "all rows belong to one group"),
        ("last 20 %", [1] * 6, "groups= needs validation= to be a share"),
    ],
)
def test_data_what_cannot_be_validated_on_is_said(validation, groups, says):
    with pytest.raises(InputError, match=says):
        split_table(6, validation, rng=rng(), groups=groups)


@pytest.mark.parametrize(
    ("weights", "says"),
    [
        ([1.0, 2.0], "the table has 3 rows"),
        ([1.0, -2.0, 1.0], "-2 at row 1; a weight is at least 0"),
        ([1.0, np.nan, 1.0], "sample_weight contains NaN at row 1"),
        ([[1.0], [1.0], [1.0]], r"shape \(3, 1\)"),
        ([0.0, 0.0, 0.0], "all weights in sample_weight are zero"),
    ],
)
def test_data_weights_are_checked(weights, says):
    with pytest.raises(InputError, match=says):
        check_weights(weights, 3)
