"""The loss of the GP surrogate for a torch loop of one's own: what `methods.gp_surrogate` computes in NumPy."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from fewsolves.data import check_matrix
from fewsolves.errors import InputError
from fewsolves.methods.gp_surrogate.config import GPSurrogateConfig
from fewsolves.methods.gp_surrogate.gp.tensors import rows_of
from fewsolves.methods.gp_surrogate.loss import SurrogateLoss
from fewsolves.methods.gp_surrogate.surrogate.calibration import Calibration
from fewsolves.methods.gp_surrogate.surrogate.export import ExportedSurrogate
from fewsolves.methods.gp_surrogate.surrogate.regret import RegretSurrogate
from fewsolves.methods.loss import State
from fewsolves.methods.torch_loss import OracleLoss
from fewsolves.methods.torch_slopes import as_points, with_slopes
from fewsolves.oracle import Oracle
from fewsolves.oracle.former import PaidPoints
from fewsolves.problem import Array, Problem


class _Sigma(nn.Module):
    """The width of the draws as a parameter, in the memory that the loss draws with."""

    def __init__(self, log_sigma: Array, *, trainable: bool) -> None:
        super().__init__()
        self.log_sigma = nn.Parameter(torch.from_numpy(log_sigma), requires_grad=trainable)


class GPSurrogateLoss(OracleLoss):
    """A loss for any torch loop, with one Gaussian process for each row of Y.

    >>> import numpy as np, torch, fewsolves as fs
    >>> X = torch.randn(40, 3, dtype=torch.float64)
    >>> Y = (10 + X @ torch.ones(3, 2).double()).numpy()
    >>> def cost(y, z):
    ...     return float((z + 9 * np.maximum(y - z, 0)).sum())
    >>> problem = fs.Problem(solve=lambda y_hat: y_hat, cost=cost)
    >>> net = torch.nn.Linear(3, 2).double()
    >>> loss = fs.GPSurrogateLoss(problem, Y)
    >>> loss.start(net(X))  # evaluates each row at a few points around its prediction
    >>> index = torch.arange(8)
    >>> loss(net(X[index]), index).backward()

    `begin_epoch()` once per epoch refits hyperparameters. Without `start`, the first call samples the box of Y.

    Args:
        problem: The problem, or an `Oracle` that has it already, with a budget or a ledger of its own.
        Y: (M, n_y) True parameters of the training rows; left out with an oracle.
        config: Settings. None: the defaults.
        seed: The seed of all random numbers.
    """

    def __init__(
        self, problem: Problem | Oracle, Y: Any = None, config: GPSurrogateConfig | None = None, *, seed: Any = 0
    ) -> None:
        super().__init__(problem if isinstance(problem, Oracle) else Oracle(problem, check_matrix("Y", Y)))
        self.arrays = SurrogateLoss(self.oracle, config, seed=seed)  #: what computes, in NumPy
        self.noise = _Sigma(self.arrays.noise.log_sigma, trainable=self.config.train_sigma)

    @property
    def config(self) -> GPSurrogateConfig:
        """The settings."""
        return self.arrays.config

    @property
    def surrogate(self) -> RegretSurrogate | None:
        """The learned model of the regret; None before `start` and the first call."""
        return self.arrays.surrogate

    def start(self, y_hat: Tensor) -> None:
        self.arrays.start(as_points(y_hat))

    def begin_epoch(self, predict: Callable[[], Tensor] | None = None) -> None:
        self.arrays.begin_epoch()

    @property
    def trusted(self) -> float | None:
        return self.arrays.trusted

    def forward(self, y_hat: Tensor, index: Tensor) -> Tensor:
        """The loss of some rows; pays for a solve where the surrogate is not sure.

        Args:
            y_hat: (B, n_y) Predictions, differentiable.
            index: (B,) Positions in the training rows.
        """
        value, slope = self.arrays.with_slope(as_points(y_hat), rows_of(index))
        (by_log_sigma,) = self.arrays.trained_slopes() or [None]
        return with_slopes(y_hat, value, slope, self.noise.log_sigma, by_log_sigma)

    def finish(self, y_hat: Tensor) -> dict[str, Any]:
        """Return facts about the surrogate for result.json; pays for a few held-out solves at the final predictions.

        Args:
            y_hat: (M, n_y) Predictions for all training rows.
        """
        return self.arrays.finish(as_points(y_hat))

    def paid_points(self) -> PaidPoints | None:
        return self.arrays.paid_points()

    def state(self) -> State | None:
        return self.arrays.state()

    def restore(self, state: State) -> None:
        self.arrays.restore(state)

    def export(self) -> ExportedSurrogate | None:
        return self.arrays.export()

    def save(self, folder: str | Path) -> Path:
        """Write the surrogate; `fewsolves.load_surrogate` reads it, to train other predictors without a solve.

        Args:
            folder: Where to write.
        """
        exported = self.export()
        if exported is None:
            raise InputError("nothing was learned yet: call start() or train first")
        return exported.save(folder)

    def calibration(self, y_hat: Tensor, rows: Array, regret: Array) -> Calibration:
        """The posterior against regrets that it has not seen.

        Args:
            y_hat: (B, n_y) Predictions.
            rows: (B,) Positions in the training rows.
            regret: (B,) Their paid regrets.
        """
        return self.arrays.calibration(as_points(y_hat), rows, regret)
