"""A loss: (y_hat, index) -> a scalar whose backward() trains the predictor. `GradientTrainer` minimises it.

y_hat  (B, n_y)  predictions in the units of Y, differentiable        index (B,)  positions in the training rows
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

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


class Loss(nn.Module):
    """Base of all losses; a plain prediction loss needs `forward` only."""

    def start(self, y_hat: Tensor) -> None:
        """The loop calls it once, before the first step, with the predictions (M, n_y) for all training rows.

        Args:
            y_hat: (M, n_y) Predictions.
        """

    def begin_epoch(self, predict: Callable[[], Tensor]) -> None:
        """The loop calls it before each epoch; `predict()` gives the predictions for all training rows, detached.

        Args:
            predict: Gives the predictions (M, n_y).
        """

    def with_slope(self, y_hat: Tensor, index: Tensor) -> tuple[float, Tensor] | None:
        """The value of `forward` and its gradient by y_hat (B, n_y), without autograd; None where it has no such form.

        The loop then calls `forward`, so None must change nothing. A class with a `forward` of its own needs its own.

        Args:
            y_hat: (B, n_y) Predictions.
            index: (B,) Positions in the training rows.
        """
        return None

    def trained_parameters(self) -> Iterable[nn.Parameter]:
        """The parameters that the loop trains beside the predictor."""
        return self.parameters()

    @property
    def trusted(self) -> float | None:
        """The share of this epoch's examples that needed no solve thanks to a surrogate; None without one."""
        return None

    def state(self) -> State | None:
        """Everything that training changed, for a checkpoint; None: there is none, and training is replayed."""
        return None

    def restore(self, state: State) -> None:
        """Continue from a snapshot; the loop calls it in place of `start`.

        Args:
            state: What `state` returned.
        """
        raise ValueError(f"{type(self).__name__} has no checkpoint to continue from")

    def export(self) -> ExportedSurrogate | None:
        """The learned model of the regret, for use without a solver; None where there is none."""
        return None

    def paid_points(self) -> PaidPoints | None:
        """The points that were paid for, by position in the training rows; None: none that could be used again.

        A later run over more rows reuses them, where there is no ledger.
        """
        return None

    def finish(self, y_hat: Tensor) -> dict[str, Any]:
        """The run calls it once, after training, with the final predictions: facts of the method for result.json.

        Args:
            y_hat: (M, n_y) Predictions.
        """
        return {}


class OracleLoss(Loss):
    """A loss that pays for solves: it holds the oracle of its training rows and the scale of Y."""

    scale: Tensor

    def __init__(self, oracle: Oracle) -> None:
        super().__init__()
        self.oracle = oracle
        self.register_buffer("scale", torch.as_tensor(Scale.of(oracle.Y).std))

    def _module_state(self, rng: np.random.Generator | None, **facts: Any) -> State:
        """Parameters and buffers, the random stream, and further facts."""
        arrays = {name: values.detach().numpy().copy() for name, values in self.state_dict().items()}
        return State(arrays, {"rng": rng.bit_generator.state if rng is not None else None, **facts})

    def _restore_module(self, state: State, rng: np.random.Generator | None) -> None:
        with torch.no_grad():
            for name, values in self.state_dict().items():
                values.copy_(torch.as_tensor(state.arrays[name]))
        if rng is not None:
            rng.bit_generator.state = state.facts["rng"]
