"""A forecaster of the user, which is not changed, and a trained correction of its forecasts."""

from __future__ import annotations

from typing import Any

import numpy as np

from fewsolves.data import Split
from fewsolves.predictors.correction import corrected, uncorrected
from fewsolves.predictors.family import PredictorFamily, ScaledBy
from fewsolves.predictors.forecaster import Forecaster, forecast
from fewsolves.predictors.inputs import Inputs
from fewsolves.predictors.items import has_items
from fewsolves.predictors.net import Net, is_torch_module
from fewsolves.predictors.predictor import Predictor
from fewsolves.predictors.regressor import is_forecaster, name_of
from fewsolves.problem import Array


class Corrected(PredictorFamily):
    """The inputs of the correction are the context and out-of-fold forecasts."""

    takes_any_table = True
    pretrains = False

    def accepts(self, given: Any) -> bool:
        return is_forecaster(given) and not isinstance(given, Predictor) and not is_torch_module(given)

    def names(self, given: Any, shape: tuple[int, ...], n_y: int) -> tuple[str, ...]:
        return (name_of(given),)

    def describe(self, given: Any) -> str:
        return f"forecaster {name_of(given)}"  # its forecasts are part of the inputs

    def library(self, given: Any) -> str | None:
        """The library of a booster; None for a regressor of the user."""
        return None

    def blank(self, given: Any, name: str, shape: tuple[int, ...], n_y: int) -> Net:
        return uncorrected(shape[-1], np.ones(n_y), self.library(given), shared=has_items(shape, n_y))

    def inputs(
        self, given: Any, X: Any, context: Array, Y: Array, split: Split, *, groups: Any, weights: Any, seed: int
    ) -> tuple[Forecaster | None, Inputs]:
        forecaster, inputs = forecast(given, X, Y, split, groups=groups, weights=weights, seed=seed)
        return forecaster, Inputs(inputs)

    def untrained(self, given: Any, name: str, table: ScaledBy) -> Predictor:
        rows = table.rows
        return corrected(table.inputs.take(rows), table.Y[rows], seed=table.seed, library=self.library(given))


FAMILY = Corrected()
