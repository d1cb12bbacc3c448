"""A loss of predictions in NumPy: its value, and its slope by the predictions. `GradientTrainer` minimises it.

y_hat  (B, n_y)  predictions in the units of Y        index (B,)  positions in the training rows
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fewsolves.data import Scale
from fewsolves.oracle import Oracle
from fewsolves.oracle.former import PaidPoints
from fewsolves.problem import Array

if TYPE_CHECKING:
    from fewsolves.methods.gp_surrogate.surrogate.export import ExportedSurrogate


class State(NamedTuple):
    """A snapshot of a part of training, as arrays and as plain JSON."""

    arrays: dict[str, Array]  #: by name
    facts: dict[str, Any]  #: what JSON can hold


class ArrayLoss:
    """Base of losses in NumPy; a plain prediction loss needs `with_slope` only. A torch loss derives from `fs.Loss`."""

    def start(self, y_hat: Array) -> None:
        """The loop calls it once, before the first step, with the predictions (M, n_y) for all training rows."""

    def begin_epoch(self, predict: Callable[[], Array]) -> None:
        """The loop calls it before each epoch; `predict()` gives the predictions for all training rows."""

    def with_slope(self, y_hat: Array, index: Array) -> tuple[float, Array | None]:
        """The value, and its slope (B, n_y) by y_hat; None where it does not depend on it."""
        raise NotImplementedError

    def value(self, y_hat: Array, index: Array) -> float:
        """The value alone."""
        return self.with_slope(y_hat, index)[0]

    def trained(self) -> list[Array]:
        """Arrays that the loop trains beside the predictor, in the memory that the loss computes with."""
        return []

    def trained_slopes(self) -> list[Array | None]:
        """The slopes of the last value by `trained`."""
        return []

    @property
    def trusted(self) -> float | None:
        """The share of this epoch's examples that needed no solve thanks to a surrogate; None without one."""
        return None

    def state(self) -> State | None:
        """Everything that training changed, for a checkpoint; None: there is none, and training is replayed."""
        return None

    def restore(self, state: State) -> None:
        """Continue from a snapshot; the loop calls it in place of `start`."""
        raise ValueError(f"{type(self).__name__} has no checkpoint to continue from")

    def export(self) -> ExportedSurrogate | None:
        """The learned model of the regret, for use without a solver; None where there is none."""
        return None

    def paid_points(self) -> PaidPoints | None:
        """The points that were paid for, by position in the training rows; None: none that could be used again."""
        return None

    def finish(self, y_hat: Array) -> dict[str, Any]:
        """The run calls it once, after training, with the final predictions: facts of the method for result.json."""
        return {}


class PayingLoss(ArrayLoss):
    """A loss that pays for solves: it holds the oracle of its training rows and the scale of Y."""

    def __init__(self, oracle: Oracle) -> None:
        self.oracle, self.scale = oracle, Scale.of(oracle.Y).std


def stream_state(rng: np.random.Generator | None) -> Any:
    """The state of a random stream as plain JSON; None where there is no stream."""
    return None if rng is None else rng.bit_generator.state


def as_array_loss(loss: Any) -> ArrayLoss:
    """The loss itself, or a torch loss in the form of one in NumPy."""
    if isinstance(loss, ArrayLoss):
        return loss
    from fewsolves.methods.torch_loss import Bridged

    return Bridged(loss)
