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
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch import Tensor, nn

from fewsolves.errors import InputError
from fewsolves.losses.base import OracleLoss
from fewsolves.oracle import Oracle
from fewsolves.problem import Array

SIGMA_RANGE = (1e-3, 1.0)  # the gradient goes with 1 / sigma: a sigma that collapses would make it explode


@dataclass(frozen=True, kw_only=True)
class SFGEConfig:
    """Settings of SFGE; the defaults are the paper's."""

    sigma: float = 0.1  # standard deviation of the draws at the start, in units of each parameter's own
    sigma_kind: Literal["trainable", "fixed", "annealed"] = "trainable"  # annealed: falls by `sigma_decay` each epoch
    sigma_decay: float = 0.98
    samples: int = 1  # draws, and so solves, per example and step; from 2 on the baseline is leave-one-out


class SFGELoss(OracleLoss):
    """One solve per draw; see `SFGEConfig`."""

    def __init__(self, oracle: Oracle, config: SFGEConfig, rng: np.random.Generator) -> None:
        super().__init__(oracle)
        if config.samples < 1 or config.sigma <= 0:
            raise InputError(f"sfge needs samples >= 1 and sigma > 0, got {config.samples} and {config.sigma}")
        self.config, self.rng = config, rng
        log_sigma = torch.full((oracle.n_y,), math.log(config.sigma), dtype=torch.float64)
        self.log_sigma = nn.Parameter(log_sigma, requires_grad=config.sigma_kind == "trainable")
        self._epochs = 0

    @property
    def sigma(self) -> Tensor:
        """Standard deviation of the draws, (n_y,), in standardised units."""
        return self.log_sigma.clamp(*map(math.log, SIGMA_RANGE)).exp()

    def begin_epoch(self, predict: Callable[[], Tensor]) -> None:
        if self.config.sigma_kind == "annealed" and self._epochs:
            self.log_sigma.data += math.log(self.config.sigma_decay)
        self._epochs += 1

    def forward(self, y_hat: Tensor, index: Tensor) -> Tensor:
        draws = torch.distributions.Normal(y_hat / self.scale, self.sigma)
        u, regret = self.draw(draws.mean.detach(), index)
        log_density: Tensor = draws.log_prob(u).sum(-1)
        return (torch.as_tensor(_advantage(regret)) * log_density).mean()

    def draw(self, u_hat: Tensor, index: Tensor) -> tuple[Tensor, Array]:
        """u (K, B, n_y) and their regrets (K, B), paid."""
        noise = torch.as_tensor(self.rng.standard_normal((self.config.samples, *u_hat.shape)))
        u, rows = u_hat + self.sigma.detach() * noise, index.numpy()
        paid = [self.oracle.regret(rows, points.numpy(), phase="online") for points in u * self.scale]
        return u, np.stack(paid)


def _advantage(regret: Array) -> Array:
    """(K, B): standardised over the batch for one draw each, against the other draws of the example for more."""
    draws = len(regret)
    own = draws > 1
    centred = regret - regret.mean(axis=0 if own else None)
    if own:  # R_k - mean of the others = K / (K - 1) (R_k - mean of all)
        centred *= draws / (draws - 1)
    scaled: Array = centred / np.sqrt(centred.var() + 1e-8)
    return scaled
