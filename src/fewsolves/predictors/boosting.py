"""Boosted trees: a prediction-focused booster by XGBoost or LightGBM, and rounds on top of its forecasts."""

from __future__ import annotations

from typing import Any

from fewsolves.data import Split
from fewsolves.predictors.boosted.trees import LIBRARIES, booster
from fewsolves.predictors.correcting import Corrected
from fewsolves.predictors.forecaster import Forecaster, forecast
from fewsolves.predictors.inputs import Inputs
from fewsolves.problem import Array


class Boosting(Corrected):
    """The booster is fitted here; its further rounds are what is trained for decisions."""

    takes_any_table = False

    def accepts(self, given: Any) -> bool:
        return isinstance(given, str) and given in LIBRARIES

    def names(self, given: Any) -> tuple[str, ...]:
        return (given,)

    def describe(self, given: Any) -> str:
        return str(given)

    def library(self, given: Any) -> str | None:
        return str(given)

    def inputs(
        self, given: Any, X: Any, context: Array, Y: Array, split: Split, *, groups: Any, weights: Any, seed: int
    ) -> tuple[Forecaster | None, Inputs]:
        parts = {"groups": groups, "weights": weights, "seed": seed, "library": given}
        forecaster, inputs = forecast(booster(given), context, Y, split, **parts)
        return forecaster, Inputs(inputs)


FAMILY = Boosting()
