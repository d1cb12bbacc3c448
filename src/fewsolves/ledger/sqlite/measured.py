"""What a run has measured by a clock and goes by: on disk before it does, so that started again it goes by the same.

Everything else that a run decides follows from its data, its settings and its answers. A time does not repeat itself,
least of all on a machine that is busier than before.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from hashlib import blake2b

from fewsolves.ledger.sqlite.file import LedgerFile


class Measured:
    """Of one run, by name."""

    def __init__(self, file: LedgerFile, run: int) -> None:
        self._file, self._run, self._values = file, run, dict[str, float]()
        for name, value, checksum in file.query("SELECT name, value, checksum FROM measured WHERE run = ?", run):
            if checksum == _checksum(run, name, value) and math.isfinite(value):
                self._values[name] = value
            else:
                told = (
                    f"what run {run} measured is damaged in {file.path}: it is measured again, and may go another way"
                )
                warnings.warn(told, stacklevel=2)

    def get(self, name: str, measure: Callable[[], float]) -> float:
        """What is on record, else what is measured now; on disk when this returns."""
        if name not in self._values:
            value = float(measure())
            row = self._run, name, value, _checksum(self._run, name, value)
            self._file.change("INSERT OR REPLACE INTO measured VALUES (?, ?, ?, ?)", [row])
            self._values[name] = value
        return self._values[name]


def _checksum(run: int, name: str, value: float) -> bytes:
    return blake2b(repr((run, name, value)).encode("utf-8", "replace"), digest_size=8).digest()
