"""What every method is: (y_hat, index) -> a scalar whose backward() trains the predictor.

y_hat  (B, n_y)  predictions in the units of Y, differentiable        index (B,)  positions in the training rows
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from fewsolves.data import Scale
from fewsolves.oracle import Oracle
from fewsolves.problem import Array


class State(NamedTuple):
    """What a part of training knows, as arrays and as plain JSON."""

    arrays: dict[str, Array]
    facts: dict[str, Any]


class Loss(nn.Module):
    """Base of all methods; a plain prediction loss needs `forward` only."""

    def start(self, y_hat: Tensor) -> None:
        """Once, before the first step, with the predictions (M, n_y) for all training rows."""

    def begin_epoch(self, predict: Callable[[], Tensor]) -> None:
        """Before each epoch; `predict()` gives the predictions for all training rows, without gradient."""

    def trained_parameters(self) -> Iterable[nn.Parameter]:
        """What the loop trains beside the predictor."""
        return self.parameters()

    @property
    def trusted(self) -> float | None:
        """Share of this epoch's examples that needed no solve thanks to a surrogate; None without one."""
        return None

    def state(self) -> State | None:
        """All that training changed, for a checkpoint; None where it cannot be told: training is then replayed."""
        return None

    def restore(self, state: State) -> None:
        """Go on from what `state` told, in place of `start`."""
        raise ValueError(f"{type(self).__name__} tells no state, so there is none to go on from")

    def finish(self, y_hat: Tensor) -> dict[str, Any]:
        """Once, after training, with the final predictions: what this method has to tell, for result.json."""
        return {}


class OracleLoss(Loss):
    """A loss that pays: it knows the oracle of its training rows and the scale of Y."""

    scale: Tensor

    def __init__(self, oracle: Oracle) -> None:
        super().__init__()
        self.oracle = oracle
        self.register_buffer("scale", torch.as_tensor(Scale.of(oracle.Y).std))

    def _module_state(self, rng: np.random.Generator | None, **facts: Any) -> State:
        """Parameters and buffers, the random stream, and what else is told."""
        arrays = {name: values.detach().numpy().copy() for name, values in self.state_dict().items()}
        return State(arrays, {"rng": rng.bit_generator.state if rng is not None else None, **facts})

    def _restore_module(self, state: State, rng: np.random.Generator | None) -> None:
        with torch.no_grad():
            for name, values in self.state_dict().items():
                values.copy_(torch.as_tensor(state.arrays[name]))
        if rng is not None:
            rng.bit_generator.state = state.facts["rng"]
