"""The long format: a data frame with one line for each item of each row, as arrays with items.

row   item   size   price   y               X[r, j]  features of item j in row r
mon   ann    3.0    8.0     12.0     ->     Y[r, j]  its parameter
mon   bob    1.0    9.0     14.0            rows, items   their keys, in the order of the arrays
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from fewsolves.errors import InputError
from fewsolves.problem import Array


class ByItem(NamedTuple):
    """Arrays of a data frame in the long format; `by_item` makes it."""

    X: Array  #: (n, items, features)
    Y: Array | None  #: (n, items), None where no y was named
    rows: list[Any]  #: (n,) keys of the rows, in the order in which they first appear
    items: list[Any]  #: keys of the items, in the order of the second axis: sorted, or as a categorical column has them


def by_item(
    frame: Any, *, row: str, item: str, x: Sequence[str], y: str | None = None, items: Sequence[Any] | None = None
) -> ByItem:
    """Arrays for `fit` and `predict` of a data frame that has one line for each item of each row.

    >>> import pandas as pd, fewsolves as fs
    >>> frame = pd.DataFrame({
    ...     "day": [1, 1, 2, 2], "shop": ["a", "b", "b", "a"],
    ...     "rain": [0.0, 1.0, 2.0, 3.0], "sales": [5.0, 6.0, 8.0, 7.0],
    ... })
    >>> table = fs.by_item(frame, row="day", item="shop", x=["rain"], y="sales")
    >>> table.X.shape, table.Y.tolist(), table.items
    ((2, 2, 1), [[5.0, 6.0], [7.0, 8.0]], ['a', 'b'])

    Args:
        frame: A pandas or polars data frame, or a mapping from names to columns.
        row: The column that says to which row of the table a line belongs, such as a day.
        item: The column that names the item. Every row has every item once.
        x: The columns with features of the item, all numbers.
        y: The column with the true parameter of the item. None: there is none, as for new rows.
        items: The order of the items: `ByItem.items` of the training table, for new rows. None: sorted, or in the order
            of the categories where the column is categorical; the order of the lines does not matter.

    Returns:
        X (n, items, features), Y (n, items) or None, and the keys of rows and items.
    """
    x = [x] if isinstance(x, str) else list(x)
    columns = {name: _column(frame, name) for name in dict.fromkeys([row, item, *x, *([] if y is None else [y])])}
    of_row, of_item = columns[row].tolist(), columns[item].tolist()
    rows = {key: number for number, key in enumerate(dict.fromkeys(of_row))}
    if not rows:
        raise InputError("the data frame has no lines")
    first = of_row[0]
    if items is None:
        known = [key for at, key in zip(of_row, of_item, strict=True) if at == first]
        if dup := _duplicate(known):
            raise InputError(f"row {first!r} has item {dup!r} twice; give one line for each")
        known = _in_order(known, frame[item])
    else:
        known = list(items)
    line_at = _lines(rows, known, of_row, of_item)
    values = {name: _numbers(name, columns[name], of_row, of_item) for name in [*x, *([] if y is None else [y])]}
    X = np.stack([values[name] for name in x], axis=-1)[line_at]
    return ByItem(X, None if y is None else values[y][line_at], list(rows), known)


def _in_order(keys: list[Any], column: Any) -> list[Any]:
    """The keys as the categories of the column are ordered, else sorted; keys of several kinds, kind by kind."""
    categories = getattr(getattr(column, "dtype", None), "categories", None)
    if categories is not None and hasattr(categories, "__iter__"):
        places = {key: place for place, key in enumerate(list(categories))}
        if all(key in places for key in keys):
            return sorted(keys, key=places.__getitem__)
    try:
        return sorted(keys)
    except TypeError:
        return sorted(keys, key=lambda key: (type(key).__name__, repr(key)))


def _duplicate(keys: Sequence[Any]) -> Any | None:
    """The first key that appears a second time, or None."""
    seen: set[Any] = set()
    for key in keys:
        if key in seen:
            return key
        seen.add(key)
    return None


def _lines(rows: Mapping[Any, int], known: list[Any], of_row: Sequence[Any], of_item: Sequence[Any]) -> Array:
    """(n, items) The number of the line of each item of each row."""
    places = {key: place for place, key in enumerate(known)}
    line_at: Array = np.full((len(rows), len(places)), -1)
    for line, (at, key) in enumerate(zip(of_row, of_item, strict=True)):
        if key not in places:
            raise InputError(f"row {at!r} has an item {key!r}, which is none of the {len(places)}: {_some(known)}")
        if line_at[rows[at], places[key]] >= 0:
            raise InputError(f"row {at!r} has item {key!r} twice; give one line for each")
        line_at[rows[at], places[key]] = line
    if (missing := np.argwhere(line_at < 0)).size:
        at, key = list(rows)[missing[0, 0]], known[missing[0, 1]]
        raise InputError(f"row {at!r} has no item {key!r}; every row needs every item: add that line, or drop the row")
    return line_at


def _column(frame: Any, name: str) -> Array:
    try:
        return np.asarray(frame[name])
    except Exception as error:  # pandas, polars and mappings raise errors of their own
        names = list(getattr(frame, "columns", frame))
        raise InputError(f"the data frame has no column {name!r}; it has {_some(names)}") from error


def _numbers(name: str, column: Array, of_row: list[Any], of_item: list[Any]) -> Array:
    try:
        numbers = column.astype(float)
    except (TypeError, ValueError):
        raise InputError(f"column {name!r} must have numbers, got {column[0]!r:.40}; encode it first") from None
    if not np.isfinite(numbers).all():
        line = int(np.argmin(np.isfinite(numbers)))
        where = f"row {of_row[line]!r}, item {of_item[line]!r}"
        raise InputError(f"column {name!r} contains {numbers[line]:g} at {where}; drop or fill that row")
    return numbers


def _some(names: list[Any]) -> str:
    shown = ", ".join(map(repr, names[:8]))
    return f"{shown} and {len(names) - 8} more" if len(names) > 8 else shown
