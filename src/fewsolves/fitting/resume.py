"""Resuming a run: the state of a training loop, saved between two epochs and restored into a new loop.

A resumed loop first replays the calls before its first epoch from the ledger. Then the checkpoint restores weights,
Adam, random streams, best reading, monitor, loss, counts, and the position in the ledger. Calls that were paid after
the checkpoint are replayed from the ledger.
"""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fewsolves._internal.kinds import check_kinds
from fewsolves.errors import FewsolvesWarning
from fewsolves.execution.base import KINDS, Kind, paid
from fewsolves.fitting.checkpoint import MISFITS, Checkpoints, refuse_misfits
from fewsolves.fitting.result import history_facts, history_from, restore_calls
from fewsolves.methods.base import State
from fewsolves.methods.loss import ArrayLoss
from fewsolves.methods.reading import Reading
from fewsolves.oracle import Oracle
from fewsolves.predictors.predictor import Predictor
from fewsolves.problem import Array
from fewsolves.training.history import History
from fewsolves.training.loop import Standing
from fewsolves.training.monitor import RegretMonitor
from fewsolves.training.steps import Steps

COUNTS = {"ledger": int, "seconds": float, "over_budget": str | None}
PLAIN = {"epoch": int, "best_epoch": int, "refused": list[str], "learning_rates": list[float], "spent": int}


@dataclass
class Accounts:
    """The counts of a run: calls, failures, budget, history, and how far its ledger had come."""

    oracle: Oracle  # of the whole table
    history: History

    @property
    def replaying(self) -> bool:
        """Whether answers still come from the ledger: a snapshot would be behind it."""
        return self.oracle.ledger is not None and self.oracle.ledger.replays

    def facts(self) -> dict[str, Any]:
        """The counts as plain JSON."""
        oracle = self.oracle
        return {
            "calls": dataclasses.asdict(oracle.calls),
            "failures": oracle.failures.state(),
            "over_budget": oracle.budget_left.refused,
            "ledger": oracle.ledger.last if oracle.ledger is not None else 0,
            "history": history_facts(self.history.records),
            "seconds": self.history.seconds,
        }

    def restore(self, facts: Mapping[str, Any]) -> None:
        """Set the counts to what they were when `facts` were taken."""
        check_kinds(facts, COUNTS)
        oracle = self.oracle
        restore_calls(oracle.calls, facts["calls"])
        oracle.failures.restore(facts["failures"])
        oracle.budget_left.refused = facts["over_budget"]
        if oracle.ledger is not None:
            counted = {kind: oracle.calls.total(kind) - oracle.calls.shared[kind] for kind in KINDS}
            oracle.ledger.go_on_from(facts["ledger"], oracle.calls.unanswered, counted)
        self.history.go_on_from(history_from(facts["history"]), facts["seconds"])

    def ahead_of_ledger(self, facts: Mapping[str, Any]) -> bool:
        """Whether they were taken after rows that the ledger has lost; what these paid for stays spent."""
        ledger = self.oracle.ledger
        if ledger is None or int(facts["ledger"]) <= ledger.opened_with:
            return False
        missing = int(facts["ledger"]) - ledger.opened_with
        ledger.charge_at_least({kind: _paid(facts["calls"], kind) for kind in KINDS})
        warnings.warn(
            f"the ledger in {ledger.folder} has lost {missing:,} rows that were on record when a checkpoint was taken: "
            f"the checkpoint is not used, and those calls are made again; a budget counts them twice",
            FewsolvesWarning,
            stacklevel=2,
        )
        return True


class NamedCheckpoints:
    """Snapshots of a method by name (`methods.base.Checkpoints`), each with the counts of the run."""

    def __init__(self, checkpoints: Checkpoints, history: History, oracle: Oracle) -> None:
        self.checkpoints, self.accounts = checkpoints, Accounts(oracle, history)

    def save(self, name: str, arrays: Mapping[str, Array], facts: Mapping[str, Any]) -> None:
        if not (self.accounts.replaying or self.accounts.oracle.account.knows_more_than_ledger):
            self.checkpoints.save(State(dict(arrays), {"own": dict(facts), **self.accounts.facts()}), name)

    def load(self, name: str, take: Callable[[State], None]) -> bool:
        for state in self.checkpoints.load(name):
            try:
                if self.accounts.ahead_of_ledger(state.facts):
                    continue
                take(State(state.arrays, dict(state.facts["own"])))
            except MISFITS as error:
                _warn_of_misfit(self.checkpoints, error)
                continue
            with refuse_misfits(self.checkpoints.folder):
                self.accounts.restore(state.facts)
            return True
        return False


@dataclass
class Resume:
    """Takes and restores the states of one loop."""

    checkpoints: Checkpoints
    history: History
    monitor: RegretMonitor
    oracle: Oracle  # of the whole table

    def __post_init__(self) -> None:
        self.accounts = Accounts(self.oracle, self.history)

    def take(self, standing: Standing, steps: Steps) -> None:
        """Write a checkpoint where one is due."""
        self.checkpoints.save_if_due(lambda: self._state(standing, steps))

    def load(self, loss: ArrayLoss) -> State | None:
        """Restore the loss from the newest checkpoint that fits, and return that checkpoint."""
        for state in self.checkpoints.load():
            try:
                if self.accounts.ahead_of_ledger(state.facts):
                    continue
                loss.restore(State(_part(state, "loss"), state.facts["loss"]))
                return state
            except MISFITS as error:
                _warn_of_misfit(self.checkpoints, error)
        return None

    def restore(self, state: State, standing: Standing, steps: Steps) -> None:
        """Restore everything but the loss; LedgerError if the checkpoint does not fit."""
        with refuse_misfits(self.checkpoints.folder):
            self._restore(state, standing, steps)

    def _restore(self, state: State, standing: Standing, steps: Steps) -> None:
        facts = state.facts
        check_kinds(facts, PLAIN)
        _check_like("best_reading", state.arrays["best_reading"], standing.best.values)
        for name, predictor in _predictors(steps):
            predictor.load_state_dict(_part(state, name))
        standing.best, standing.best_state = Reading(state.arrays["best_reading"]), _part(state, "best")
        standing.epoch, standing.best_epoch = facts["epoch"], facts["best_epoch"]
        self._restore_adam(state, steps)
        steps.refused[:] = facts["refused"]
        steps.rng.bit_generator.state = facts["rng"]
        read_at = state.arrays.get("read_at")
        if read_at is not None:
            _check_like("read_at", read_at, steps.predictor(self.monitor.X))
        self.monitor.restore(read_at, facts["spent"])
        self.accounts.restore(facts)

    def _state(self, standing: Standing, steps: Steps) -> State | None:
        loss = steps.loss.state()
        if loss is None or self.accounts.replaying:
            return None
        arrays = _named("loss", loss.arrays) | _named("best", standing.best_state)
        for name, predictor in _predictors(steps):
            arrays |= _named(name, predictor.state_dict())
        arrays |= _named("adam", _adam(steps)) | {"best_reading": standing.best.values}
        read_at, spent = self.monitor.state()
        if read_at is not None:
            arrays["read_at"] = read_at
        facts = {
            "loss": loss.facts,
            "epoch": standing.epoch,
            "best_epoch": standing.best_epoch,
            "refused": list(steps.refused),
            "learning_rates": [steps.optimiser.learning_rate],
            "rng": steps.rng.bit_generator.state,
            "spent": spent,
            **self.accounts.facts(),
        }
        return State({name: np.array(values) for name, values in arrays.items()}, facts)

    def _restore_adam(self, state: State, steps: Steps) -> None:
        optimiser, saved = steps.optimiser, _part(state, "adam")
        per_parameter: dict[int, dict[str, Array]] = {}
        for name, values in saved.items():
            number, _, what = name.partition(".")
            per_parameter.setdefault(int(number), {})[what] = values
        optimiser.restore(_joined(per_parameter, optimiser.parameters))
        (optimiser.learning_rate,) = state.facts["learning_rates"]


def _warn_of_misfit(checkpoints: Checkpoints, error: Exception) -> None:
    reason = f"{error} is missing" if isinstance(error, KeyError) else str(error) or type(error).__name__
    message = f"a checkpoint in {checkpoints.folder} does not fit and is not used: {reason}"
    warnings.warn(message, FewsolvesWarning, stacklevel=3)


def _check_like(name: str, found: Array, like: Array) -> None:
    if found.shape != like.shape or found.dtype.kind != "f":
        raise ValueError(f"{name!r} has the shape {found.shape} and the type {found.dtype}, expected {like.shape}")


def _paid(calls: Mapping[str, Any], kind: Kind) -> int:
    """Calls of a kind that a run had begun, by its own account."""
    return int(paid(calls["counts"][kind]) - calls["shared"][kind] + calls.get("unanswered", {}).get(kind, 0))


def _predictors(steps: Steps) -> Iterable[tuple[str, Predictor]]:
    yield "predictor", steps.predictor
    if steps.kept is not steps.predictor:
        yield "kept", steps.kept


def _adam(steps: Steps) -> dict[str, Array]:
    states = steps.optimiser.state.items()
    return {f"{k}.{name}": value for k, state in states for name, value in state.items()}


def _joined(saved: Mapping[int, Mapping[str, Array]], parameters: Sequence[Array]) -> dict[int, dict[str, Array]]:
    """States of Adam by parameter; version 0.1 kept one for each weight and bias of a net that is one vector now."""
    if len(saved) <= len(parameters):
        return {k: dict(state) for k, state in saved.items()}
    rest, joined = [saved[k] for k in sorted(saved)], {}
    for k, parameter in enumerate(parameters):
        parts = [rest.pop(0)]
        while rest and sum(one["exp_avg"].size for one in parts) < parameter.size:
            parts.append(rest.pop(0))
        means = {
            name: np.concatenate([one[name].ravel() for one in parts]).reshape(parameter.shape)
            for name in ("exp_avg", "exp_avg_sq")
        }
        joined[k] = {"step": parts[0]["step"].reshape(()), **means}
    return joined


def _part(state: State, name: str) -> dict[str, Array]:
    """The arrays whose names begin with `name` and a dot, without it."""
    return {key.removeprefix(f"{name}."): values for key, values in state.arrays.items() if key.startswith(f"{name}.")}


def _named(name: str, arrays: Mapping[str, Array]) -> dict[str, Array]:
    return {f"{name}.{key}": values for key, values in arrays.items()}
