"""A loss in torch: (y_hat, index) -> a scalar whose backward() trains the predictor. `GradientTrainer` minimises it.

y_hat  (B, n_y)  predictions in the units of Y, differentiable        index (B,)  positions in the training rows
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn

from fewsolves.data import Scale
from fewsolves.methods.loss import ArrayLoss, State
from fewsolves.oracle import Oracle
from fewsolves.oracle.former import PaidPoints
from fewsolves.problem import Array

if TYPE_CHECKING:
    from fewsolves.methods.gp_surrogate.surrogate.export import ExportedSurrogate


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


class Bridged(ArrayLoss):
    """A torch loss in the form of one in NumPy; slopes come from autograd, or from `with_slope` where it has that."""

    def __init__(self, loss: Loss) -> None:
        self.loss = loss
        self._trained = [one for one in loss.trained_parameters() if one.requires_grad]
        self._has_slope = has_slope(loss)

    def start(self, y_hat: Array) -> None:
        self.loss.start(torch.as_tensor(y_hat))

    def begin_epoch(self, predict: Callable[[], Array]) -> None:
        self.loss.begin_epoch(lambda: torch.as_tensor(predict()))

    def with_slope(self, y_hat: Array, index: Array) -> tuple[float, Array | None]:
        for one in self._trained:
            one.grad = None
        points, rows = torch.as_tensor(y_hat), torch.as_tensor(index)
        with torch.no_grad():
            found = self.loss.with_slope(points, rows) if self._has_slope else None
        if found is not None:
            return found[0], found[1].numpy()
        with torch.enable_grad():
            value = self.loss(points.requires_grad_(), rows)
            value.backward()
        return float(value.detach()), None if points.grad is None else points.grad.numpy()

    def value(self, y_hat: Array, index: Array) -> float:
        with torch.no_grad():
            return float(self.loss(torch.as_tensor(y_hat), torch.as_tensor(index)))

    def trained(self) -> list[Array]:
        return [one.detach().numpy() for one in self._trained]

    def trained_slopes(self) -> list[Array | None]:
        return [None if one.grad is None else one.grad.numpy() for one in self._trained]

    @property
    def trusted(self) -> float | None:
        return self.loss.trusted

    def state(self) -> State | None:
        return self.loss.state()

    def restore(self, state: State) -> None:
        self.loss.restore(state)

    def export(self) -> ExportedSurrogate | None:
        return self.loss.export()

    def paid_points(self) -> PaidPoints | None:
        return self.loss.paid_points()

    def finish(self, y_hat: Array) -> dict[str, Any]:
        with torch.no_grad():
            return self.loss.finish(torch.as_tensor(y_hat))


def has_slope(loss: Loss) -> bool:
    """Whether `with_slope` belongs to the loss's own `forward`: a subclass that overrides `forward` alone has none."""
    of = {name: next(one for one in type(loss).__mro__ if name in vars(one)) for name in ("forward", "with_slope")}
    return of["with_slope"] is not Loss and issubclass(of["with_slope"], of["forward"])
