"""Checkpoints of a run: two files are written in turn, so that one is always complete.

A checkpoint holds the state of the training loop, or under a name of its own that of a method: arrays (safetensors)
and plain facts (JSON), with their SHA-256. In place of a damaged checkpoint, the run uses the previous one, and after
that a replay of the ledger, which takes time but no solve; a warning says so.
"""

from __future__ import annotations

import contextlib
import json
import re
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from fewsolves._internal.files import check_regular, remedy, write_whole
from fewsolves.errors import FewsolvesError, FewsolvesWarning, LedgerError
from fewsolves.methods.loss import State
from fewsolves.problem import Array

MAX_HEADER = 100 << 20  # bytes, as the format has it
NAMED, NAME = "checkpoint-of-", re.compile(r"[A-Za-z0-9-]+")
SHORTEST = 10.0  # seconds between two checkpoints
SHARE = 0.01  # of the time may go into them

# files that are whole, and that this run has not written: values are missing, or of another kind or shape
MISFITS = (LookupError, TypeError, ValueError, ArithmeticError, AttributeError, RuntimeError)


class Checkpoints:
    """The checkpoints of one run in its folder; `call` identifies the run and its terms."""

    def __init__(self, folder: Path, call: str) -> None:
        self.folder, self.call = folder, call
        self._numbers: dict[str, int] = {}  # of the newest checkpoint, by name; that of the loop has none
        self._due = time.monotonic() + SHORTEST

    def check_free(self) -> None:
        """Raise LedgerError where a folder lies in the place of a checkpoint."""
        for path in (*self._files(0), *self._files(1), *self.folder.glob(f"{NAMED}*")):
            if path.is_dir():
                raise LedgerError(
                    f"{path} is a folder where a checkpoint file belongs. Nothing was paid; remove it, or give another "
                    f"folder for the run"
                )

    def save_if_due(self, state: Callable[[], State | None]) -> None:
        """Write a checkpoint if the last one is old enough."""
        if time.monotonic() < self._due:
            return
        began = time.monotonic()
        taken = state()
        if taken is not None:
            self.save(taken)
        spent = time.monotonic() - began
        self._due = time.monotonic() + max(SHORTEST, spent / SHARE)

    def save(self, state: State, name: str = "") -> None:
        """Write a checkpoint at once; under a name of its own, beside those of the loop."""
        number = self._numbers[name] = self._numbers.get(name, 0) + 1
        facts = {"call": self.call, "number": number, "facts": state.facts}
        write_pair(*self._files(number % 2, name), state.arrays, facts)

    def load(self, name: str = "") -> list[State]:
        """The complete checkpoints of this name on file, by this very run, newest first."""
        found: list[tuple[int, State]] = []
        for files in (self._files(turn, name) for turn in (0, 1)):
            if not files[1].exists():
                continue
            try:
                arrays, facts = read_pair(*files)
                if facts["call"] == self.call:
                    found.append((int(facts["number"]), State(arrays, facts["facts"])))
            except (ValueError, KeyError, TypeError, OverflowError) as error:
                warnings.warn(
                    f"a checkpoint in {self.folder} is damaged and not used: {error}", FewsolvesWarning, stacklevel=2
                )
        found.sort(key=lambda one: one[0], reverse=True)
        self._numbers[name] = found[0][0] if found else 0
        return [state for _, state in found]

    def clear(self) -> None:
        """Remove all checkpoints once the run has ended."""
        named = self.folder.glob(f"{NAMED}*")
        for path in (*named, *(path for turn in (0, 1) for path in self._files(turn))):
            with contextlib.suppress(FileNotFoundError):
                path.unlink()

    def _files(self, turn: int, name: str = "") -> tuple[Path, Path]:
        if name and not NAME.fullmatch(name):
            raise ValueError(f"a checkpoint's name has letters, digits and hyphens, got {name!r}")
        stem = f"{NAMED}{name}-{turn}" if name else f"checkpoint-{turn}"
        return self.folder / f"{stem}.safetensors", self.folder / f"{stem}.json"


@contextlib.contextmanager
def refuse_misfits(folder: Path, files: str = "checkpoint-*") -> Iterator[None]:
    """Raise LedgerError if what `files` hold does not fit; a run that has restored a part of it cannot go on."""
    try:
        yield
    except FewsolvesError:
        raise
    except MISFITS as error:
        raise LedgerError(
            f"{files} in {folder} does not fit this run ({error!r}): it was changed, or a newer version has written "
            f"it. Remove {files} there and start again: the run is replayed from its ledger and pays for nothing twice"
        ) from error


def write_pair(
    numbers: Path, facts: Path, tensors: Mapping[str, Array], content: Mapping[str, Any], *, private: bool = True
) -> None:
    """`tensors` as safetensors, `content` as JSON with the SHA-256 of both; the JSON comes last and makes it count."""
    packed = save({name: np.asarray(values, order="C") for name, values in tensors.items()})
    text = json.dumps(content)
    whole = {"sha256": sha256(packed).hexdigest(), "content_sha256": sha256(text.encode()).hexdigest(), "content": text}
    for path, written in ((numbers, packed), (facts, json.dumps(whole).encode() + b"\n")):
        try:
            write_whole(path, written, private=private)
        except OSError as error:
            raise LedgerError(
                f"{path} cannot be written: {error.strerror}; {remedy(error)}, then start the same run again"
            ) from error


def read_pair(numbers: Path, facts: Path) -> tuple[dict[str, Array], dict[str, Any]]:
    """Read the files of `write_pair`; raises ValueError if they are damaged."""
    try:
        check_regular(facts)
        whole = json.loads(facts.read_bytes())
        _check_header(numbers, facts)
        packed, text = numbers.read_bytes(), str(whole["content"])
        if sha256(packed).hexdigest() != whole["sha256"]:
            raise ValueError(f"{numbers.name} is not what {facts.name} says")
        if sha256(text.encode()).hexdigest() != whole["content_sha256"]:
            raise ValueError(f"{facts.name} was changed")
        return load(packed), json.loads(text)
    except (OSError, LookupError, AttributeError, RecursionError, TypeError, SafetensorError, MemoryError) as error:
        raise ValueError(f"{facts.name}: {type(error).__name__} {error}") from error


def _check_header(numbers: Path, facts: Path) -> None:
    """Raise ValueError unless the file has the size that its own header says, before it is read."""
    size = check_regular(numbers)
    with numbers.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if length > min(size, MAX_HEADER):
            raise ValueError(f"{numbers.name} is not what {facts.name} says: a header of {length:,} bytes of {size:,}")
        header = json.loads(file.read(length))
    ends = [entry["data_offsets"][1] for name, entry in header.items() if name != "__metadata__"]
    if 8 + length + max(ends, default=0) != size:
        raise ValueError(f"{numbers.name} is not what {facts.name} says: its header is not for {size:,} bytes")
