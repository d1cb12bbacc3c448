"""The contract of a stand-in for the solver: the regret of row i at u from known decisions, without a solve.

R_i(u)   regret of row i at the prediction u                V  (B, M, d)  points near u (B, d)
z_k      known decisions, at points P_k                      C_ik          regret of z_k for row i

A stand-in is one file that ends in a class with these members, and a name in `stand_ins/__init__.py`.
`fewsolves.testing.check_stand_in` is its test.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from fewsolves.methods.staged.pool import Pool
from fewsolves.methods.staged.tuning import Tuning
from fewsolves.problem import Array

FORGETTING = 0.99  # of the sums that rho is fitted to, by step
PAIRS_OF_ONE = 10  # paid pairs that the belief rho = 1 is worth


@dataclass(frozen=True, kw_only=True)
class DescentPlan:
    """How far a descent goes, and what it pays."""

    epochs: float
    solves: int = 0  # in all, at most
    pay: Literal["points", "pairs"] = "pairs"  # points teach the stand-in only; pairs also correct the slope
    sigma: float  # of pairs, and of the probes of a stand-in without slope
    rate: float
    batch: int = 32
    jitter: float = 0.0  # standard deviation of single points around the prediction
    residual: float | None = None  # weight of a paid residual; None: that of an unbiased estimate
    grow: bool = True  # whether paid decisions enter the pool


@dataclass(frozen=True)
class Prior:
    """The prior of a change by this source, in shares of the start's regret."""

    mean: float
    sd: float


class StandIn:
    """Predicts regrets of rows near their predictions; subclasses define `value`, `plan` and what else differs."""

    name: str
    prior: Prior
    sloped = False  #: whether `slope` is exact; else it is an estimate from random directions

    def __init__(self, pool: Pool, tuning: Tuning) -> None:
        self.pool, self.tuning = pool, tuning
        self.rho, self._sums = 1.0, np.zeros(3)
        self.signal = 1.0  # correlation of predicted and paid differences in the pilot; without a pilot, 1

    def fit_rho(self, predicted: Array, true: Array) -> None:
        """Fit rho, the coefficient of its slopes, to paid differences (B,): those predicted, and the true ones.

        It is least squares on all pairs that were paid so far, the last ones counting most, shrunk towards 1 as long as
        they are few.
        """
        self._sums = FORGETTING * self._sums + [(predicted * true).sum(), (predicted**2).sum(), len(true)]
        products, squares, pairs = self._sums
        belief = PAIRS_OF_ONE / max(1.0, pairs) * squares
        if squares > 0:
            self.rho = float(np.clip((products + belief) / (squares + belief), 0.0, 1.5))

    def state(self) -> dict[str, Any]:
        """What it has learned, for the end of a stage: all its attributes but the pool, which is saved apart.

        They are None, text, numbers, arrays, or lists, tuples and dicts of these; else a killed run is replayed.
        """
        return {name: value for name, value in vars(self).items() if name not in ("pool", "tuning")}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take what `state` returned."""
        vars(self).update(state)

    @property
    def expected(self) -> Prior:
        """Its prior, where the mean shrinks with what the pilot has shown of it: noise is not expected to gain."""
        return Prior(max(0.0, self.signal) * self.prior.mean, self.prior.sd)

    @classmethod
    def applicable(cls, pool: Pool) -> bool:
        """Whether the problem has what it needs; costs no solve. A random solver's decisions cannot be exchanged."""
        return not pool.rows.oracle.problem.noisy_solve

    def refresh(self) -> None:
        """Take in what the pool has learned."""

    def value(self, index: Array, u: Array, V: Array) -> Array:
        """R (B, M) of rows `index` at V (B, M, d); NaN where nothing is known."""
        raise NotImplementedError

    @property
    def sigma(self) -> float:
        """Width of the draws over which an estimated slope is smoothed."""
        return self.tuning.width(self.pool.rows.d, 0.7)

    def slope(self, index: Array, u: Array) -> Array:
        """dR/du (B, d); this estimate probes `value` along random directions, with both signs."""
        e = self.draw_directions(len(index))
        m, around = e.shape[1], u[:, None] + self.sigma * np.concatenate([e, -e], axis=1)
        value = self.value(index, u, around)
        return self.combine(np.nan_to_num((value[:, :m] - value[:, m:]) / 2), e)

    def slope_along(self, index: Array, u: Array, along: Array) -> Array:
        """The part (B, d) of dR/du in the direction `along` (d,), of length sqrt(d); from two values."""
        value = self.value(index, u, u[:, None] + self.sigma * np.stack([along, -along]))
        change = np.nan_to_num((value[:, 0] - value[:, 1]) / 2)
        return np.asarray(change[:, None] * along / (self.sigma * len(along)))

    def draw_directions(self, b: int) -> Array:
        """(b, m, d): random directions for b rows."""
        d = self.pool.rows.d
        return directions(self.pool.rows.rng, b, min(self.tuning.directions, 2 * d), d)

    def combine(self, change: Array, e: Array) -> Array:
        """(B, d): the slope, from the changes (B, m) of R along the directions e, sigma times as long."""
        return np.asarray(np.einsum("bm,bmd->bd", change, e) / (e.shape[1] * self.sigma))

    def query_points(self, index: Array, u: Array, drawn: Array) -> Array:
        """(B, d) Where a solve for these rows at u teaches it most; `drawn` (B, d) are draws around u."""
        return drawn

    def plan(self, solves: int, paid: int) -> DescentPlan:
        """The descent of all weights with this many solves, where `paid` were paid before."""
        raise NotImplementedError


def directions(rng: np.random.Generator, b: int, m: int, d: int) -> Array:
    """(b, m, d): random directions of length sqrt(d), orthogonal in groups of d so that none repeats another."""
    out = rng.standard_normal((b, m, d))
    for k in range(0, m, d):
        q = np.linalg.qr(out[:, k : k + d].transpose(0, 2, 1))[0].transpose(0, 2, 1)
        out[:, k : k + d] = q * rng.choice([-1.0, 1.0], size=(b, q.shape[1], 1))
    return np.asarray(out * math.sqrt(d))
