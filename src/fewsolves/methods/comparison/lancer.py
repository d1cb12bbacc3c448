"""LANCER (Zharmagambetov et al., 2023): a network learns the regret of an error, the predictor descends on it, in turn.

Each epoch, with the network M of `methods.comparison.local_network`:

    y_hat  = h(x), r = r_i(y_hat_i)                 one solve for every example
    M      some Adam steps on mean (M(y_hat, y) - r)^2
    h      some Adam steps on mean M(h(x), y), M fixed     `steps_per_epoch` of the training loop
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
import torch
from torch import Tensor, nn

from fewsolves.methods.base import Context, GradientTrainer, TrainConfig
from fewsolves.methods.comparison.local_forms import Preset
from fewsolves.methods.comparison.local_network import RegretNetwork
from fewsolves.methods.torch_loss import OracleLoss
from fewsolves.oracle import Oracle
from fewsolves.settings import setting, settings


@settings
class LANCERConfig:
    """Settings of LANCER."""

    preset: Preset = setting(
        "paper: raw units, squared errors without their sign, ReLU output; robust: ours", default="robust"
    )
    surrogate_steps: int = setting("Adam steps of the network in each epoch", default=10, least=1)
    surrogate_learning_rate: float = setting("learning rate of the network", default=1e-3, above=0)
    weight_decay: float = setting("weight decay of the network", default=0.01, least=0)
    replay: bool = setting("fit the network to the regrets of all epochs, else to those of this one", default=False)


class LANCERLoss(OracleLoss):
    """One solve per example and epoch; see `LANCERConfig`."""

    Y: Tensor

    def __init__(self, oracle: Oracle, config: LANCERConfig, rng: np.random.Generator) -> None:
        super().__init__(oracle)
        self.config = config
        robust = config.preset == "robust"
        self.register_buffer("Y", torch.tensor(oracle.Y))
        self.unit = self.scale if robust else torch.ones_like(self.scale)
        self.network = RegretNetwork(oracle.n_y, signed=robust, positive=nn.Softplus if robust else nn.ReLU, rng=rng)
        self._adam = torch.optim.AdamW(
            self.network.parameters(), lr=config.surrogate_learning_rate, weight_decay=config.weight_decay, fused=True
        )
        self._paid: list[tuple[Tensor, Tensor]] = []  # errors (n, d) and regrets (n,), by epoch
        self._size: float | None = None if robust else 1.0  # of a regret

    def trained_parameters(self) -> Iterable[nn.Parameter]:
        return ()  # the network has its own steps

    def begin_epoch(self, predict: Callable[[], Tensor]) -> None:
        y_hat = predict()
        regret = self.oracle.regret(np.arange(len(self.oracle)), y_hat.numpy(), phase="online")
        known = ~np.isnan(regret)  # the others failed
        if not known.any():
            return
        y_hat, regret = y_hat[known], regret[known]
        if self._size is None:  # fixed from now on, or the network would chase its own scale
            self._size = max(float(regret.std()), 1e-12)
        self._paid = self._paid if self.config.replay else []
        self._paid.append((self._error(y_hat, torch.as_tensor(known)), torch.as_tensor(regret / self._size).float()))
        errors, regrets = (torch.cat(parts) for parts in zip(*self._paid, strict=True))
        for _ in range(self.config.surrogate_steps):
            self._adam.zero_grad()
            (self.network(errors) - regrets).square().mean().backward()
            self._adam.step()

    def forward(self, y_hat: Tensor, index: Tensor) -> Tensor:
        value: Tensor = self.network(self._error(y_hat, index)).double().mean()
        return value

    def _error(self, y_hat: Tensor, index: Tensor) -> Tensor:
        return ((y_hat - self.Y[index]) / self.unit).float()


class LANCER(GradientTrainer):
    """Minimises `LANCERLoss`."""

    name = "lancer"
    summary = "a network learns the regret while the predictor trains on it; any problem, one solve per row and epoch"
    settings = LANCERConfig()
    common = TrainConfig(batch_size=128, steps_per_epoch=10, max_epochs=50, patience=10)

    def loss(self, context: Context) -> LANCERLoss:
        return LANCERLoss(context.train_oracle, self.settings, context.rng)


METHOD = LANCER()
