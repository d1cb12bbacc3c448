"""The folder of a run: its ledger, its checkpoints and its result.

    ledger.sqlite, ledger.tally, lock       see `ledger.ledger`; may lie in another folder that several runs share
    checkpoint-{0,1}.{safetensors,json}     see `checkpoint`; those of a method are checkpoint-of-NAME-{0,1}
    fit.json, weights.safetensors           the result, from which the run returns when it is started again
    surrogate.{json,safetensors}            what it learned of the regret, where the method learns it
    result.json, history.csv, report.html   the result for readers

A run is identified by its inputs: method, settings, seed, predictor, table and split (`Prepared.about`). Its terms
(budget, what happens to failures) may change when it is started again; then it continues from the ledger, not from a
checkpoint.
"""

from __future__ import annotations

import dataclasses
import json
import warnings
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fewsolves._internal.text import clean
from fewsolves.errors import FewsolvesWarning, InputError
from fewsolves.execution.base import KINDS, Kind, paid
from fewsolves.fitting.checkpoint import Checkpoints, read_pair, refuse_misfits, write_pair
from fewsolves.fitting.prepare import Prepared
from fewsolves.ledger.folder_lock import FolderLock, lock_folder
from fewsolves.ledger.ledger import Ledger, open_ledger
from fewsolves.ledger.opening import make_usable
from fewsolves.problem import Array

if TYPE_CHECKING:
    from fewsolves.methods.gp_surrogate.surrogate.export import ExportedSurrogate


class RunFolder:
    """The folder of a plan. Entering it takes the lock and opens the ledger; errors come before anything is paid."""

    ledger: Ledger

    def __init__(self, prepared: Prepared, path: Path) -> None:
        self.prepared, self.plan, self.path = prepared, prepared.plan, path
        call = f"{digest_of_call(prepared.about)} {digest_of_call(self.plan.terms)}"
        self.checkpoints = Checkpoints(path, call)
        self._lock: FolderLock | None = None

    def __enter__(self) -> RunFolder:
        plan, about = self.plan, self.prepared.about
        place = plan.ledger or self.path
        make_usable(self.path)
        self.checkpoints.check_free()
        make_usable(place)
        if place.resolve() != self.path.resolve():
            self._lock = lock_folder(self.path)
        options = {"adopt": plan.adopt, "replays_failures": plan.solving.on_failure != "raise"}
        try:
            self.ledger = open_ledger(
                place, plan.problem, plan.Y, identity=digest_of_call(about), about=about, **options
            )
            if self.ledger.replays:
                plan.own_objects.warn_of_uncompared(self.path)
            self.ledger.note_start(self._terms())
        except BaseException:
            self._unlock()
            raise
        return self

    def _terms(self) -> dict[str, Any]:
        """Facts about the run for `fewsolves watch`."""
        plan = self.plan
        rows = {part: len(rows) for part, rows in vars(self.prepared.split).items()}
        terms = {"method": plan.method.name, "rows": rows, "budget": dataclasses.asdict(plan.budget)}
        return terms | ({"regret": "relative"} if plan.solving.regret == "relative" else {})

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, *trace: object) -> None:
        if error is not None:
            self.ledger.note_end(f"It was ended by {type(error).__name__}: {clean(str(error), 500)}")
        self.ledger.close()
        self._unlock()

    def finished(self) -> tuple[dict[str, Array], dict[str, Any]] | None:
        """Weights and facts of this run, if it has ended."""
        try:
            weights, facts = read_pair(self.path / "weights.safetensors", self.path / "fit.json")
        except ValueError:
            return None
        if not isinstance(facts, dict):
            return None
        done = facts.get("call") == self.checkpoints.call and not facts.get("interrupted")
        ended_at = facts.get("ledger")
        if done and type(ended_at) is int and ended_at > self.ledger.last:
            missing = ended_at - self.ledger.last
            said = f"the ledger in {self.ledger.folder} has lost {missing:,} rows that it had when this run ended"
            warnings.warn(
                f"{said}; this result is not affected, but other runs pay for them again",
                FewsolvesWarning,
                stacklevel=2,
            )
        if done and type(ended_at) is int and ended_at <= self.ledger.opened_with:  # it ended before this start
            with refuse_misfits(self.path, "fit.json"):
                self.ledger.settle(_counted(facts["calls"]))
        return (weights, facts) if done else None

    def finish(self, weights: Mapping[str, Array], facts: Mapping[str, Any]) -> None:
        """Write the result; an interrupted run resumes from its checkpoints next time."""
        content = {**facts, "call": self.checkpoints.call, "ledger": self.ledger.last}
        write_pair(self.path / "weights.safetensors", self.path / "fit.json", weights, content)
        if not facts.get("interrupted"):
            self.checkpoints.clear()

    def surrogate(self, facts: Mapping[str, Any]) -> ExportedSurrogate | None:
        """The surrogate of the finished run with these facts; None if its files are gone."""
        if not facts.get("surrogate"):
            return None
        from fewsolves.methods.gp_surrogate.surrogate.export import load_surrogate  # brings a compiler

        try:
            return load_surrogate(self.path)
        except InputError as error:
            warnings.warn(
                f"the surrogate of this run cannot be read; its other results are complete: {error}",
                FewsolvesWarning,
                stacklevel=2,
            )
            return None

    def result(self) -> dict[str, Any] | None:
        """The facts that `keep_result` wrote for this run."""
        found = self.finished()
        return None if found is None else found[1].get("result")

    def keep_result(self, result: Mapping[str, Any]) -> None:
        """Add facts about the finished run."""
        found = self.finished()
        if found is not None:
            self.finish(found[0], {**found[1], "result": result})

    def _unlock(self) -> None:
        if self._lock is not None:
            self._lock.close()
            self._lock = None


def folder_of(prepared: Prepared) -> AbstractContextManager[RunFolder | None]:
    """A context manager for the folder of a plan; it yields None for a plan without a folder."""
    folder = prepared.plan.folder
    return nullcontext() if folder is None else RunFolder(prepared, folder)


def _counted(calls: Mapping[str, Any]) -> dict[Kind, int]:
    """Calls that a run has paid, by its own account, without those of the test."""
    return {kind: paid(calls["counts"][kind]) - calls["shared"][kind] for kind in KINDS}


def digest_of_call(about: Mapping[str, Any]) -> str:
    return sha256(json.dumps(about, sort_keys=True, default=repr).encode()).hexdigest()[:32]
