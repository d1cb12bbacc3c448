"""memo: SFGE that looks up the nearest point paid for before it pays again; memory, and no surrogate.

In units of each parameter's standard deviation, with u_hat = y_hat / s and the points u_k that example i has paid for:

    u  = the u_k nearest to u_hat, where |u_k - u_hat| <= radius sigma sqrt(d): its regret is known
    u  ~ N(u_hat, sigma^2)         elsewhere: its regret is paid and remembered

and then the score function loss of `methods.sfge` at u. A draw lies about sigma sqrt(d) from its u_hat, so a radius
above 1 is what u_hat may move before it pays again.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from fewsolves.methods.base import Context, Demand, GradientTrainer, State
from fewsolves.methods.sfge import SFGEConfig, SFGELoss
from fewsolves.oracle import Oracle
from fewsolves.problem import Array, Problem
from fewsolves.settings import setting, settings


@settings
class MemoConfig:
    """Settings of memo."""

    sigma: float = setting("standard deviation of the draws, in units of each parameter's own", default=0.1, above=0)
    radius: float = setting(
        "a paid point is used again within this many sigma sqrt(n_y) of the prediction", default=1.5, above=0
    )


def refuse(problem: Problem) -> str | None:
    """Why memo does not fit this problem, or None where it does."""
    if problem.deterministic:
        return None
    return "it reuses a paid answer at the same point, but two solves of this problem differ; use 'sfge'"


PAID = ("paid.points", "paid.regrets", "paid.count")  # of the state of the loss


class MemoLoss(SFGELoss):
    """At most one solve per example and step; see `MemoConfig`."""

    def __init__(self, oracle: Oracle, config: MemoConfig, rng: np.random.Generator) -> None:
        super().__init__(oracle, SFGEConfig(sigma=config.sigma, sigma_kind="fixed"), rng)
        self.reach = config.radius * config.sigma * math.sqrt(oracle.n_y)
        self._count = np.zeros(len(oracle), dtype=np.int64)
        self._points = np.full((len(oracle), 1, oracle.n_y), np.inf)  # inf: not paid yet
        self._regrets = np.zeros((len(oracle), 1))
        self._queries = self._reused = 0

    @property
    def trusted(self) -> float | None:
        return self._reused / self._queries if self._queries else None

    def begin_epoch(self, predict: Callable[[], Array]) -> None:
        super().begin_epoch(predict)
        self._queries = self._reused = 0

    def state(self) -> State:
        state, paid = super().state(), (self._points, self._regrets, self._count)
        return State(state.arrays | dict(zip(PAID, paid, strict=True)), state.facts)

    def restore(self, state: State) -> None:
        super().restore(state)
        self._points, self._regrets, self._count = (state.arrays[name].copy() for name in PAID)

    def draw(self, u_hat: Array, index: Array) -> tuple[Array, Array]:
        noise = self.rng.standard_normal(u_hat.shape) * self.sigma
        distance = np.linalg.norm(self._points[index] - u_hat[:, None], axis=-1)
        nearest, new = distance.argmin(axis=-1), distance.min(axis=-1) > self.reach
        u = self._points[index, nearest]
        u[new] = (u_hat + noise)[new]
        regret = self._regrets[index, nearest]
        if new.any():
            regret[new] = self.oracle.regret(index[new], u[new] * self.scale, phase="online")
            paid = new & ~np.isnan(regret)  # a solve that failed is nothing to reuse
            if paid.any():
                self._remember(index[paid], u[paid], regret[paid])
        self._queries, self._reused = self._queries + len(index), self._reused + len(index) - int(new.sum())
        return u[None], regret[None]

    def _remember(self, index: Array, u: Array, regret: Array) -> None:
        place = self._count[index]
        if int(place.max()) == self._points.shape[1]:  # full: twice the room
            self._points = np.concatenate([self._points, np.full_like(self._points, np.inf)], axis=1)
            self._regrets = np.concatenate([self._regrets, np.zeros_like(self._regrets)], axis=1)
        self._points[index, place] = u
        self._regrets[index, place] = regret
        self._count[index] += 1


class Memo(GradientTrainer):
    """Minimises `MemoLoss`."""

    name = "memo"
    summary = "sfge that reuses the nearest paid point of a row; any problem, a fraction of sfge's solves"
    settings = MemoConfig()

    def loss(self, context: Context) -> MemoLoss:
        return MemoLoss(context.train_oracle, self.settings, context.rng)

    def demand(self, n_y: int) -> Demand:
        return Demand(bytes_stored=45)

    def refuse(self, problem: Problem) -> str | None:
        return refuse(problem)


METHOD = Memo()
