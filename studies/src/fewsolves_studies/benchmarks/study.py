"""A study: runs that belong together, with their results in one file of JSON lines, one line per run.

    FOLDER/runs.jsonl       {"run": its name, ...what result.json holds}, sorted by name: kept under version control
    FOLDER/runs/NAME.json   the line of a run that ended since: what a stopped command goes on from; ignored by git

A command keeps each run as it ends and folds them into the file when it ends itself. A run that is in either place is
there; one that was made again takes the place of the one before.
"""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import json
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from fewsolves._internal.files import write_whole
from fewsolves.errors import InputError
from fewsolves.settings import as_before

Result = dict[str, Any]


class Study:
    """The results in a folder; several processes may keep runs at a time, and several commands may fold."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.file = folder / "runs.jsonl"
        self.unfolded = folder / "runs"

    def read(self) -> dict[str, Result]:
        """All results by the name of their run, sorted."""
        later = self._unfolded()  # first: what is folded meanwhile is in the file, which is read after it
        return _sorted(self._folded() | dict(later.values()))

    def keep(self, run: str, result: Mapping[str, Any]) -> None:
        """Put the result of a run that has ended on record, all of it or nothing."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with self._alone():
            write_whole(self.unfolded / f"{run}.json", _line(run, result))

    def fold(self) -> None:
        """Put what was kept into the file."""
        if not self.unfolded.exists():
            return
        with self._alone():
            later = self._unfolded()
            if later:
                runs = self._folded() | dict(later.values())
                write_whole(self.file, "".join(_line(run, result) for run, result in _sorted(runs).items()))
            for path in later:
                path.unlink(missing_ok=True)
            for folder in sorted((self.unfolded, *self.unfolded.rglob("*/")), reverse=True):
                with contextlib.suppress(OSError):  # not empty: the draft of a run whose command was killed
                    folder.rmdir()

    def _folded(self) -> dict[str, Result]:
        if not self.file.exists():
            return {}
        lines = self.file.read_text(encoding="utf-8").splitlines()
        return dict(_read(line, f"{self.file}, line {number}") for number, line in enumerate(lines, 1))

    def _unfolded(self) -> dict[Path, tuple[str, Result]]:
        found = {}
        for path in sorted(self.unfolded.rglob("*.json")):
            with contextlib.suppress(FileNotFoundError):  # folded by another command
                found[path] = _read(path.read_text(encoding="utf-8"), str(path))
        return found

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """One process writes at a time: compaction rewrites the file from what was read."""
        descriptor = os.open(self.folder, os.O_RDONLY)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)


def made_under(result: Mapping[str, Any], configs: Mapping[str, Any]) -> bool:
    """Whether a run had these settings: dataclasses, by the part of its `config` that recorded them.

    A setting that did not exist when the run was made must stand at its default, or change nothing: so the run did.
    """
    return all(_same(result["config"][part], config) for part, config in configs.items())


def _same(recorded: Mapping[str, Any], config: Any) -> bool:
    now = json.loads(json.dumps(dataclasses.asdict(config)))
    idle = as_before(config)
    for field in dataclasses.fields(config):
        if field.name not in recorded and (field.name in idle or getattr(config, field.name) == field.default):
            del now[field.name]
    return bool(now == recorded)


def _line(run: str, result: Mapping[str, Any]) -> str:
    return json.dumps({"run": run} | dict(result)) + "\n"


def _read(line: str, where: str) -> tuple[str, Result]:
    try:
        result = json.loads(line)
        return str(result.pop("run")), result
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        reason = f"no result of a run ({type(error).__name__}: {error})"
        raise InputError(f"{where}: {reason}; remove it, and the run is made again") from None


def _sorted(runs: Mapping[str, Result]) -> dict[str, Result]:
    """By name, with numbers by their value: dataset 2 comes before dataset 10."""

    def key(run: str) -> list[str | int]:
        return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", run)]

    return {run: runs[run] for run in sorted(runs, key=key)}
