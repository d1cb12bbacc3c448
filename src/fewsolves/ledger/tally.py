"""The newest row and the calls of each run, in a file beside the ledger: they show whether the ledger has lost rows.

A ledger whose log was removed or cut is whole, but shorter. So each run notes, after each commit, the newest row and
the calls that it has begun. The note is not synced: a kill loses no written page, and after a power cut an old note is
harmless. If the note cannot be written, the run continues without it.

    slot    one for each run, by its number: which run that is, newest row, solves begun, cost calls begun, checksum
"""

from __future__ import annotations

import contextlib
import os
import struct
import threading
from collections.abc import Mapping
from hashlib import blake2b
from pathlib import Path

from fewsolves._internal.platform import open_private, read_at, write_at
from fewsolves.execution.base import KINDS, Kind

TALLY = "ledger.tally"
MAX_RUNS = 10_000  # runs that have a slot
_SLOT = struct.Struct("<8sQQQ8s")


class Tally:
    """The note of one run; `last` is the newest row that any run noted, `begun` the calls that this run has begun."""

    def __init__(self, folder: Path, run: int, identity: str, *, new: bool) -> None:
        """`new`: the ledger did not exist, so an old note beside it is discarded."""
        self._lock, self._run, self._file = threading.Lock(), run, -1
        self._identity = _digest(identity.encode("utf-8", "replace"))
        self.last, self.begun = 0, dict.fromkeys(KINDS, 0)
        with contextlib.suppress(OSError):
            if 0 <= run < MAX_RUNS:
                self._file = open_private(folder / TALLY, os.O_TRUNC if new else 0)
                self._read(read_at(self._file, MAX_RUNS * _SLOT.size, 0))

    def _read(self, content: bytes) -> None:
        for number in range(len(content) // _SLOT.size):
            slot = content[number * _SLOT.size : (number + 1) * _SLOT.size]
            identity, last, *begun, checksum = _SLOT.unpack(slot)
            if checksum == _digest(slot[:-8]):
                self.last = max(self.last, last)
                if (number, identity) == (self._run, self._identity):
                    self.begun = dict(zip(KINDS, begun, strict=True))

    def note(self, last: int | None = None, begun: Mapping[Kind, int] | None = None) -> None:
        """Write the newest row on disk, or the calls begun, or both."""
        with self._lock, contextlib.suppress(OSError, struct.error):
            self.last, self.begun = self.last if last is None else last, dict(begun or self.begun)
            if self._file >= 0:
                slot = _SLOT.pack(self._identity, self.last, *(self.begun[kind] for kind in KINDS), bytes(8))[:-8]
                write_at(self._file, slot + _digest(slot), self._run * _SLOT.size)

    def close(self) -> None:
        with self._lock:
            if self._file >= 0:
                with contextlib.suppress(OSError):  # a solver may have closed it
                    os.close(self._file)
                self._file = -1


def _digest(content: bytes) -> bytes:
    return blake2b(content, digest_size=8).digest()
