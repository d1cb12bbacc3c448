import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fewsolves.data import Scale, check_table, split_rows
from fewsolves.errors import InputError


def table(n=10):
    return np.ones((n, 2)), np.ones((n, 3))


@pytest.mark.parametrize(
    ("name", "bad", "says"),
    [("X", np.nan, "X contains NaN at row 4, column 1"), ("Y", np.inf, "Y contains inf at row 4, column 1")],
)
def test_bad_numbers_are_named(name, bad, says):
    X, Y = table()
    {"X": X, "Y": Y}[name][4, 1] = bad
    with pytest.raises(InputError, match=says):
        check_table(X, Y)


def test_lengths_must_agree():
    with pytest.raises(InputError, match="X has 10 rows and Y has 9"):
        check_table(table(10)[0], table(9)[1])


@pytest.mark.parametrize("n", [0, 1, 4])
def test_too_few_rows(n):
    with pytest.raises(InputError, match=r"empty|n_samples"):
        check_table(*table(n))


def test_text_is_refused():
    with pytest.raises(InputError, match="X must be a table of numbers"):
        check_table([["a", "b"]] * 6, table(6)[1])


def test_one_dimension_is_refused():
    with pytest.raises(InputError, match="reshape"):
        check_table(np.ones(6), table(6)[1])


@given(n=st.integers(5, 2000), seed=st.integers(0, 10))
def test_split_uses_each_row_once(n, seed):
    split = split_rows(n, rng=np.random.default_rng(seed))
    rows = np.concatenate([split.train, split.valid, split.test])
    assert sorted(rows) == list(range(n))
    assert len(split.valid) >= 1
    assert len(split.train) >= n / 2


def test_the_papers_split():
    split = split_rows(1000, rng=np.random.default_rng(0))
    assert (len(split.train), len(split.valid), len(split.test)) == (800, 100, 100)


def test_a_constant_column_keeps_its_scale():
    scale = Scale.of(np.array([[1.0, 5.0], [3.0, 5.0]]))
    assert scale.std.tolist() == [1.0, 1.0]
    assert scale.mean.tolist() == [2.0, 5.0]
