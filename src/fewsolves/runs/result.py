"""What came of a run: a `Fit`, and the same as plain facts for its folder, and back again.

Weights travel as arrays beside the facts. The loss is not kept.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from fewsolves.data import Split
from fewsolves.methods.base import Loss, Method
from fewsolves.methods.reading import Reading
from fewsolves.oracle import Calls, Oracle
from fewsolves.predictor import Predictor
from fewsolves.problem import Array
from fewsolves.training.history import EpochRecord


@dataclass(frozen=True, kw_only=True)
class Fit:
    """A trained predictor and everything that is known about how it came to be."""

    method: Method
    predictor: Predictor
    predictor_name: str
    oracle: Oracle  # of the whole table
    split: Split
    start: Reading  # validation regret of the prediction-focused start
    best: Reading  # validation regret of the result
    X_train: Array
    loss: Loss | None  # None for prediction-focused learning
    stopped: str
    seconds: float
    history: list[EpochRecord] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    report: dict[str, Any] = field(default_factory=dict)  # what the method itself has to tell, for result.json
    interrupted: bool = False  # by Ctrl-C or SIGTERM


def facts_of(fitted: Fit) -> dict[str, Any]:
    """All but the weights and the loss."""
    return {
        "predictor_name": fitted.predictor_name,
        "stopped": fitted.stopped,
        "seconds": fitted.seconds,
        "warnings": fitted.warnings,
        "report": fitted.report,
        "interrupted": fitted.interrupted,
        "start": fitted.start.values.tolist(),
        "best": fitted.best.values.tolist(),
        "history": history_facts(fitted.history),
        "calls": dataclasses.asdict(fitted.oracle.calls),
    }


def weights_of(fitted: Fit) -> dict[str, Array]:
    return {name: values.detach().numpy() for name, values in fitted.predictor.state_dict().items()}


def recovered_fit(
    weights: Mapping[str, Array],
    facts: Mapping[str, Any],
    *,
    candidates: Mapping[str, Predictor],
    method: Method,
    oracle: Oracle,
    split: Split,
    X_train: Array,
) -> Fit:
    """From `weights_of` and `facts_of` a run; `candidates` has the predictor to fill, the oracle gets the counts."""
    predictor = candidates[facts["predictor_name"]]
    predictor.load_state_dict({name: torch.tensor(values) for name, values in weights.items()})
    restore_calls(oracle.calls, facts["calls"])
    return Fit(
        method=method,
        predictor=predictor,
        oracle=oracle,
        split=split,
        X_train=X_train,
        loss=None,
        predictor_name=facts["predictor_name"],
        start=Reading(np.array(facts["start"])),
        best=Reading(np.array(facts["best"])),
        stopped=facts["stopped"],
        seconds=facts["seconds"],
        history=history_from(facts["history"]),
        warnings=facts["warnings"],
        report=facts["report"],
        interrupted=facts["interrupted"],
    )


def history_facts(records: Sequence[EpochRecord]) -> list[dict[str, Any]]:
    return [dict(vars(record)) for record in records]


def history_from(facts: Sequence[Mapping[str, Any]]) -> list[EpochRecord]:
    return [EpochRecord(**record) for record in facts]


def restore_calls(calls: Calls, facts: Mapping[str, Any]) -> None:
    """The counts of `facts`; what they count was paid before."""
    for name, value in facts.items():
        setattr(calls, name, value)
    for kind in calls.counts:
        calls.replayed[kind] = sum(calls.counts[kind].values()) - calls.shared[kind]
