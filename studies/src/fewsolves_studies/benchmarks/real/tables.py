"""Tables of numbers inside the package: data/FOLDER/NAME.csv, or .csv.gz, by column."""

from __future__ import annotations

import csv
import gzip
from importlib.resources import files

import numpy as np

from fewsolves.problem import Array

HOURS = 24


def read_columns(folder: str, name: str) -> dict[str, list[str]]:
    """The columns of a table as text, by their heads."""
    found = (files("fewsolves_studies.benchmarks.real") / "data" / folder / name).read_bytes()
    text = (gzip.decompress(found) if name.endswith(".gz") else found).decode()
    heads, *rows = csv.reader(text.splitlines())
    return {head: list(column) for head, column in zip(heads, zip(*rows, strict=True), strict=True)}


def read_numbers(folder: str, name: str) -> dict[str, Array]:
    """The same of a table that has nothing but numbers."""
    return {head: np.array(column, dtype=np.float64) for head, column in read_columns(folder, name).items()}
