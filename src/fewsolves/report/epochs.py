"""`history.csv`: one row per epoch of a run."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from fewsolves.errors import InputError

MAX_BYTES = 64 << 20  # a thousand epochs take about 100 kB; anything near this size is not a history


@dataclass(frozen=True)
class Epoch:
    """One row; counts and seconds are cumulative since the start of the run."""

    stage: str  # "start": prediction-focused warm start; "train": everything after it
    epoch: int
    train_loss: float | None
    validation_regret: float | None  # None where the epoch was not validated
    validation_error: float | None  # standard error of the line above
    trusted: float | None  # share of examples for which the surrogate was trusted
    solves: Mapping[str, int]  # by phase
    cost_calls: Mapping[str, int]  # by phase
    seconds: float | None
    solver_seconds: float | None

    @property
    def total_solves(self) -> int:
        """Every solve paid up to the end of this epoch, whatever for."""
        return sum(self.solves.values())


def read_history(path: Path) -> tuple[Epoch, ...]:
    """The rows of a history file, in the order in which they were written."""
    try:
        if path.stat().st_size > MAX_BYTES:
            raise InputError(f"{path} is larger than {MAX_BYTES >> 20} MB, so it is not a history of epochs")
        with path.open(encoding="utf-8", newline="") as file:
            return tuple(_rows(csv.DictReader(file, strict=True), path))
    except FileNotFoundError:
        raise InputError(f"{path} is missing: give the folder of a run that has ended, or run it again") from None
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path} cannot be read ({error}): restore it from a copy, or run again") from error


def _rows(table: csv.DictReader[str], path: Path) -> Iterator[Epoch]:
    missing = {"stage", "epoch"} - set(table.fieldnames or ())
    if missing:
        raise InputError(f"{path} lacks the column {sorted(missing)[0]!r}: it is not a history that fewsolves wrote")
    for row in table:
        # DictReader marks a row that is too long with a None key and one that is too short with None values
        if None in row or None in row.values():
            raise InputError(f"{path}, line {table.line_num}: not as many fields as the header; was the run cut off?")
        try:
            yield _epoch(row)
        except (ValueError, OverflowError) as error:
            raise InputError(f"{path}, line {table.line_num}: {error}; restore the file, or run again") from error


def _epoch(row: Mapping[str, str]) -> Epoch:
    return Epoch(
        stage=row["stage"],
        epoch=int(row["epoch"]),
        train_loss=_number(row, "train_loss"),
        validation_regret=_number(row, "validation_regret"),
        validation_error=_number(row, "validation_error"),
        trusted=_number(row, "trusted"),
        solves=_counts(row, "solves_"),
        cost_calls=_counts(row, "cost_calls_"),
        seconds=_number(row, "seconds"),
        solver_seconds=_number(row, "solver_seconds"),
    )


def _number(row: Mapping[str, str], column: str) -> float | None:
    text = row.get(column, "").strip()
    return float(text) if text else None


def _counts(row: Mapping[str, str], prefix: str) -> Mapping[str, int]:
    # a count may have passed through a table program that writes 800.0
    return MappingProxyType(
        {name.removeprefix(prefix): int(float(text or 0)) for name, text in row.items() if name.startswith(prefix)}
    )
