"""The family "linear": one linear layer, shared by items where x has any; it starts at ridge regression."""

from __future__ import annotations

from typing import Any

from fewsolves.predictors.family import PredictorFamily
from fewsolves.predictors.items import arranged, forms_of
from fewsolves.predictors.net import Net
from fewsolves.predictors.predictor import linear


class Linear(PredictorFamily):
    """One linear layer, whose prediction-focused start is a closed-form ridge regression."""

    known_as = forms_of("linear")
    refits = True
    closed_form = True

    def net(self, given: Any, name: str, shape: tuple[int, ...], n_y: int, seed: int | None) -> Net:
        return arranged(linear, name, shape, n_y, seed)


FAMILY = Linear()
