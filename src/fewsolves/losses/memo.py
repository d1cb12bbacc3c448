"""memo: SFGE that looks up the nearest point paid for before it pays again; memory, and no surrogate.

In units of each parameter's standard deviation, with u_hat = y_hat / s and the points u_k that example i has paid for:

    u  = the u_k nearest to u_hat, where |u_k - u_hat| <= radius sigma sqrt(d): its regret is known
    u  ~ N(u_hat, sigma^2)         elsewhere: its regret is paid and remembered

and then the score function loss of `losses.sfge` at u. A draw lies about sigma sqrt(d) from its u_hat, so a radius
above 1 is what u_hat may move before it pays again.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from fewsolves.errors import InputError
from fewsolves.losses.sfge import SFGEConfig, SFGELoss
from fewsolves.oracle import Oracle
from fewsolves.problem import Array, Problem


@dataclass(frozen=True, kw_only=True)
class MemoConfig:
    """Settings of memo."""

    sigma: float = 0.1  # standard deviation of the draws, in units of each parameter's own
    radius: float = 1.5  # a paid point is used again within this many sigma sqrt(n_y) of the prediction


def refuse(problem: Problem) -> str | None:
    """Why memo does not fit this problem, or None where it does."""
    if problem.deterministic:
        return None
    return "it takes a paid solve for the answer at the same point, and two solves of this problem differ; use 'sfge'"


class MemoLoss(SFGELoss):
    """At most one solve per example and step; see `MemoConfig`."""

    def __init__(self, oracle: Oracle, config: MemoConfig, rng: np.random.Generator) -> None:
        super().__init__(oracle, SFGEConfig(sigma=config.sigma, sigma_kind="fixed"), rng)
        if config.radius <= 0:
            raise InputError(f"memo needs radius > 0, got {config.radius}")
        self.reach = config.radius * config.sigma * math.sqrt(oracle.n_y)
        self._points: list[list[Tensor]] = [[] for _ in range(len(oracle))]
        self._regrets: list[list[float]] = [[] for _ in range(len(oracle))]
        self._asked = self._known = 0

    @property
    def trusted(self) -> float | None:
        return self._known / self._asked if self._asked else None

    def begin_epoch(self, predict: Callable[[], Tensor]) -> None:
        self._asked = self._known = 0

    def draw(self, u_hat: Tensor, index: Tensor) -> tuple[Tensor, Array]:
        u, regret = u_hat.clone(), np.empty(len(u_hat))
        noise = torch.as_tensor(self.rng.standard_normal(u_hat.shape)) * self.sigma.detach()
        if os.environ.get("VARIANT")=="A":
            u = u_hat + noise
            known = np.array([self._recallA(k, int(i), u, regret) for k, i in enumerate(index)])
        else:
            known = np.array([self._recall(k, int(i), u, regret) for k, i in enumerate(index)])
            u[~known] += noise[~known]
        if not known.all():
            new = index[~known]
            regret[~known] = self.oracle.regret(new.numpy(), (u[~known] * self.scale).numpy(), phase="online")
            for k in np.flatnonzero(~known):
                self._points[index[k]].append(u[k])
                self._regrets[index[k]].append(regret[k])
        self._asked, self._known = self._asked + len(index), self._known + int(known.sum())
        return u[None], regret[None]

    def _recallA(self, k, i, u, regret):
        if not self._points[i]: return False
        distance, nearest = (torch.stack(self._points[i]) - u[k]).norm(dim=1).min(0)
        if distance > self.reach: return False
        regret[k] = self._regrets[i][nearest]
        return True

    def _recall(self, k: int, i: int, u: Tensor, regret: Array) -> bool:
        """Put the nearest paid point of example i into row k, where there is one within reach."""
        if not self._points[i]:
            return False
        distance, nearest = (torch.stack(self._points[i]) - u[k]).norm(dim=1).min(0)
        if distance > self.reach:
            return False
        u[k], regret[k] = self._points[i][nearest], self._regrets[i][nearest]
        return True
