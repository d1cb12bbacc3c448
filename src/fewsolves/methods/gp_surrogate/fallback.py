"""What happens where the surrogate is not trusted: a solve is paid and the surrogate learns from it.

    u        (B, d)   predictions in standardised units, differentiable        rows (B,)   their examples
    m, R     (B,)     what the surrogate believed of the paid point, and what it turned out to be, both standardised
    answer   (B,)     a loss for each in the units of the surrogate, so that both kinds add up

`sfge` is the paper's fallback. `acquire` has none: it pays where the surrogate is unsure, updates the surrogate, and
queries it again. Its share `correction` goes to the score function instead, with what the surrogate believed
before the draw as control variate. A tangent and not m(point), whose gradient is smoothed by the draw, and not what
was learned from the draw itself, which depends on it:

    t(point) = m(u) + grad m(u)' (point - u)
    gradient = grad m(u) + (R - t(point)) grad log N(point; u, sigma)          unbiased, whatever m is
"""

from __future__ import annotations

import math
from typing import Literal, Protocol, get_args

import numpy as np
import torch
from torch import Tensor, nn

from fewsolves.errors import InputError, NotApplicableError
from fewsolves.methods.gp_surrogate.surrogate.regret import RegretSurrogate
from fewsolves.methods.linear import refuse
from fewsolves.methods.sfge import SIGMA_RANGE
from fewsolves.methods.spo_plus import SPOPlusLoss
from fewsolves.oracle import Oracle
from fewsolves.problem import Array, Problem

FallbackName = Literal["acquire", "sfge", "multi-sample", "spo+"]
DRAWS = 4  # of the multi-sample fallback


class Fallback(Protocol):
    """Pays at or near u, records the samples, and answers with a loss."""

    surrogate_weight: float  # weight of the surrogate's own loss beside the answer, once it has learned
    draws: int  # solves for each row

    def __call__(self, u: Tensor, rows: Array, surrogate: RegretSurrogate) -> Tensor: ...


class Noise(nn.Module):
    """N(u, sigma^2), what paid points are drawn from, in units of `scale` (d,); sigma may be trained."""

    def __init__(self, scale: Array, sigma: float, *, trainable: bool, rng: np.random.Generator) -> None:
        super().__init__()
        self.rng, self.scale = rng, scale
        log_sigma = torch.full((len(scale),), math.log(sigma), dtype=torch.float64)
        self.log_sigma = nn.Parameter(log_sigma, requires_grad=trainable)

    def set(self, sigma: float) -> None:
        """Draw from another width from now on."""
        self.log_sigma.data.fill_(math.log(sigma))

    @property
    def sigma(self) -> Tensor:
        """Standard deviation of the draws (d,), bounded: the gradient goes with 1 / sigma."""
        return self.log_sigma.clamp(*map(math.log, SIGMA_RANGE)).exp()

    def draw(self, u: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """A point (B, d) for each u, its log density (B,), differentiable in u and sigma, and sigma (d,)."""
        sigma = self.sigma
        around = torch.distributions.Normal(u, sigma)
        point = (u + sigma * torch.as_tensor(self.rng.standard_normal(tuple(u.shape)))).detach()
        log_density: Tensor = around.log_prob(point).sum(-1)
        return point, log_density, sigma.detach()


class Acquire:
    """Pay once near the prediction and query the updated surrogate: sampling instead of a fallback method."""

    draws = 1

    def __init__(self, oracle: Oracle, noise: Noise, correction: float) -> None:
        self.oracle, self.noise, self.correction = oracle, noise, correction
        self.surrogate_weight = 1.0 - correction

    def __call__(self, u: Tensor, rows: Array, surrogate: RegretSurrogate) -> Tensor:
        failed = torch.as_tensor(surrogate.gps.failed[rows])
        weight = torch.where(failed, 1.0, self.correction)  # where it believes nothing, the draw alone decides
        here = u.detach()
        believed, slope = _tangent(here, rows, surrogate)
        point, regret, log_density = _pay(self.oracle, u, rows, surrogate, self.noise)
        excess = regret - believed - (slope * (point - here)).sum(-1)
        weight, excess = torch.where(excess.isnan(), 0.0, weight), excess.nan_to_num(0.0)  # a failed solve: nothing
        return weight * (believed + (slope * (u - here)).sum(-1) + excess * log_density)


class Score:
    """SFGE's gradient from the paid draws; with several draws each is compared with the others (leave-one-out)."""

    surrogate_weight = 0.0

    def __init__(self, oracle: Oracle, noise: Noise, draws: int) -> None:
        self.oracle, self.noise, self.draws = oracle, noise, draws

    def __call__(self, u: Tensor, rows: Array, surrogate: RegretSurrogate) -> Tensor:
        paid = [_pay(self.oracle, u, rows, surrogate, self.noise)[1:] for _ in range(self.draws)]
        regret, log_density = (torch.stack(part) for part in zip(*paid, strict=True))
        if self.draws > 1:  # r_k - mean of the others = K / (K - 1) (r_k - mean of all); K: solves that did not fail
            paid_for = (~regret.isnan()).sum(0)
            regret = (regret - regret.nanmean(0)) * paid_for / (paid_for - 1).clamp(min=1)
        return (regret.nan_to_num(0.0) * log_density).mean(0)


class SPOPlus:
    """SPO+'s bound, for linear objectives; its solve at 2 y_hat - y also gives the regret there."""

    surrogate_weight = 0.0
    draws = 1

    def __init__(self, oracle: Oracle, noise: Noise) -> None:
        refuse_spo_plus(oracle.problem)
        self.loss, self.noise = SPOPlusLoss(oracle), noise

    def __call__(self, u: Tensor, rows: Array, surrogate: RegretSurrogate) -> Tensor:
        scale = self.loss.scale
        y_hat = u * torch.as_tensor(scale)
        bound, units = self.loss.bound(y_hat.detach().numpy(), rows), self.loss.oracle.regret_units(rows)
        paid, point, regret = bound.known, bound.point / scale, bound.regret / units
        sigma = self.noise.sigma.detach().numpy()  # no random draw: a pseudo distribution around it
        surrogate.samples.add(rows[paid], point[paid], regret[paid], point[paid], sigma)
        share = torch.as_tensor(np.where(paid, 1.0 / units, 0.0) / surrogate.std_r)
        moved = (torch.as_tensor(bound.slope) * (y_hat - y_hat.detach())).sum(-1)  # 0, with the slope of the bound
        return share * (torch.as_tensor(np.where(paid, bound.value, 0.0)) + moved)


def _tangent(u: Tensor, rows: Array, surrogate: RegretSurrogate) -> tuple[Tensor, Tensor]:
    """Posterior mean (B,) and its gradient (B, d) at u."""
    with torch.enable_grad():
        at = u.clone().requires_grad_()
        mean = surrogate.posterior(at, rows)[0]
        (slope,) = torch.autograd.grad(mean.sum(), at)
    return mean.detach(), slope


def _pay(
    oracle: Oracle, u: Tensor, rows: Array, surrogate: RegretSurrogate, noise: Noise
) -> tuple[Tensor, Tensor, Tensor]:
    """Draw, solve, record; the point, its standardised regret (NaN: the solve failed) and its log density."""
    point, log_density, sigma = noise.draw(u)
    drawn = u.detach().numpy() * noise.scale, sigma.numpy() * noise.scale
    regret = oracle.regret(rows, point.numpy() * noise.scale, phase="online", drawn=drawn)
    paid = ~np.isnan(regret)
    surrogate.samples.add(rows[paid], point.numpy()[paid], regret[paid], u.detach().numpy()[paid], sigma.numpy())
    return point, torch.as_tensor(surrogate.standardise(regret)), log_density


def refuse_spo_plus(problem: Problem) -> None:
    """Raise where the fallback "spo+" does not fit."""
    reason = refuse(problem)
    if reason is not None:
        raise NotApplicableError(f"fallback 'spo+' does not fit {problem.name!r}: {reason}")


def build(name: FallbackName, oracle: Oracle, noise: Noise, correction: float) -> Fallback:
    """A fallback by its name."""
    if name not in get_args(FallbackName):
        raise InputError(f"unknown fallback {name!r}; there is {', '.join(get_args(FallbackName))}")
    if name == "acquire":
        return Acquire(oracle, noise, correction)
    if name == "spo+":
        return SPOPlus(oracle, noise)
    return Score(oracle, noise, draws=DRAWS if name == "multi-sample" else 1)
