"""What makes a run the same run when it is started again, and on what terms it runs."""

from __future__ import annotations

from typing import Any

from torch import nn

from fewsolves.data import Split
from fewsolves.oracle import Budget, SolveConfig
from fewsolves.oracle.fingerprint import digest_of
from fewsolves.problem import Array

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
