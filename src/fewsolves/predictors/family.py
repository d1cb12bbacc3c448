"""The interface of a predictor family."""

from __future__ import annotations

from typing import Any, ClassVar

from torch import nn

from fewsolves.data import Scale, Split
from fewsolves.predictors.forecaster import Forecaster
from fewsolves.predictors.inputs import Inputs
from fewsolves.predictors.predictor import Predictor
from fewsolves.problem import Array


class PredictorFamily:
    """A kind of predictor. Subclasses define `accepts`, `blank` and, where the default does not fit, the others."""

    takes_any_table: ClassVar[bool] = False  #: X is passed unchanged to a forecaster of the user
    refits: ClassVar[bool] = False  #: can be refitted on other rows, for out-of-fold predictions
    closed_form: ClassVar[bool] = False  #: the start is solved in closed form, not trained by epochs
    pretrains: ClassVar[bool] = True  #: prediction-focused learning comes first; forecasts are that already

    def accepts(self, given: Any) -> bool:
        """Whether this `predictor=` is of the family.

        Args:
            given: What the user gave.
        """
        raise NotImplementedError

    def names(self, given: Any) -> tuple[str, ...]:
        """The names of the predictors that are started and compared.

        Args:
            given: What the user gave.
        """
        return (given,)

    def describe(self, given: Any) -> str | tuple[Any, ...]:
        """Its part in the identity of a run: a text, or anything else, of which the run takes a digest.

        Args:
            given: What the user gave.
        """
        return str(given)

    def blank(self, given: Any, name: str, n_x: int, n_y: int) -> nn.Module:
        """A module of the right form, to be filled with weights.

        Args:
            given: What the user gave.
            name: Of the predictor.
            n_x: Columns of X.
            n_y: Parameters that are predicted.
        """
        raise NotImplementedError

    def inputs(
        self, given: Any, X: Any, context: Array, Y: Array, split: Split, *, groups: Any, weights: Any, seed: int
    ) -> tuple[Forecaster | None, Inputs]:
        """The inputs of the predictor, and a fitted forecaster if there is one.

        Args:
            given: What the user gave.
            X: The table as the user gave it.
            context: (n, n_x) The columns of X that are numbers.
            Y: (n, n_y) True parameters.
            split: The rows by their use.
            groups: Labels of rows that stay together, or None.
            weights: Of the rows, or None.
            seed: Of everything that is random.
        """
        return None, Inputs(context)

    def untrained(
        self, given: Any, name: str, inputs: Inputs, Y: Array, rows: Array, *, seed: int, bounds: Any
    ) -> Predictor:
        """A new predictor with random weights, scaled by some rows.

        Args:
            given: What the user gave.
            name: Of the predictor.
            inputs: Of all rows of the table.
            Y: (n, n_y) True parameters of all rows.
            rows: Those that it is scaled by.
            seed: Of its weights.
            bounds: Of the predictions, or None.
        """
        net = self.net(given, inputs.n_x, Y.shape[1], seed)
        return Predictor(net, inputs.scale(rows), Scale.of(Y[rows]), bounds)

    def net(self, given: Any, n_x: int, n_y: int, seed: int) -> nn.Module:
        """The module of a new predictor.

        Args:
            given: What the user gave.
            n_x: Columns of X.
            n_y: Parameters that are predicted.
            seed: Of its weights.
        """
        raise NotImplementedError
