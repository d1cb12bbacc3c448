"""The figures printed in the paper, `printed.json`: mean and standard deviation over its five datasets."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple


class Printed(NamedTuple):
    mean: float
    std: float

    def __str__(self) -> str:
        return f"{self.mean:g} ± {self.std:g}"


def printed(table: str, row: str, column: str) -> Printed | None:
    """One cell of a table; None where the paper has none."""
    found = _tables()[table].get(row, {}).get(column)
    return None if found is None else Printed(*found)


def to_printed_pfl(told: Printed | None, column: str) -> float | None:
    """A printed regret divided by that of prediction-focused learning."""
    pfl = printed("q1_regret", "pfl", column)
    return told.mean / pfl.mean if told is not None and pfl is not None else None


@cache
def _tables() -> dict[str, Any]:
    tables: dict[str, Any] = json.loads(files("fewsolves.paper").joinpath("printed.json").read_text())
    return tables
