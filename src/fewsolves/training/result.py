"""What came of a run as plain facts for its folder, and back again. Weights travel as arrays beside them."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from fewsolves.oracle import Calls
from fewsolves.predictor import Predictor
from fewsolves.problem import Array
from fewsolves.training.history import EpochRecord
from fewsolves.training.monitor import Reading

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
