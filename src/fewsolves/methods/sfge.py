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

from fewsolves.errors import InputError
from fewsolves.methods.base import Context, GradientTrainer, State
from fewsolves.methods.loss import PayingLoss, stream_state
from fewsolves.oracle import Oracle
from fewsolves.problem import Array
from fewsolves.settings import setting, settings

LOG_2_PI = math.log(2.0 * math.pi)
SIGMA_RANGE = (1e-3, 1.0)  # the gradient goes with 1 / sigma: a sigma that collapses would make it explode
LOG_RANGE = math.log(SIGMA_RANGE[0]), math.log(SIGMA_RANGE[1])


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
        "draws, and so solves, per row and step; from 2 on the baseline is leave-one-out", default=1, least=1
    )


class SFGELoss(PayingLoss):
    """One solve per draw; see `SFGEConfig`."""

    def __init__(self, oracle: Oracle, config: SFGEConfig, rng: np.random.Generator) -> None:
        super().__init__(oracle)
        self.config, self.rng = config, rng
        self.log_sigma = np.full(oracle.n_y, math.log(config.sigma))
        self._slope_of_sigma: Array | None = None
        self._epochs = 0
        self._draws: int | None = None  # most draws in a mini-batch of this epoch

    @property
    def sigma(self) -> Array:
        """Standard deviation of the draws, (n_y,), in standardised units."""
        return np.asarray(np.exp(np.clip(self.log_sigma, *LOG_RANGE)))

    def trained(self) -> list[Array]:
        return [self.log_sigma] if self.config.sigma_kind == "trainable" else []

    def trained_slopes(self) -> list[Array | None]:
        return [self._slope_of_sigma] if self.config.sigma_kind == "trainable" else []

    def begin_epoch(self, predict: Callable[[], Array]) -> None:
        if self._draws == 1:  # stop after one epoch, before the others are paid for
            raise InputError(
                "no step was possible: draws are compared within a mini-batch, and each had only one; "
                "use a larger batch_size, or samples=2 with sfge"
            )
        self._draws = None
        if self.config.sigma_kind == "annealed" and self._epochs:
            self.log_sigma += math.log(self.config.sigma_decay)
        self._epochs += 1

    def with_slope(self, y_hat: Array, index: Array) -> tuple[float, Array]:
        u_hat, sigma = y_hat / self.scale, self.sigma
        u, regret = self.draw(u_hat, index)
        self._draws = max(self._draws or 0, regret.size)
        return self.scored(u, u_hat, sigma, _advantage(regret))

    def scored(self, u: Array, u_hat: Array, sigma: Array, advantage: Array) -> tuple[float, Array]:
        """The mean of A log N(u; u_hat, sigma), and its slope by y_hat; that by log sigma is kept."""
        off, share = (u - u_hat) / sigma, advantage[..., None] / advantage.size
        log_density = -0.5 * np.square(off).sum(-1) - np.log(sigma).sum() - 0.5 * len(sigma) * LOG_2_PI
        within = (self.log_sigma >= LOG_RANGE[0]) & (self.log_sigma <= LOG_RANGE[1])
        self._slope_of_sigma = within * (share * (np.square(off) - 1.0)).sum(axis=(0, 1))
        slope = (share * off / sigma).sum(axis=0) / self.scale
        return float((advantage * log_density).mean()), slope

    def state(self) -> State:
        facts = {"rng": stream_state(self.rng), "epochs": self._epochs, "draws": self._draws}
        return State({"scale": self.scale.copy(), "log_sigma": self.log_sigma.copy()}, facts)

    def restore(self, state: State) -> None:
        self.log_sigma[:] = state.arrays["log_sigma"]
        self.rng.bit_generator.state = state.facts["rng"]
        self._epochs, self._draws = state.facts["epochs"], state.facts["draws"]

    def draw(self, u_hat: Array, index: Array) -> tuple[Array, Array]:
        """u (K, B, n_y) and their regrets (K, B), paid."""
        noise = self.rng.standard_normal((self.config.samples, *u_hat.shape))
        u, drawn = u_hat + self.sigma * noise, (u_hat * self.scale, self.sigma * self.scale)
        paid = [self.oracle.regret(index, points, phase="online", drawn=drawn) for points in u * self.scale]
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
    summary = "score function gradients of the smoothed regret; any problem, one solve per row and epoch"
    settings = SFGEConfig()

    def loss(self, context: Context) -> SFGELoss:
        return SFGELoss(context.train_oracle, self.settings, context.rng)


METHOD = SFGE()
