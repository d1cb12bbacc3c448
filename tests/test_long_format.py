"""fs.by_item: a line for each item of each row, as arrays."""

import numpy as np
import pandas as pd
import pytest

import fewsolves as fs

KEYS = {"row": "day", "item": "shop", "x": ["rain", "price"], "y": "sales"}


def frame():
    return pd.DataFrame(
        {
            "day": ["mon", "mon", "tue", "tue"],
            "shop": ["a", "b", "b", "a"],
            "rain": [0.0, 1.0, 2.0, 3.0],
            "price": [10, 11, 12, 13],
            "sales": [5.0, 6.0, 8.0, 7.0],
        }
    )


def test_long_format_lines_go_to_their_row_and_item():
    table = fs.by_item(frame(), **KEYS)
    assert table.X.tolist() == [[[0.0, 10.0], [1.0, 11.0]], [[3.0, 13.0], [2.0, 12.0]]]
    assert table.Y.tolist() == [[5.0, 6.0], [7.0, 8.0]]
    assert (table.rows, table.items) == (["mon", "tue"], ["a", "b"])


def test_long_format_new_rows_keep_the_order_of_the_items():
    new = frame().iloc[2:].drop(columns="sales")
    again = fs.by_item(new, row="day", item="shop", x=["rain", "price"], items=["a", "b"])
    assert again.X[:, :, 0].tolist() == [[3.0, 2.0]] and again.Y is None


@pytest.mark.parametrize("seed", range(3))
def test_long_format_the_order_of_the_items_is_not_that_of_the_lines(seed):
    shuffled = frame().sample(frac=1.0, random_state=seed)
    table = fs.by_item(shuffled, **KEYS)
    assert table.items == ["a", "b"]
    assert dict(zip(table.rows, table.Y.tolist(), strict=True)) == {"mon": [5.0, 6.0], "tue": [7.0, 8.0]}
    numbered = frame().assign(shop=[10, 9, 9, 10]).sample(frac=1.0, random_state=seed)
    assert fs.by_item(numbered, **KEYS).items == [9, 10]
    mixed = frame().assign(shop=["a", 9, 9, "a"]).sample(frac=1.0, random_state=seed)
    assert fs.by_item(mixed, **KEYS).items == [9, "a"]


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_long_format_categories_have_an_order_of_their_own(library):
    ordered = frame().assign(shop=pd.Categorical(["a", "b", "b", "a"], categories=["c", "b", "a"]))
    if library == "polars":
        polars = pytest.importorskip("polars")
        ordered = polars.DataFrame(frame().to_dict("list")).with_columns(
            polars.col("shop").cast(polars.Enum(["c", "b", "a"]))
        )
    table = fs.by_item(ordered, **KEYS)
    assert table.items == ["b", "a"]
    assert table.Y.tolist() == [[6.0, 5.0], [8.0, 7.0]]


def test_long_format_a_mapping_of_columns_is_as_good():
    assert np.array_equal(fs.by_item(frame().to_dict("list"), **KEYS).X, fs.by_item(frame(), **KEYS).X)


def test_long_format_polars_is_as_good():
    polars = pytest.importorskip("polars")
    of_pandas, of_polars = (fs.by_item(one, **KEYS) for one in (frame(), polars.DataFrame(frame().to_dict("list"))))
    assert np.array_equal(of_pandas.X, of_polars.X) and np.array_equal(of_pandas.Y, of_polars.Y)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda one: one.drop(columns="rain"), "no column 'rain'; it has 'day', 'shop', 'price', 'sales'"),
        (lambda one: one.iloc[:3], "row 'tue' has no item 'a'; every row needs every item"),
        (lambda one: one.assign(shop=["a", "b", "b", "b"]), "row 'tue' has item 'b' twice"),
        (
            lambda one: pd.concat([one, one.iloc[:1]]).assign(shop=["a", "b", "b", "a", "a"]),
            "row 'mon' has item 'a' twice; give one line for each",
        ),
        (
            lambda one: one.assign(shop=["a", "b", "b", "c"]),
            "row 'tue' has an item 'c', which is none of the 2: 'a', 'b'",
        ),
        (lambda one: one.assign(rain=[0, 1, np.nan, 3]), "column 'rain' contains nan at row 'tue', item 'b'"),
        (lambda one: one.assign(rain=list("wxyz")), "column 'rain' must have numbers, got 'w'"),
        (lambda one: one.iloc[:0], "no lines"),
    ],
)
def test_long_format_what_is_wrong_is_named_by_row_and_item(change, says):
    with pytest.raises(fs.InputError, match=says):
        fs.by_item(change(frame()), **KEYS)
