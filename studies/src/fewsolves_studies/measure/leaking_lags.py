"""Whether published windows of demand contain the day that is to be predicted.

    git clone https://github.com/d3group/A-structured-evaluation-of-data-driven-newsvendor-approaches published
    python -m fewsolves_studies.measure.leaking_lags published/Data/final

Reads yaz_data.csv.zip and yaz_target.csv.zip there, which are no part of this repository, and compares the column of
sums over seven days with both sums of the demands themselves: of the day and the six before it, and of the seven
before it.
"""

from __future__ import annotations

import argparse
import csv
import io
import zipfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

SUMS, WINDOW = "demand__sum_values_7", 7


def matches(sums: Sequence[float], demands: Sequence[float]) -> tuple[int, int, int]:
    """Days whose sum ends with the day itself, days whose sum ends the day before, and how many were looked at."""
    ending = np.convolve(demands, np.ones(WINDOW), mode="valid")  # ending[k] is of days k to k + 6
    given = np.asarray(sums, dtype=np.float64)[WINDOW:]
    return int(np.isclose(given, ending[1:]).sum()), int(np.isclose(given, ending[:-1]).sum()), len(given)


def rows(path: Path) -> list[dict[str, str]]:
    """Of the table in a zip file, by the names of its columns."""
    with zipfile.ZipFile(path) as archive:
        name = next(name for name in archive.namelist() if name.endswith(".csv") and not name.startswith("__"))
        with archive.open(name) as file:
            return list(csv.DictReader(io.TextIOWrapper(file, encoding="utf-8")))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    dishes: dict[str, list[tuple[float, float]]] = {}
    for known, target in zip(rows(folder / "yaz_data.csv.zip"), rows(folder / "yaz_target.csv.zip"), strict=True):
        dishes.setdefault(known["item"], []).append((float(known[SUMS]), float(target["demand"])))
    found = {dish: matches(*zip(*values, strict=True)) for dish, values in dishes.items()}
    found["all"] = tuple(np.sum(list(found.values()), axis=0))
    for dish, (own, before, days) in found.items():
        print(f"{dish}: of {days:,} sums {own:,} contain the day itself, {before:,} end the day before")


if __name__ == "__main__":
    main()
