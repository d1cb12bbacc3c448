"""The interface of a predictor family."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

from fewsolves.data import Scale, Split, check_table
from fewsolves.predictors.forecaster import Forecaster, checked_context
from fewsolves.predictors.inputs import Inputs
from fewsolves.predictors.items import BY_ITEM, FLAT, Shared
from fewsolves.predictors.net import Net
from fewsolves.predictors.predictor import Predictor, Scaled
from fewsolves.problem import Array


class ScaledBy(NamedTuple):
    """The table by which a new predictor is scaled, and its options."""

    inputs: Inputs  #: of all rows
    Y: Array  #: (n, n_y) true parameters of all rows
    rows: Array  #: those that it is scaled by
    seed: int  #: of its weights
    bounds: Any = None  #: of the predictions; None: none
    scale: Scaled | None = None  #: what is standardised around a module of the user


class PredictorFamily:
    """A kind of predictor. Subclasses define `known_as`, `net` and, where the default does not fit, the others."""

    known_as: ClassVar[tuple[str, ...]] = ()  #: texts that select it as `predictor=`
    takes_any_table: ClassVar[bool] = False  #: X is passed unchanged to a forecaster of the user
    refits: ClassVar[bool] = False  #: can be refitted on other rows, for out-of-fold predictions
    closed_form: ClassVar[bool] = False  #: the start is solved in closed form, not trained by epochs
    pretrains: ClassVar[bool] = True  #: prediction-focused learning comes first; forecasts are that already
    given: ClassVar[bool] = False  #: the user built it, and may have trained it: it is kept where that is good

    @property
    def offered(self) -> tuple[str, ...]:
        """Its names in an error message: without the forms for items, which few need."""
        return tuple(name for name in self.known_as if not name.endswith((BY_ITEM, FLAT)))

    def accepts(self, given: Any) -> bool:
        """Whether an object that is no text is of the family.

        Args:
            given: What the user gave as `predictor=`.
        """
        return False

    def checked(self, X: Any, Y: Any) -> tuple[Array, Array]:
        """A table, checked: X as far as it is numbers, and Y.

        Args:
            X: (n, ...) What the user gave.
            Y: (n, n_y) True parameters.
        """
        return checked_context(X, Y) if self.takes_any_table else check_table(X, Y)

    def names(self, given: Any, shape: tuple[int, ...], n_y: int) -> tuple[str, ...]:
        """The names of the predictors that are started and compared.

        Args:
            given: What the user gave.
            shape: Of a row of X.
            n_y: Parameters that are predicted.
        """
        return (given,)

    def takes_scale(self, given: Any) -> bool:
        """Whether `scale=` says what is standardised around it; the other predictors have scales of their own.

        Args:
            given: What the user gave.
        """
        return False

    def describe(self, given: Any) -> str | tuple[Any, ...]:
        """Its part in the identity of a run: a text, or anything else, of which the run takes a digest.

        Args:
            given: What the user gave.
        """
        return str(given)

    def own(self, given: Any) -> Any:
        """An object of the user that computes, and whose whole state is part of the identity of a run; None: none.

        Args:
            given: What the user gave.
        """
        return None

    def blank(self, given: Any, name: str, shape: tuple[int, ...], n_y: int) -> Any:
        """A net of the right form, to be filled with weights.

        Args:
            given: What the user gave.
            name: Of the predictor.
            shape: Of a row of X.
            n_y: Parameters that are predicted.
        """
        return self.net(given, name, shape, n_y, seed=None)

    def inputs(
        self, given: Any, X: Any, context: Array, Y: Array, split: Split, *, groups: Any, weights: Any, seed: int
    ) -> tuple[Forecaster | None, Inputs]:
        """The inputs of the predictor, and a fitted forecaster if there is one.

        Args:
            given: What the user gave.
            X: The table as the user gave it.
            context: (n, ...) X, as far as it is numbers.
            Y: (n, n_y) True parameters.
            split: The rows by their use.
            groups: Labels of rows that stay together, or None.
            weights: Of the rows, or None.
            seed: The seed of all random numbers.
        """
        return None, Inputs(context)

    def untrained(self, given: Any, name: str, table: ScaledBy) -> Predictor:
        """A new predictor before its start, scaled by some rows.

        Args:
            given: What the user gave.
            name: Of the predictor.
            table: Rows that it is scaled by, and the options of a new predictor.
        """
        net = self.net(given, name, table.inputs.shape, table.Y.shape[1], table.seed)
        y = table.Y[table.rows]
        y_scale = Scale.shared(y) if isinstance(net, Shared) else Scale.of(y)
        return Predictor(net, table.inputs.scale(table.rows), y_scale, table.bounds)

    def net(self, given: Any, name: str, shape: tuple[int, ...], n_y: int, seed: int | None) -> Net:
        """The net of a new predictor.

        Args:
            given: What the user gave.
            name: Of the predictor.
            shape: Of a row of X.
            n_y: Parameters that are predicted.
            seed: Of its weights. None: they are not drawn.
        """
        raise NotImplementedError
