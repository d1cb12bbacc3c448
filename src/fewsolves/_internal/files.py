"""An atomic, durable file write: whole or not there, whenever it is cut short."""

from __future__ import annotations

import os
from pathlib import Path

from fewsolves._internal.platform import POSIX


def write_whole(path: Path, content: str | bytes, *, private: bool = False) -> None:
    """Replace `path` by `content`, folders included: who reads finds the old file or the new one, and never a half.

    Written beside, synced, renamed, and the folder synced; text is UTF-8. A `private` file is the user's alone.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    packed = content.encode() if isinstance(content, str) else content
    beside = path.with_name(f".{path.name}.{os.getpid()}.part")
    beside.unlink(missing_ok=True)
    try:
        # O_EXCL: never through a link that lies there
        file = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600 if private else 0o666)
        with os.fdopen(file, "wb") as stream:
            stream.write(packed)
            stream.flush()
            os.fsync(stream.fileno())
        beside.replace(path)
        _sync_folder(path.parent)
    finally:
        beside.unlink(missing_ok=True)


def _sync_folder(folder: Path) -> None:
    if not POSIX:
        return  # a folder cannot be opened there
    file = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)
