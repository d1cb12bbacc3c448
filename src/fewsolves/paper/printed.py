"""The figures printed in the paper, `printed.json`: mean and standard deviation over its five datasets."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple


class Printed(NamedTuple):
    mean: float
    std: float


def printed(table: str, row: str, column: str) -> Printed | None:
    """One cell of a table; None where the paper has none."""
    found = _tables()[table].get(row, {}).get(column)
    return None if found is None else Printed(*found)


def printed_ratio(table: str, row: str, reference: str, column: str) -> float | None:
    """A mean divided by that of another row."""
    mine, other = printed(table, row, column), printed(table, reference, column)
    return mine.mean / other.mean if mine is not None and other is not None else None


@cache
def _tables() -> dict[str, Any]:
    tables: dict[str, Any] = json.loads(files("fewsolves.paper").joinpath("printed.json").read_text())
    return tables
