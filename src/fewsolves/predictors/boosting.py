"""Boosted trees: a prediction-focused booster by XGBoost or LightGBM, and rounds on top of its forecasts.

Where x has items, one booster is shared by them, and so is a correction of its forecasts.
"""

from __future__ import annotations

from typing import Any

from fewsolves.data import Split
from fewsolves.errors import InputError
from fewsolves.predictors.boosted.trees import LIBRARIES, booster
from fewsolves.predictors.correcting import Corrected
from fewsolves.predictors.forecaster import Forecaster, forecast
from fewsolves.predictors.inputs import Inputs
from fewsolves.predictors.items import has_items
from fewsolves.predictors.regressor import SharedByItems
from fewsolves.problem import Array


class Boosting(Corrected):
    """The booster is fitted here; its further rounds are what is trained for decisions."""

    known_as = LIBRARIES
    takes_any_table = False

    def accepts(self, given: Any) -> bool:
        return False  # it is chosen by name

    def names(self, given: Any, shape: tuple[int, ...], n_y: int) -> tuple[str, ...]:
        return (given,)

    def describe(self, given: Any) -> str:
        return str(given)

    def library(self, given: Any) -> str | None:
        return str(given)

    def inputs(
        self, given: Any, X: Any, context: Array, Y: Array, split: Split, *, groups: Any, weights: Any, seed: int
    ) -> tuple[Forecaster | None, Inputs]:
        parts = {"groups": groups, "weights": weights, "seed": seed, "library": given}
        regressor: Any = booster(given)
        if context.ndim > 2:
            if not has_items(context.shape[1:], Y.shape[1]):
                raise InputError(
                    f"predictor {given!r} takes tables, and X of shape (n, items, features) with {Y.shape[1]} items, "
                    f"one for each column of Y; X has shape {context.shape}"
                )
            regressor = SharedByItems(regressor)
        forecaster, inputs = forecast(regressor, context, Y, split, **parts)
        return forecaster, Inputs(inputs)


FAMILY = Boosting()
