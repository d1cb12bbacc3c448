"""The folder of a run: what it paid for, how far it came, what came of it.

    ledger.sqlite, lock                     see `ledger.ledger`; may lie in another folder that several runs share
    checkpoint-{0,1}.{safetensors,json}     see `checkpoint`
    fit.json, weights.safetensors           the result

A run is known by what makes it: method, settings, seed, predictor, table and split (`about`). Its `terms` (budget, what
happens to failures) may change when it is started again; then it goes on from the ledger, not from a checkpoint.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from fewsolves.ledger.ledger import Ledger, open_ledger
from fewsolves.ledger.lock import FolderLock
from fewsolves.problem import Array, Problem
from fewsolves.runs.checkpoint import Checkpoints, read_pair, write_pair


class RunFolder:
    """Locked from `open` to `close`."""

    def __init__(self, path: str | Path, *, ledger: str | Path | None = None, adopt: bool = False) -> None:
        self.path = Path(path)
        self._ledger_path = self.path if ledger is None else Path(ledger)
        self._adopt = adopt
        self._ledger: Ledger | None = None
        self._lock: FolderLock | None = None

    def open(self, problem: Problem, Y: Array, about: Mapping[str, Any], terms: Mapping[str, Any]) -> Ledger:
        """Lock, and open the ledger; raises before anything is paid."""
        identity = digest_of_call(about)
        self.checkpoints = Checkpoints(self.path, f"{identity} {digest_of_call(terms)}")
        if self._ledger_path.resolve() != self.path.resolve():
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._lock = FolderLock(self.path)
        options = {"adopt": self._adopt, "replays_failures": terms.get("on_failure", "raise") != "raise"}
        try:
            self._ledger = open_ledger(self._ledger_path, problem, Y, identity=identity, about=about, **options)
        except BaseException:
            self.close()
            raise
        return self._ledger

    def finished(self) -> tuple[dict[str, Array], dict[str, Any]] | None:
        """Weights and facts of this very run, where it has ended."""
        try:
            weights, facts = read_pair(self.path / "weights.safetensors", self.path / "fit.json")
        except ValueError:
            return None
        done = facts.get("call") == self.checkpoints.call and not facts.get("interrupted")
        return (weights, facts) if done else None

    def finish(self, weights: Mapping[str, Array], facts: Mapping[str, Any]) -> None:
        """Keep the result; a run that was interrupted goes on from its checkpoints next time."""
        content = {**facts, "call": self.checkpoints.call}
        write_pair(self.path / "weights.safetensors", self.path / "fit.json", weights, content)
        if not facts.get("interrupted"):
            self.checkpoints.clear()

    def result(self) -> dict[str, Any] | None:
        """What `keep_result` kept of this very run."""
        found = self.finished()
        return None if found is None else found[1].get("result")

    def keep_result(self, result: Mapping[str, Any]) -> None:
        """Add what was found out about the finished run."""
        found = self.finished()
        if found is not None:
            self.finish(found[0], {**found[1], "result": result})

    def close(self) -> None:
        """Let others in."""
        if self._ledger is not None:
            self._ledger.close()
            self._ledger = None
        if self._lock is not None:
            self._lock.close()
            self._lock = None


def digest_of_call(about: Mapping[str, Any]) -> str:
    return sha256(json.dumps(about, sort_keys=True, default=repr).encode()).hexdigest()[:32]
