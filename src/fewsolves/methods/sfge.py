"""Score function gradient estimation (Silvestri et al.): the regret of a random prediction, and the score of the draw.

In units of each parameter's standard deviation s, with u_hat = y_hat / s:

    u   ~ N(u_hat, diag sigma^2)          (K, B, n_y)  K draws for each example
    R   = r(s u)                           (K, B)       paid
    A   = R minus a baseline, scaled       (K, B)
    loss = mean of A log N(u; u_hat, sigma), whose gradient is that of the smoothed regret E[r(s u)]
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal

import numpy as np
import torch
from torch import Tensor, nn

from fewsolves.errors import InputError
from fewsolves.methods.base import Context, GradientTrainer, OracleLoss, State
from fewsolves.oracle import Oracle
from fewsolves.problem import Array
from fewsolves.settings import setting, settings

SIGMA_RANGE = (1e-3, 1.0)  # the gradient goes with 1 / sigma: a sigma that collapses would make it explode


@settings
class SFGEConfig:
    """Settings of SFGE; the defaults are the paper's."""

    sigma: float = setting(
        "standard deviation of the draws at the start, in units of each parameter's own", default=0.1, above=0
    )
    sigma_kind: Literal["trainable", "fixed", "annealed"] = setting(
        "whether it is trained with the predictor, stays, or falls by `sigma_decay` each epoch", default="trainable"
    )
    sigma_decay: float = setting("factor of sigma from epoch to epoch, where it is annealed", default=0.98, above=0)
    samples: int = setting(
        "draws, and so solves, per example and step; from 2 on the baseline is leave-one-out", default=1, least=1
    )


class SFGELoss(OracleLoss):
    """One solve per draw; see `SFGEConfig`."""

    def __init__(self, oracle: Oracle, config: SFGEConfig, rng: np.random.Generator) -> None:
        super().__init__(oracle)
        self.config, self.rng = config, rng
        log_sigma = torch.full((oracle.n_y,), math.log(config.sigma), dtype=torch.float64)
        self.log_sigma = nn.Parameter(log_sigma, requires_grad=config.sigma_kind == "trainable")
        self._epochs = 0
        self._draws: int | None = None  # most draws in a mini-batch of this epoch

    @property
    def sigma(self) -> Tensor:
        """Standard deviation of the draws, (n_y,), in standardised units."""
        return self.log_sigma.clamp(*map(math.log, SIGMA_RANGE)).exp()

    def begin_epoch(self, predict: Callable[[], Tensor]) -> None:
        if self._draws == 1:  # stop after one epoch, before the others are paid for
            raise InputError(
                "no step was possible: draws are compared within a mini-batch, and each had only one; "
                "use a larger batch_size, or samples=2 with sfge"
            )
        self._draws = None
        if self.config.sigma_kind == "annealed" and self._epochs:
            self.log_sigma.data += math.log(self.config.sigma_decay)
        self._epochs += 1

    def forward(self, y_hat: Tensor, index: Tensor) -> Tensor:
        draws = torch.distributions.Normal(y_hat / self.scale, self.sigma)
        u, regret = self.draw(draws.mean.detach(), index)
        self._draws = max(self._draws or 0, regret.size)
        log_density: Tensor = draws.log_prob(u).sum(-1)
        return (torch.as_tensor(_advantage(regret)) * log_density).mean()

    def state(self) -> State:
        return self._module_state(self.rng, epochs=self._epochs, draws=self._draws)

    def restore(self, state: State) -> None:
        self._restore_module(state, self.rng)
        self._epochs, self._draws = state.facts["epochs"], state.facts["draws"]

    def draw(self, u_hat: Tensor, index: Tensor) -> tuple[Tensor, Array]:
        """u (K, B, n_y) and their regrets (K, B), paid."""
        noise = torch.as_tensor(self.rng.standard_normal((self.config.samples, *u_hat.shape)))
        u, rows = u_hat + self.sigma.detach() * noise, index.numpy()
        drawn = (u_hat * self.scale).numpy(), (self.sigma.detach() * self.scale).numpy()
        paid = [self.oracle.regret(rows, points.numpy(), phase="online", drawn=drawn) for points in u * self.scale]
        return u, np.stack(paid)


def _advantage(regret: Array) -> Array:
    """(K, B): standardised over the batch for one draw each, against the other draws of the example for more.

    NaN, a solve that failed, has no part in it: its advantage is 0.
    """
    known = ~np.isnan(regret)
    if not known.all():
        return _advantage_among(regret, known)
    draws = len(regret)
    own = draws > 1
    centred = regret - regret.mean(axis=0 if own else None)
    if own:  # R_k - mean of the others = K / (K - 1) (R_k - mean of all)
        centred *= draws / (draws - 1)
    variance, floor = centred.var(), 1e-8
    if variance < 1e-6:  # costs in large units, or ties: the floor must not hide the one, nor rounding move the other
        if np.abs(centred).max() <= 1e-12 * np.abs(regret).max():
            return np.zeros_like(regret)
        floor = 0.01 * variance
    scaled: Array = centred / np.sqrt(variance + floor)
    return scaled


def _advantage_among(regret: Array, known: Array) -> Array:
    """The same where some draws failed; an example of several draws needs two that did not."""
    if len(regret) > 1:
        known = known & (known.sum(axis=0) > 1)
        n = np.maximum(known.sum(axis=0), 2)
        own = np.where(known, regret, 0.0)
        advantage: Array = np.where(known, (own - own.sum(axis=0) / n) * n / (n - 1), 0.0)
        return advantage / np.sqrt(advantage[known].var() + 1e-8) if known.any() else advantage
    advantage = np.zeros_like(regret)
    if known.any():
        advantage[known] = _advantage(regret[known][None])[0]
    return advantage


class SFGE(GradientTrainer):
    """Minimises `SFGELoss`."""

    name = "sfge"
    summary = "score function gradients of the smoothed regret; any problem, one solve per example and epoch"
    settings = SFGEConfig()

    def loss(self, context: Context) -> SFGELoss:
        return SFGELoss(context.train_oracle, self.settings, context.rng)


METHOD = SFGE()
