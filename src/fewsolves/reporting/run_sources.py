"""Runs from a fit, a fitted model, or folders, whose `result.json` and `history.csv` are read and checked.

What others have written is not trusted: a file that is missing, broken or of the wrong form is named, with what to do.
"""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Protocol

from fewsolves._internal.files import check_regular
from fewsolves.errors import InputError
from fewsolves.fitting.result import Fit, result_of
from fewsolves.oracle import KINDS, PHASES
from fewsolves.reporting.runs import Run
from fewsolves.training.history import EpochRecord

OPTIONAL_NUMBERS = (
    "fresh_regret",
    "gap_closed",
    "test_relative_regret",
    "best_validation_regret",
    "start_validation_regret",
)
MAX_RESULT_BYTES = 16 << 20  # results are a few kB

MAX_HISTORY_BYTES = 64 << 20  # a thousand epochs take about 100 kB; anything near this size is not a history

_BENCHMARK: dict[str, tuple[type, ...]] = {"benchmark": (str,), "dataset_seed": (int,), "test_regret": (int, float)}

_OWN: dict[str, tuple[type, ...]] = {"problem": (str,), "best_validation_regret": (int, float, type(None))}

_TYPES: dict[str, tuple[type, ...]] = {
    "method": (str,),
    "config": (dict,),
    "solves_per_instance": (int, float),
    "total_solves_per_instance": (int, float),
    "calls": (dict,),
    "seconds": (dict,),
}


class Fitted(Protocol):
    """A fitted model: it has its run."""

    @property
    def run_(self) -> Run: ...


RunSource = Run | Fit | Fitted | str | Path
"""Where runs are read from: a run, a fit, a fitted model, or a folder with one run or several."""


def runs_of(source: RunSource | Sequence[RunSource]) -> list[Run]:
    """The runs of a fitted model, a fit, a folder, or of several of these."""
    if isinstance(source, Run):
        return [source]
    if isinstance(source, Fit):
        return [Run(result_of(source), tuple(source.history))]
    if isinstance(source, str | Path):
        return read_runs(source)
    if isinstance(source, Sequence):
        return [run for one in source for run in runs_of(one)]
    run = getattr(source, "run_", None)
    if not isinstance(run, Run):
        raise InputError(f"expected a fitted model, a fit, or a folder of runs, got {source!r:.80}")
    return [run]


def read_run(folder: str | Path) -> Run:
    """The run in `folder`; InputError names the file that is missing or broken."""
    folder = Path(folder)
    path = folder / "result.json"
    try:
        if check_regular(path) > MAX_RESULT_BYTES:
            raise InputError(f"{path} is larger than {MAX_RESULT_BYTES >> 20} MB, so it is not a result of fewsolves")
        run = Run(json.loads(path.read_text(encoding="utf-8")), read_history(folder / "history.csv"), folder)
    except FileNotFoundError:
        raise InputError(f"{path} is missing: give the folder of a run that has ended") from None
    except InputError:
        raise
    except (OSError, ValueError, RecursionError) as error:  # bad UTF-8 and bad JSON are ValueErrors
        raise InputError(f"{path} cannot be read ({error}): restore it from a copy, or run again") from error
    _check(run, path)
    return run


def read_runs(folder: str | Path) -> list[Run]:
    """The run in `folder`, or every run below it, sorted by benchmark, method and dataset seed."""
    folder = Path(folder)
    if (folder / "result.json").is_file():
        return [read_run(folder)]
    runs = [read_run(path.parent) for path in sorted(folder.rglob("result.json"))]
    if not runs:
        raise InputError(f"no result.json in {folder} or below: give the folder of a run, or of several runs")
    return sorted(runs, key=lambda run: (run.benchmark, run.method, run.dataset_seed, str(run.folder)))


def _check(run: Run, path: Path) -> None:
    if not isinstance(run.result, dict):
        raise InputError(f"{path} holds {type(run.result).__name__}, not an object: it is not a result of fewsolves")
    kind = _OWN if run.own and "problem" in run.result else _BENCHMARK
    for key, types in (kind | _TYPES).items():
        value = run.result.get(key)
        if key not in run.result or not isinstance(value, types) or isinstance(value, bool):
            found = "is missing" if key not in run.result else f"is {type(value).__name__}"
            raise InputError(f"{path}: {key!r} {found}, expected {types[:2][-1].__name__}; restore it, or run again")
    try:
        _read_optional(run)
    except (AttributeError, KeyError, OverflowError, TypeError, ValueError) as error:
        raise InputError(f"{path} has a part of the wrong form ({error!r}): restore it, or run again") from error


def _read_optional(run: Run) -> None:
    """Read the optional parts once, which shows whether they are usable."""
    for name in (name for name, value in vars(Run).items() if isinstance(value, property) and name != "told"):
        getattr(run, name)
    for name in OPTIONAL_NUMBERS:
        run.number(name)
    _ = run.seconds("total"), run.seconds("solver")
    _ = [float(run.calls(kind, phase)) for kind in KINDS for phase in PHASES]


def read_history(path: Path) -> tuple[EpochRecord, ...]:
    """The rows of a history file, in the order in which they were written."""
    try:
        if check_regular(path) > MAX_HISTORY_BYTES:
            raise InputError(f"{path} is larger than {MAX_HISTORY_BYTES >> 20} MB, so it is not a history of epochs")
        with path.open(encoding="utf-8", newline="") as file:
            return tuple(_rows(csv.DictReader(file, strict=True), path))
    except FileNotFoundError:
        raise InputError(f"{path} is missing: give the folder of a run that has ended, or run it again") from None
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path} cannot be read ({error}): restore it from a copy, or run again") from error


def _rows(table: csv.DictReader[str], path: Path) -> Iterator[EpochRecord]:
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


def _epoch(row: Mapping[str, str]) -> EpochRecord:
    loss, seconds, solver_seconds = (_number(row, column) for column in ("train_loss", "seconds", "solver_seconds"))
    return EpochRecord(
        stage="start" if row["stage"] == "start" else "train",
        epoch=int(row["epoch"]),
        train_loss=math.nan if loss is None else loss,
        validation_regret=_number(row, "validation_regret"),
        validation_error=_number(row, "validation_error"),
        trusted=_number(row, "trusted"),
        solves=_counts(row, "solves_"),
        cost_calls=_counts(row, "cost_calls_"),
        seconds=math.nan if seconds is None else seconds,
        solver_seconds=math.nan if solver_seconds is None else solver_seconds,
    )


def _number(row: Mapping[str, str], column: str) -> float | None:
    text = row.get(column, "").strip()
    return float(text) if text else None


def _counts(row: Mapping[str, str], prefix: str) -> Mapping[str, int]:
    # a count may have passed through a table program that writes 800.0
    return MappingProxyType(
        {name.removeprefix(prefix): int(float(text or 0)) for name, text in row.items() if name.startswith(prefix)}
    )
