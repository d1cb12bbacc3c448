"""A table in a file: CSV, Parquet or NPZ in, named columns out.

A column is one-dimensional, with one entry per row; an array of an NPZ file is one too, with several numbers for each
row: a matrix, or an array of more dimensions, such as (rows, items, features). Names and patterns (`demand_*`) choose
columns, in the order of the file.
"""

from __future__ import annotations

import csv
import difflib
import math
import zipfile
import zlib
from collections.abc import Callable, Iterable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import numpy as np

from fewsolves._internal.files import check_regular, memory_bytes
from fewsolves._internal.text import clean
from fewsolves.errors import InputError
from fewsolves.problem import Array

Columns = dict[str, Array]


class Table:
    """The columns of a file, all of one length."""

    def __init__(self, path: Path, columns: Columns) -> None:
        self.path, self.columns = path, columns
        lengths = {name: len(column) for name, column in columns.items()}
        if not columns or 0 in lengths.values():
            raise InputError(f"{path} has no rows")
        if len(set(lengths.values())) > 1:
            found = ", ".join(f"{name!r} has {length} rows" for name, length in lengths.items())
            raise InputError(f"{path}: all arrays need one length, but {found}")

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def names(self, patterns: str) -> list[str]:
        """The columns that a list such as "temp,dow,lag_*" means, each once."""
        chosen: dict[str, None] = {}
        for pattern in (part.strip() for part in patterns.split(",")):
            found = [name for name in self.columns if name == pattern or fnmatchcase(name, pattern)]
            if not found:
                near = difflib.get_close_matches(pattern, self.columns, 3, cutoff=0.5) or list(self.columns)[:20]
                raise InputError(f"{self.path} has no column {pattern!r}; it has {', '.join(map(repr, near))}")
            chosen |= dict.fromkeys(found)
        return list(chosen)

    def name(self, pattern: str) -> str:
        """The one column that a name or pattern means."""
        found = self.names(pattern)
        if len(found) > 1:
            raise InputError(f"{self.path}: {pattern!r} means {len(found)} columns; name one, such as {found[0]!r}")
        return found[0]

    def matrix(self, names: Iterable[str]) -> Array:
        """(n, k): these columns as numbers; an error names the first entry that is none.

        One array of more dimensions comes as it is.
        """
        columns = {name: self._numbers(name) for name in names}
        deep = [name for name, column in columns.items() if column.ndim > 2]
        if deep and len(columns) > 1:
            raise InputError(
                f"{self.path}: {deep[0]!r} has shape {columns[deep[0]].shape}, so it cannot be one of several columns;"
                f" give it alone, or all features in one array"
            )
        return columns[deep[0]] if deep else np.column_stack(list(columns.values()))

    def records(self, names: Iterable[str]) -> list[dict[str, Any]]:
        """One dict per row: known data of the row, as Python's numbers and texts."""
        lists = {name: self.columns[name].tolist() for name in names}
        return [dict(zip(lists, entries, strict=True)) for entries in zip(*lists.values(), strict=True)]

    def order(self, name: str) -> Array:
        """Row numbers by rising values of a column: numbers, times, or texts such as 2026-11-16 or 2026-11-16T08:30."""
        column = self.columns[name]
        if column.dtype.kind not in "biufM":
            column = np.array([self._time(name, row, entry) for row, entry in enumerate(column.tolist())])
        known = ~np.isnat(column) if column.dtype.kind == "M" else np.isfinite(column)
        if not known.all():
            raise InputError(f"{self.path}: column {name!r} has no time in row {known.argmin()}; drop or fill that row")
        return np.argsort(column, kind="stable")

    def marked(self, name: str) -> Array:
        """(n,) bool: the rows in which a column is not 0."""
        marked: Array = self._numbers(name) != 0
        return marked

    def _time(self, name: str, row: int, entry: Any) -> np.datetime64:
        try:
            return np.datetime64(entry.replace(" ", "T") if isinstance(entry, str) else entry, "us")
        except (TypeError, ValueError):
            raise InputError(
                f"{self.path}: column {name!r} has no time in row {row}, but {entry!r:.40}; write 2026-11-16 or "
                f"2026-11-16T08:30"
            ) from None

    def _numbers(self, name: str) -> Array:
        column = self.columns[name]
        if column.dtype.kind not in "biuf":
            column = np.array([self._number(name, row, entry) for row, entry in enumerate(column.tolist())])
        if not np.isfinite(column).all():
            row = np.argwhere(~np.isfinite(column))[0][0]
            raise InputError(f"{self.path}: column {name!r} has no finite number in row {row}; drop or fill that row")
        return column

    def _number(self, name: str, row: int, entry: Any) -> float:
        try:
            return float(entry)
        except (TypeError, ValueError, OverflowError):
            raise InputError(
                f"{self.path}: column {name!r} has no number in row {row}, but {entry!r:.40}; give numbers, a category "
                f"as one column of 0 and 1 for each of its values, arrays in a file that ends in .npz"
            ) from None


def read_table(path: Path) -> Table:
    """Read a file by the end of its name: .csv, .parquet or .npz."""
    readers: dict[str, Callable[[Path], Columns]] = {".csv": _csv, ".parquet": _parquet, ".npz": _npz}
    reader = readers.get(path.suffix.lower())
    if reader is None:
        raise InputError(f"{path}: a table is a file that ends in {', '.join(readers)}")
    try:
        check_regular(path)
        return Table(path, reader(path))
    except InputError:
        raise
    except (OSError, ValueError, EOFError, MemoryError, csv.Error, zipfile.BadZipFile, zlib.error) as error:
        raise InputError(f"{path} cannot be read: {error or type(error).__name__}") from error


def _csv(path: Path) -> Columns:
    with path.open(newline="", encoding="utf-8-sig") as file:
        lines = csv.reader(file)
        names = next(lines, [])
        _check_names(path, names)
        rows = [line for line in lines if line]
    for number, line in enumerate(rows):
        if len(line) != len(names):
            raise InputError(f"{path}: row {number} has {len(line)} entries, the header has {len(names)}")
    entries = zip(*rows, strict=True) if rows else ([] for _ in names)
    return {name: _typed(column) for name, column in zip(names, entries, strict=True)}


def _typed(column: Sequence[str]) -> Array:
    """Numbers where all entries are numbers or empty, which is NaN; else texts."""
    try:
        return np.array([float(entry) if entry.strip() else np.nan for entry in column])
    except ValueError:
        return np.array(column, dtype=object)


def _parquet(path: Path) -> Columns:
    try:
        import pyarrow.parquet as parquet
    except ImportError as error:
        raise InputError("Parquet files need pyarrow: pip install 'fewsolves[parquet]'") from error
    try:
        _check_parquet(parquet.ParquetFile(path).metadata)
        table = parquet.read_table(path)
        _check_names(path, table.column_names)
        return {name: table[name].to_numpy(zero_copy_only=False) for name in table.column_names}
    except (InputError, OSError, MemoryError):
        raise
    except Exception as error:  # pyarrow's errors have no common class
        raise InputError(f"{path} cannot be read as Parquet: {clean(str(error))}") from error


def _check_parquet(about: Any) -> None:
    """Raise ValueError where the numbers of rows contradict each other, or do not fit into memory.

    pyarrow takes memory for as many rows as a group of rows says that it has. Of the columns nothing is looked at:
    pyarrow ends the process if their statistics are damaged.
    """
    groups = [about.row_group(k) for k in range(about.num_row_groups)]
    rows = sum(group.num_rows for group in groups)
    if rows != about.num_rows or any(group.num_rows < 0 for group in groups):
        raise ValueError(f"it says that it has {about.num_rows:,} rows, and its groups have {rows:,}")
    size = max(rows * 8 * about.num_columns, sum(group.total_byte_size for group in groups))
    if size > memory_bytes() // 2:
        raise ValueError(f"its {rows:,} rows take {size:,} bytes, at most {memory_bytes() // 2:,} are read")


def _npz(path: Path) -> Columns:
    try:
        columns = npz_arrays(path)
    except (OSError, MemoryError):
        raise
    except Exception as error:  # numpy evaluates a header, and any error may come of that
        raise InputError(f"{path} cannot be read as NPZ without unpickling: {error}") from error
    for name, array in columns.items():
        if array.ndim == 0:
            raise InputError(f"{path}: {name!r} is a single number; one row is one example, so give one entry per row")
    return columns


def npz_arrays(path: Path) -> Columns:
    """All arrays of a file; any error may come of one that is damaged, but nothing is unpickled."""
    _check_npz(path)
    with np.load(path, allow_pickle=False) as arrays:
        return {name: arrays[name] for name in arrays.files}


def _check_npz(path: Path) -> None:
    """Raise ValueError where an array has another size than its header says, before memory is taken for it."""
    with zipfile.ZipFile(path) as archive:
        for entry in archive.infolist():
            if not entry.filename.endswith(".npy"):
                continue
            with archive.open(entry) as file:
                version = np.lib.format.read_magic(file)
                read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
                shape, _, dtype = read(file)
                size = math.prod(shape) * dtype.itemsize
            if size > entry.file_size or entry.file_size > memory_bytes() // 2:
                raise ValueError(f"{entry.filename} says that it has {size:,} bytes, and has {entry.file_size:,}")


def _check_names(path: Path, names: Sequence[str]) -> None:
    seen = set[str]()
    for name in names:
        if not name.strip():
            raise InputError(f"{path}: a column has no name; the first line names the columns")
        if name in seen:
            raise InputError(f"{path}: two columns are named {name!r}")
        seen.add(name)
