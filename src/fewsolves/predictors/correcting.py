"""A forecaster of the user, which is not changed, and a trained correction of its forecasts."""

from __future__ import annotations

from typing import Any

import numpy as np
from torch import nn

from fewsolves.data import Split
from fewsolves.predictors.correction import corrected, uncorrected
from fewsolves.predictors.family import PredictorFamily
from fewsolves.predictors.forecaster import Forecaster, forecast, is_forecaster, name_of
from fewsolves.predictors.inputs import Inputs
from fewsolves.predictors.predictor import Predictor
from fewsolves.problem import Array


class Corrected(PredictorFamily):
    """The inputs of the correction are the context and out-of-fold forecasts."""

    takes_any_table = True
    pretrains = False

    def accepts(self, given: Any) -> bool:
        return is_forecaster(given) and not isinstance(given, nn.Module)

    def names(self, given: Any) -> tuple[str, ...]:
        return (name_of(given),)

    def describe(self, given: Any) -> str:
        return f"forecaster {name_of(given)}"  # its forecasts are part of the inputs

    def library(self, given: Any) -> str | None:
        """The library of a booster; None for a regressor of the user."""
        return None

    def blank(self, given: Any, name: str, n_x: int, n_y: int) -> nn.Module:
        return uncorrected(n_x, np.ones(n_y), self.library(given))

    def inputs(
        self, given: Any, X: Any, context: Array, Y: Array, split: Split, *, groups: Any, weights: Any, seed: int
    ) -> tuple[Forecaster | None, Inputs]:
        forecaster, inputs = forecast(given, X, Y, split, groups=groups, weights=weights, seed=seed)
        return forecaster, Inputs(inputs)

    def untrained(
        self, given: Any, name: str, inputs: Inputs, Y: Array, rows: Array, *, seed: int, bounds: Any
    ) -> Predictor:
        return corrected(inputs.take(rows), Y[rows], seed=seed, library=self.library(given))


FAMILY = Corrected()
