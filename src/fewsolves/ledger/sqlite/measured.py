"""Measured times that a run's decisions depend on: on disk before they are used, so that a restart reuses them.

All other decisions of a run follow from its data, its settings and its answers. A measured time is different at every
measurement, above all on a busier machine.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from hashlib import blake2b

from fewsolves.ledger.sqlite.file import LedgerFile


class Measured:
    """The measured times of one run, by name."""

    def __init__(self, file: LedgerFile, run: int) -> None:
        self._file, self._run, self._values = file, run, dict[str, float]()
        for name, value, checksum in file.query("SELECT name, value, checksum FROM measured WHERE run = ?", run):
            whole = checksum == _checksum(run, name, value) and isinstance(value, float) and isinstance(name, str)
            if whole and math.isfinite(value):
                self._values[name] = value
            else:
                message = (
                    f"the times that run {run} measured are damaged in {file.path}: they are measured again, so the "
                    "result may differ"
                )
                warnings.warn(message, stacklevel=2)

    def get(self, name: str, measure: Callable[[], float]) -> float:
        """The recorded value, else the value measured now; it is on disk when this returns."""
        if name not in self._values:
            value = float(measure())
            row = self._run, name, value, _checksum(self._run, name, value)
            self._file.change("INSERT OR REPLACE INTO measured VALUES (?, ?, ?, ?)", [row])
            self._values[name] = value
        return self._values[name]


def _checksum(run: int, name: str, value: float) -> bytes:
    return blake2b(repr((run, name, value)).encode("utf-8", "replace"), digest_size=8).digest()
