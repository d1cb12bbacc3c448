"""The family "linear": one linear layer, whose prediction-focused start is a closed-form ridge regression."""

from __future__ import annotations

from typing import Any

from torch import nn

from fewsolves.predictors.family import PredictorFamily
from fewsolves.predictors.predictor import linear


class Linear(PredictorFamily):
    """One linear layer, whose prediction-focused start is a closed-form ridge regression."""

    refits = True
    closed_form = True

    def accepts(self, given: Any) -> bool:
        return isinstance(given, str) and given == "linear"

    def blank(self, given: Any, name: str, n_x: int, n_y: int) -> nn.Module:
        return linear(n_x, n_y, seed=0)

    def net(self, given: Any, n_x: int, n_y: int, seed: int) -> nn.Module:
        return linear(n_x, n_y, seed=seed)


FAMILY = Linear()
