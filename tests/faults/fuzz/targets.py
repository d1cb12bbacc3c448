"""What reads files from others, one function for each kind: bytes in, and nothing but an error of ours may come out.

Each target writes the bytes to a file where one is needed, in memory where the machine has a place for that, and reads
them as a user would. A pair of files (weights and facts) gets new digests, so that what is behind them is reached.
"""

from __future__ import annotations

import contextlib
import json
import tempfile
import warnings
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import fewsolves as fs
from fewsolves.errors import FewsolvesError
from fewsolves.fitting.checkpoint import Checkpoints, read_pair
from fewsolves.ledger.following import Following
from fewsolves.ledger.reading import evaluations, open_to_read, summary, verify
from fewsolves.ledger.sqlite.file import LEDGER_FILE
from fewsolves.reporting.run_sources import read_run
from fewsolves.tables import read_table

MEMORY = Path("/dev/shm")
FOLDER = Path(tempfile.mkdtemp(dir=MEMORY if MEMORY.is_dir() else None))


def _pair(data: bytes, numbers: str, facts: str) -> None:
    """The first two bytes say how long the weights are; the rest is the content of the facts."""
    length = int.from_bytes(data[:2], "little")
    packed, text = data[2 : 2 + length], data[2 + length :].decode("utf-8", "replace")
    whole = {"sha256": sha256(packed).hexdigest(), "content_sha256": sha256(text.encode()).hexdigest(), "content": text}
    (FOLDER / numbers).write_bytes(packed)
    (FOLDER / facts).write_text(json.dumps(whole))


def ledger(data: bytes) -> None:
    """A ledger that is looked at, verified, exported and followed."""
    (FOLDER / LEDGER_FILE).write_bytes(data)
    for look in (summary, verify, lambda file: list(evaluations(file))):
        try:
            file = open_to_read(FOLDER)
        except FewsolvesError:
            return
        with contextlib.closing(file), contextlib.suppress(FewsolvesError):
            look(file)
    with contextlib.closing(Following(FOLDER)) as following:
        following.refresh()


def model(data: bytes) -> None:
    """A model that is loaded, and that predicts."""
    _pair(data, "model.safetensors", "model.json")
    fs.load(FOLDER).predict([[1.0, 2.0]])


def checkpoint(data: bytes) -> None:
    """A checkpoint of a run."""
    _pair(data, "checkpoint-0.safetensors", "checkpoint-0.json")
    Checkpoints(FOLDER, "call").load()
    with contextlib.suppress(ValueError):  # what it promises
        read_pair(FOLDER / "checkpoint-0.safetensors", FOLDER / "checkpoint-0.json")


def result(data: bytes) -> None:
    """A result that a report reads."""
    (FOLDER / "result.json").write_bytes(data)
    read_run(FOLDER)


def csv_table(data: bytes) -> None:
    """A table."""
    (FOLDER / "t.csv").write_bytes(data)
    read_table(FOLDER / "t.csv")


def npz_table(data: bytes) -> None:
    """A table."""
    (FOLDER / "t.npz").write_bytes(data)
    read_table(FOLDER / "t.npz")


TARGETS: dict[str, Callable[[bytes], None]] = {
    one.__name__: one for one in (ledger, model, checkpoint, result, csv_table, npz_table)
}


def run(name: str, data: bytes) -> None:
    """One execution; what escapes is a fault."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with contextlib.suppress(FewsolvesError):
            TARGETS[name](data)
