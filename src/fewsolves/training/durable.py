"""Files that are whole or not there: written beside, synced, renamed, and the folder synced."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from fewsolves.errors import LedgerError
from fewsolves.problem import Array


def write_durably(path: Path, content: bytes) -> None:
    """Replace `path` by `content`; a crash leaves the old file or the new one."""
    beside = path.with_name(f".{path.name}.new")
    try:
        with contextlib.suppress(FileNotFoundError):
            beside.unlink()  # of a crash
        file = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(file, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        beside.replace(path)
        _sync_folder(path.parent)
    except OSError as error:
        raise LedgerError(
            f"{path} cannot be written: {error.strerror}; make room and start the same run again"
        ) from error


def write_pair(numbers: Path, facts: Path, tensors: Mapping[str, Array], content: Mapping[str, Any]) -> None:
    """`tensors` as safetensors, `content` as JSON with the SHA-256 of both; the JSON comes last and makes it count."""
    packed = save({name: np.ascontiguousarray(values) for name, values in tensors.items()})
    write_durably(numbers, packed)
    text = json.dumps(content)
    whole = {"sha256": sha256(packed).hexdigest(), "content_sha256": sha256(text.encode()).hexdigest(), "content": text}
    write_durably(facts, json.dumps(whole).encode() + b"\n")


def read_pair(numbers: Path, facts: Path) -> tuple[dict[str, Array], dict[str, Any]]:
    """What `write_pair` wrote; ValueError where it is not whole."""
    try:
        whole = json.loads(facts.read_bytes())
        packed, text = numbers.read_bytes(), str(whole["content"])
        if sha256(packed).hexdigest() != whole["sha256"]:
            raise ValueError(f"{numbers.name} is not what {facts.name} says")
        if sha256(text.encode()).hexdigest() != whole["content_sha256"]:
            raise ValueError(f"{facts.name} was changed")
        return load(packed), json.loads(text)
    except (OSError, KeyError, RecursionError, TypeError, SafetensorError) as error:
        raise ValueError(f"{facts.name}: {type(error).__name__} {error}") from error


def _sync_folder(folder: Path) -> None:
    if os.name == "nt":
        return  # a folder cannot be opened there
    file = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)
