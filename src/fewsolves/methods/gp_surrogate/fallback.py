"""What happens where the surrogate is not trusted: a solve is paid and the surrogate learns from it.

    u        (B, d)   predictions in standardised units        rows (B,)   their examples
    m, R     (B,)     what the surrogate believed of the paid point, and what it turned out to be, both standardised
    answer   (B,)     a loss for each in the units of the surrogate, so that both kinds add up; its slope by u (B, d)

`sfge` is the paper's fallback. `acquire` has none: it pays where the surrogate is unsure, updates the surrogate, and
queries it again. Its share `correction` goes to the score function instead, with what the surrogate believed
before the draw as control variate. A tangent and not m(point), whose gradient is smoothed by the draw, and not what
was learned from the draw itself, which depends on it:

    t(point) = m(u) + grad m(u)' (point - u)
    gradient = grad m(u) + (R - t(point)) grad log N(point; u, sigma)          unbiased, whatever m is
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple, Protocol, get_args

import numpy as np

from fewsolves.errors import InputError, NotApplicableError
from fewsolves.methods.gp_surrogate.surrogate.regret import RegretSurrogate
from fewsolves.methods.linear import refuse
from fewsolves.methods.sfge import LOG_2_PI, LOG_RANGE
from fewsolves.methods.spo_plus import SPOPlusLoss
from fewsolves.oracle import Oracle
from fewsolves.problem import Array, Problem

FallbackName = Literal["acquire", "sfge", "multi-sample", "spo+"]
DRAWS = 4  # of the multi-sample fallback


class Answer(NamedTuple):
    """Losses of some rows, and their slopes: each by its own u, and their sum by the logarithm of sigma."""

    loss: Array  # (B,)
    slope: Array  # (B, d)
    by_log_sigma: Array | None = None  # (d,); None: they do not depend on sigma


class Fallback(Protocol):
    """Pays at or near u, records the samples, and answers with a loss."""

    surrogate_weight: float  # weight of the surrogate's own loss beside the answer, once it has learned
    draws: int  # solves for each row

    def __call__(self, u: Array, rows: Array, surrogate: RegretSurrogate) -> Answer: ...


class Draw(NamedTuple):
    """Points drawn from N(u, sigma^2)."""

    point: Array  # (B, d)
    off: Array  # (B, d) point - u, in units of sigma
    sigma: Array  # (d,)
    within: Array  # (d,) whether sigma follows its logarithm: not at the ends of its range

    @property
    def log_density(self) -> Array:
        """(B,)"""
        constant = np.log(self.sigma).sum() + 0.5 * len(self.sigma) * LOG_2_PI
        return np.asarray(-0.5 * np.square(self.off).sum(axis=1) - constant)

    def scored(self, weight: Array) -> Answer:
        """weight (B,) log N(point; u, sigma), for each."""
        w = weight[:, None]
        by_log_sigma = self.within * (w * (np.square(self.off) - 1.0)).sum(axis=0)
        return Answer(weight * self.log_density, w * (self.off / self.sigma), by_log_sigma)


class Noise:
    """N(u, sigma^2), what paid points are drawn from, in units of `scale` (d,); sigma may be trained."""

    def __init__(self, scale: Array, sigma: float, *, trainable: bool, rng: np.random.Generator) -> None:
        self.rng, self.scale, self.trainable = rng, scale, trainable
        self.log_sigma = np.full(len(scale), math.log(sigma))

    def set(self, sigma: float) -> None:
        """Draw from another width from now on."""
        self.log_sigma[:] = math.log(sigma)

    @property
    def sigma(self) -> Array:
        """Standard deviation of the draws (d,), bounded: the gradient goes with 1 / sigma."""
        return np.asarray(np.exp(np.clip(self.log_sigma, *LOG_RANGE)))

    def draw(self, u: Array) -> Draw:
        """A point for each u (B, d)."""
        sigma = self.sigma
        point = u + sigma * self.rng.standard_normal(u.shape)
        within = (self.log_sigma >= LOG_RANGE[0]) & (self.log_sigma <= LOG_RANGE[1])
        return Draw(point, (point - u) / sigma, sigma, within)


class Acquire:
    """Pay once near the prediction and query the updated surrogate: sampling instead of a fallback method."""

    draws = 1

    def __init__(self, oracle: Oracle, noise: Noise, correction: float) -> None:
        self.oracle, self.noise, self.correction = oracle, noise, correction
        self.surrogate_weight = 1.0 - correction

    def __call__(self, u: Array, rows: Array, surrogate: RegretSurrogate) -> Answer:
        failed = surrogate.gps.failed[rows]
        weight = np.where(failed, 1.0, self.correction)  # where it believes nothing, the draw alone decides
        believed, _, slopes = surrogate.evaluated(u, rows, slopes=True)
        slope = slopes[:, 0]
        drawn, regret = _pay(self.oracle, u, rows, surrogate, self.noise)
        excess = regret - believed - (slope * (drawn.point - u)).sum(axis=1)
        weight, excess = np.where(np.isnan(excess), 0.0, weight), np.nan_to_num(excess)  # a failed solve: nothing
        score = drawn.scored(weight * excess)
        return Answer(weight * believed + score.loss, weight[:, None] * slope + score.slope, score.by_log_sigma)


class Score:
    """SFGE's gradient from the paid draws; with several draws each is compared with the others (leave-one-out)."""

    surrogate_weight = 0.0

    def __init__(self, oracle: Oracle, noise: Noise, draws: int) -> None:
        self.oracle, self.noise, self.draws = oracle, noise, draws

    def __call__(self, u: Array, rows: Array, surrogate: RegretSurrogate) -> Answer:
        paid = [_pay(self.oracle, u, rows, surrogate, self.noise) for _ in range(self.draws)]
        regret = np.stack([one for _, one in paid])
        known = ~np.isnan(regret)
        regret = np.where(known, regret, 0.0)
        if self.draws > 1:  # r_k - mean of the others = K / (K - 1) (r_k - mean of all); K: solves that did not fail
            n = known.sum(axis=0)
            centred = regret - regret.sum(axis=0) / np.maximum(n, 1)
            regret = np.where(known, centred * n / np.maximum(n - 1, 1), 0.0)
        scored = [drawn.scored(one / self.draws) for (drawn, _), one in zip(paid, regret, strict=True)]
        loss, slope, by_log_sigma = (sum(parts) for parts in zip(*scored, strict=True))
        return Answer(loss, slope, by_log_sigma)


class SPOPlus:
    """SPO+'s bound, for linear objectives; its solve at 2 y_hat - y also gives the regret there."""

    surrogate_weight = 0.0
    draws = 1

    def __init__(self, oracle: Oracle, noise: Noise) -> None:
        refuse_spo_plus(oracle.problem)
        self.loss, self.noise = SPOPlusLoss(oracle), noise

    def __call__(self, u: Array, rows: Array, surrogate: RegretSurrogate) -> Answer:
        scale = self.loss.scale
        bound, units = self.loss.bound(u * scale, rows), self.loss.oracle.regret_units(rows)
        paid, point, regret = bound.known, bound.point / scale, bound.regret / units
        sigma = self.noise.sigma  # no random draw: a pseudo distribution around it
        surrogate.samples.add(rows[paid], point[paid], regret[paid], point[paid], sigma)
        share = np.where(paid, 1.0 / units, 0.0) / surrogate.std_r
        return Answer(share * np.where(paid, bound.value, 0.0), share[:, None] * bound.slope * scale)


def _pay(oracle: Oracle, u: Array, rows: Array, surrogate: RegretSurrogate, noise: Noise) -> tuple[Draw, Array]:
    """Draw, solve, record; the draw, and its standardised regret (NaN: the solve failed)."""
    drawn = noise.draw(u)
    around = u * noise.scale, drawn.sigma * noise.scale
    regret = oracle.regret(rows, drawn.point * noise.scale, phase="online", drawn=around)
    paid = ~np.isnan(regret)
    surrogate.samples.add(rows[paid], drawn.point[paid], regret[paid], u[paid], drawn.sigma)
    return drawn, surrogate.standardise(regret)


def refuse_spo_plus(problem: Problem) -> None:
    """Raise where the fallback "spo+" does not fit."""
    reason = refuse(problem)
    if reason is not None:
        raise NotApplicableError(f"fallback 'spo+' does not fit {problem.name!r}: {reason}")


def build(name: FallbackName, oracle: Oracle, noise: Noise, correction: float) -> Fallback:
    """A fallback by its name."""
    if name not in get_args(FallbackName):
        raise InputError(f"unknown fallback {name!r}; choose one of {', '.join(get_args(FallbackName))}")
    if name == "acquire":
        return Acquire(oracle, noise, correction)
    if name == "spo+":
        return SPOPlus(oracle, noise)
    return Score(oracle, noise, draws=DRAWS if name == "multi-sample" else 1)
