"""Gradient steps: mini-batches and Adam.

A step whose loss or gradient is not finite, or whose predictions are far off any table, is not taken, so nothing has
to be undone: the weights and the optimiser stay at the last good step. The first time the learning rate is halved, the
second time training ends.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from fewsolves._internal.adam import Adam
from fewsolves.data import MAX_ABS
from fewsolves.methods.base import Loss, TrainConfig
from fewsolves.predictors.boosted.trees import rounds_of
from fewsolves.predictors.predictor import Predictor
from fewsolves.problem import Array
from fewsolves.training.direct import Direct, has_slope

ROUND = 10.0  # a boosting round changes predictions by this many learning rates, in standard deviations of y


class Steps:
    """The gradient steps of `predictor`, and of what the loss itself trains; `kept` follows as their mean."""

    def __init__(
        self,
        predictor: Predictor,
        loss: Loss,
        X: Tensor,
        config: TrainConfig,
        rng: np.random.Generator,
        weights: Array | None = None,
    ) -> None:
        """`weights` (M,) multiply the slope of each row: every loss is a mean over rows."""
        self.predictor, self.loss, self.X, self.config, self.rng = predictor, loss, X, config, rng
        self.rounds = rounds_of(predictor, X)
        self.kept = copy.deepcopy(predictor) if config.averaging and self.rounds is None else predictor
        self.followed = tuple(self.kept.parameters()), tuple(predictor.parameters())
        self.parameters = [p for p in (*predictor.parameters(), *loss.trained_parameters()) if p.requires_grad]
        self.optimiser = Adam(self.parameters, config.learning_rate)
        self.weight = 1.0 / (config.averaging * -(-len(X) // config.batch_size) + 1.0)
        self.refused: list[str] = []  # what was not finite
        self.row_weights = None if weights is None else torch.as_tensor(weights)[:, None]
        self.direct = Direct.of(predictor, X) if has_slope(loss) else None

    @property
    def rows_per_epoch(self) -> int:
        """Examples that an epoch sees."""
        steps, size = self.config.steps_per_epoch, self.config.batch_size
        return len(self.X) if steps is None else min(len(self.X), steps * size)

    def predict(self) -> Tensor:
        """The predictions (M, n_y) for all rows."""
        return predict(self.predictor, self.X)

    def fault(self, epoch: int) -> str | None:
        """Why training cannot go on after this epoch, or None where it can."""
        if len(self.refused) > 1:
            return self.refused[-1]
        return None if usable(self.predict()) else f"predictions were no usable numbers after epoch {epoch}"

    def epoch(self, number: int) -> float:
        """The mean loss of the steps that were taken; ends early at the second that is refused."""
        total, seen = 0.0, 0
        with torch.no_grad():  # for all steps at once
            for index in _batches(len(self.X), self.config, self.rng):
                value, fault = self._step(index)
                if fault is None:
                    total, seen = total + value * len(index), seen + len(index)
                    continue
                self.refused.append(f"{fault} in epoch {number} and that step was not taken")
                if len(self.refused) > 1:
                    break
                self.optimiser.learning_rate /= 2
                self.refused[0] += f"; the learning rate was halved to {self.config.learning_rate / 2:g}"
        if self.rounds is not None:
            self.rounds.grow(ROUND * self.optimiser.learning_rate)
        return total / seen if seen else float("nan")

    def _step(self, index: Tensor) -> tuple[float, str | None]:
        """The loss, and why the step was not taken, or None where it was."""
        self.optimiser.zero_grad()
        y_hat, value = None, self._without_autograd(index)
        if value is None:
            with torch.enable_grad():
                y_hat = self.predictor(self.X[index])
                if not usable(y_hat.detach()):  # before a solver sees it
                    return float("nan"), "a prediction was not a usable number"
                value = self._by_autograd(y_hat, index)
        if not math.isfinite(value):
            return value, f"the loss was {value}"
        if y_hat is not None or self.direct is None or not self.direct.finite():
            sizes = torch._foreach_norm([p.grad for p in self.parameters if p.grad is not None], math.inf)
            if not math.isfinite(sum(map(float, sizes))):
                return value, "the gradient was not finite"
        self.optimiser.step()
        if self.rounds is not None and y_hat is not None and y_hat.grad is not None:
            self.rounds.note(index, len(index) * y_hat.grad)
        if self.kept is not self.predictor:
            torch._foreach_lerp_(self.followed[0], self.followed[1], self.weight)
        return value, None

    def _by_autograd(self, y_hat: Tensor, index: Tensor) -> float:
        """The loss; leaves the gradient of each parameter."""
        if self.row_weights is not None and y_hat.requires_grad:
            weights = self.row_weights[index]
            y_hat.register_hook(lambda slope: weights * slope)
        if self.rounds is not None:
            y_hat.retain_grad()
        loss = self.loss(y_hat, index)
        loss.backward()
        return float(loss.detach())

    def _without_autograd(self, index: Tensor) -> float | None:
        """The same to the last bit, sooner; None where predictor or loss cannot."""
        if self.direct is None:
            return None
        y_hat = self.direct.predict(index)
        found = self.loss.with_slope(y_hat, index) if usable(y_hat) else None
        if found is None:
            return None
        value, slope = found
        self.direct.back(slope if self.row_weights is None else self.row_weights[index] * slope)
        return value


def predict(predictor: Predictor, X: Tensor) -> Tensor:
    """y_hat (M, n_y), without gradient."""
    with torch.no_grad():
        y_hat: Tensor = predictor(X)
    return y_hat


def usable(y_hat: Tensor) -> bool:
    """Whether predictions are numbers of a size that a table may have."""
    numbers = y_hat.numpy()
    if numbers.dtype == np.float64 and np.vdot(numbers, numbers) <= MAX_ABS**2:  # then each of them is
        return True
    low, high = map(float, torch.aminmax(y_hat))
    return low >= -MAX_ABS and high <= MAX_ABS  # both false for NaN


def _batches(n: int, config: TrainConfig, rng: np.random.Generator) -> Iterator[Tensor]:
    """The rows of one epoch: in a random order, reshuffled if an epoch is longer than a pass."""
    in_a_pass = -(-n // config.batch_size)
    left = config.steps_per_epoch or in_a_pass
    while left > 0:
        order = torch.as_tensor(rng.permutation(n))
        yield from order.split(config.batch_size)[:left]
        left -= in_a_pass
