"""What makes a run the same run when it is started again, and on what terms it runs.

What came of a run as plain facts for its folder, and back again. Weights travel as arrays beside them.

The state of a training loop, taken between two epochs and put back into a loop that begins anew.

A resumed loop has replayed everything before its first epoch from the ledger. Then the state takes over: weights, Adam,
random streams, best reading, monitor, loss, counts, and how far the ledger had come. What was paid after the checkpoint
is replayed from the ledger.
"""

from __future__ import annotations

import dataclasses
import time
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from fewsolves.data import Split
from fewsolves.ledger.fingerprint import digest_of
from fewsolves.methods.base import Loss, State
from fewsolves.methods.reading import Reading
from fewsolves.oracle import Budget, Calls, Oracle, SolveConfig
from fewsolves.predictor import Predictor
from fewsolves.problem import Array
from fewsolves.runs.checkpoint import Checkpoints
from fewsolves.training.history import EpochRecord
from fewsolves.training.loop import Standing
from fewsolves.training.monitor import RegretMonitor
from fewsolves.training.steps import Steps

TERMS = ("on_failure", "penalty", "asynchronous")  # settings of the solving that change what training sees


def about_run(
    method: str, settings: tuple[Any, Any], seed: int, predictor: str | nn.Module, X: Array, split: Split
) -> dict[str, Any]:
    """Everything that training follows from, beside the problem and its Y; `settings` of the loss and of the loop."""
    about = {"method": method, "config": settings[0], "train": settings[1], "seed": seed}
    about |= {"predictor": _described(predictor), "X": digest_of(X)}
    return about | {f"{part} rows": digest_of(rows) for part, rows in vars(split).items()}


def terms_of(budget: Budget | None, solving: SolveConfig) -> dict[str, Any]:
    """What may change from start to start, and changes the way that training takes."""
    return {"budget": budget or Budget(), **{name: getattr(solving, name) for name in TERMS}}


def _described(predictor: str | nn.Module) -> str:
    """Its name, or a digest of its form and weights."""
    if isinstance(predictor, str):
        return predictor
    weights = tuple(values.detach().numpy() for values in predictor.state_dict().values())
    return digest_of((repr(predictor), *weights))


PLAIN = ("predictor_name", "stopped", "seconds", "warnings", "report", "interrupted")  # fields of a fit that are JSON


def facts_of(fitted: Any, calls: Calls) -> dict[str, Any]:
    """Of a `Fit`, all but the weights and the loss."""
    facts = {name: getattr(fitted, name) for name in PLAIN}
    facts |= {name: getattr(fitted, name).values.tolist() for name in ("start", "best")}
    return facts | {"history": history_facts(fitted.history), "calls": dataclasses.asdict(calls)}


def fields_from(
    weights: Mapping[str, Array], facts: Mapping[str, Any], candidates: Mapping[str, Predictor], calls: Calls
) -> dict[str, Any]:
    """The fields of a `Fit`; `candidates` has the predictor to fill, `calls` gets the counts."""
    found: dict[str, Any] = {name: facts[name] for name in PLAIN}
    found |= {name: Reading(np.array(facts[name])) for name in ("start", "best")}
    predictor = candidates[facts["predictor_name"]]
    predictor.load_state_dict({name: torch.tensor(values) for name, values in weights.items()})
    restore_calls(calls, facts["calls"])
    return found | {"predictor": predictor, "history": history_from(facts["history"]), "loss": None}


def weights_of(predictor: Predictor) -> dict[str, Array]:
    return {name: values.detach().numpy() for name, values in predictor.state_dict().items()}


def history_facts(history: list[EpochRecord]) -> list[dict[str, Any]]:
    return [dict(vars(record)) for record in history]


def history_from(facts: list[dict[str, Any]]) -> list[EpochRecord]:
    return [EpochRecord(**record) for record in facts]


def restore_calls(calls: Calls, facts: Mapping[str, Any]) -> None:
    """The counts of `facts`; what they count was paid before."""
    for name, value in facts.items():
        setattr(calls, name, value)
    for kind in calls.counts:
        calls.replayed[kind] = sum(calls.counts[kind].values()) - calls.shared[kind]


@dataclass
class Resume:
    """Takes and restores the states of one loop."""

    checkpoints: Checkpoints
    history: list[EpochRecord]
    began: float  # when this process began, by `time.perf_counter`
    monitor: RegretMonitor
    earlier: float = field(default=0.0, init=False)  # seconds that processes before this one spent

    def take(self, standing: Standing, steps: Steps, oracle: Oracle) -> None:
        """Write a checkpoint where one is due."""
        self.checkpoints.save_if_due(lambda: self._state(standing, steps, oracle))

    def load(self, loss: Loss) -> State | None:
        """The newest checkpoint that fits; the loss is then as it was."""
        for state in self.checkpoints.load():
            try:
                loss.restore(State(_part(state, "loss"), state.facts["loss"]))
                return state
            except (KeyError, TypeError, ValueError, RuntimeError) as error:
                folder = self.checkpoints.folder
                warnings.warn(f"a checkpoint in {folder} does not fit and is not used: {error!r}", stacklevel=2)
        return None

    def restore(self, state: State, standing: Standing, steps: Steps, oracle: Oracle) -> None:
        """Put all but the loss back."""
        facts = state.facts
        for name, predictor in _predictors(steps):
            predictor.load_state_dict(_tensors(_part(state, name)))
        standing.best, standing.best_state = Reading(state.arrays["best_reading"]), _tensors(_part(state, "best"))
        standing.epoch, standing.best_epoch = facts["epoch"], facts["best_epoch"]
        self._restore_adam(state, steps)
        steps.refused[:] = facts["refused"]
        steps.rng.bit_generator.state = facts["rng"]
        self.monitor.restore(state.arrays.get("read_at"), facts["spent"])
        restore_calls(oracle.calls, facts["calls"])
        oracle.failures.restore(facts["failures"])
        oracle.purse.refused = facts["over_budget"]
        if oracle.ledger is not None:
            oracle.ledger.go_on_from(facts["ledger"])
        self.history[:] = history_from(facts["history"])
        self.earlier = facts["seconds"] - (time.perf_counter() - self.began)

    def _state(self, standing: Standing, steps: Steps, oracle: Oracle) -> State | None:
        loss = steps.loss.state()
        if loss is None:
            return None
        arrays = _named("loss", loss.arrays) | _named("best", _arrays(standing.best_state))
        for name, predictor in _predictors(steps):
            arrays |= _named(name, _arrays(predictor.state_dict()))
        arrays |= _named("adam", _adam(steps)) | {"best_reading": standing.best.values}
        read_at, spent = self.monitor.state()
        if read_at is not None:
            arrays["read_at"] = read_at
        facts = {
            "loss": loss.facts,
            "epoch": standing.epoch,
            "best_epoch": standing.best_epoch,
            "refused": list(steps.refused),
            "learning_rates": [group["lr"] for group in steps.optimiser.param_groups],
            "rng": steps.rng.bit_generator.state,
            "spent": spent,
            "calls": dataclasses.asdict(oracle.calls),
            "failures": oracle.failures.state(),
            "over_budget": oracle.purse.refused,
            "ledger": oracle.ledger.last if oracle.ledger is not None else 0,
            "history": history_facts(self.history),
            "seconds": time.perf_counter() - self.began + self.earlier,
        }
        return State({name: np.array(values) for name, values in arrays.items()}, facts)

    def _restore_adam(self, state: State, steps: Steps) -> None:
        optimiser, saved = steps.optimiser, _part(state, "adam")
        per_parameter: dict[int, dict[str, Tensor]] = {}
        for name, values in saved.items():
            number, _, what = name.partition(".")
            per_parameter.setdefault(int(number), {})[what] = torch.tensor(values)
        content = optimiser.state_dict()
        content["state"] = per_parameter
        for group, rate in zip(content["param_groups"], state.facts["learning_rates"], strict=True):
            group["lr"] = rate
        optimiser.load_state_dict(content)


def _predictors(steps: Steps) -> Iterable[tuple[str, Predictor]]:
    yield "predictor", steps.predictor
    if steps.kept is not steps.predictor:
        yield "kept", steps.kept


def _adam(steps: Steps) -> dict[str, Array]:
    states = steps.optimiser.state_dict()["state"]
    return {f"{k}.{name}": value.numpy() for k, state in states.items() for name, value in state.items()}


def _part(state: State, name: str) -> dict[str, Array]:
    """The arrays whose names begin with `name` and a dot, without it."""
    return {key.removeprefix(f"{name}."): values for key, values in state.arrays.items() if key.startswith(f"{name}.")}


def _named(name: str, arrays: Mapping[str, Array]) -> dict[str, Array]:
    return {f"{name}.{key}": values for key, values in arrays.items()}


def _arrays(tensors: Mapping[str, Tensor]) -> dict[str, Array]:
    return {name: values.detach().numpy() for name, values in tensors.items()}


def _tensors(arrays: Mapping[str, Array]) -> dict[str, Any]:
    return {name: torch.tensor(values) for name, values in arrays.items()}
