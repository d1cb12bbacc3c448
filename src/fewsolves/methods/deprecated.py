"""`fs.Method` of earlier versions, for one release."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from fewsolves.methods.base import LOOP, PLAIN, Context, GradientTrainer, TrainConfig, Trainer
from fewsolves.oracle import Oracle
from fewsolves.predictors.predictor import Predictor
from fewsolves.problem import Array


class _FromParts(GradientTrainer):
    """A gradient trainer that was described by the arguments of `Method`."""

    def __init__(self, name: str, summary: str, build: Callable[[Any], Any], config: Any, train: TrainConfig) -> None:
        self.name, self.summary, self.settings, self.common, self._build = name, summary, config, train, build

    def loss(self, context: Context) -> Any:
        return self._build(_Ingredients(context.train_oracle, context.train_inputs, context.predictor, context))


class _Ingredients:
    """The arguments of the `build` of a `Method`."""

    def __init__(self, oracle: Oracle, X: Array, predictor: Predictor, context: Context) -> None:
        self.oracle, self.X, self.predictor = oracle, X, predictor
        self.config, self.rng = context.settings, context.rng


def Method(  # noqa: N802 (it was a class)
    *, name: str, summary: str, build: Callable[[Any], Any], config: Any = PLAIN, train: TrainConfig = LOOP
) -> Trainer:
    """Deprecated: define a subclass of `GradientTrainer` (docs/your-own-method.md).

    Args:
        name: Its name.
        summary: One line.
        build: Makes the loss from `oracle`, `X`, `predictor`, `config` and `rng`.
        config: Settings of the loss.
        train: Settings of the loop.
    """
    warnings.warn("fs.Method is deprecated; define a subclass of fs.GradientTrainer", DeprecationWarning, stacklevel=2)
    return _FromParts(name, summary, build, config, train)
