"""LODL, locally optimised decision losses (Shah et al., 2022): one cheap convex loss per example, then no more solves.

For every example i, with a form l of `methods.comparison.local_forms`:

    e_k     = spread * noise_k                (K, d)   K draws around the true y_i
    r_k     = r_i(y_i + e_k)                  (K,)     paid, before training
    theta_i = argmin mean_k (l(e_k; theta) - r_k)^2    all examples at once, the best step on held-out draws is kept
    loss    = mean_i l(y_hat_i - y_i; theta_i)
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from fewsolves.methods.base import Context, Demand, GradientTrainer
from fewsolves.methods.comparison.local_forms import FORMS, Form, FormName, Preset
from fewsolves.methods.comparison.local_loss import LocalLoss
from fewsolves.oracle import Oracle
from fewsolves.problem import Array
from fewsolves.settings import setting, settings


@settings
class LODLConfig:
    """Settings of LODL."""

    form: FormName = setting("the family of local losses")
    preset: Preset = setting(
        "paper: raw units, cut-off weights, a short fit on 30 % of the draws, no warm start; robust: ours",
        default="robust",
    )
    samples: int = setting("draws, and so solves, per row", default=250, least=5)
    spread: float = setting(
        "standard deviation of the draws in that of each parameter; the paper's is that within y_i",
        default=1.0,
        above=0,
    )


class _Fitting(NamedTuple):
    """How the local losses are fitted: shares of the draws to fit on and to choose on, and Adam's settings."""

    fit: float
    choose: float
    learning_rate: float
    steps: int
    patience: int = 25


FITTINGS: dict[Preset, _Fitting] = {
    "paper": _Fitting(fit=0.3, choose=0.3, learning_rate=0.01, steps=100),
    "robust": _Fitting(fit=0.8, choose=0.2, learning_rate=0.02, steps=300),
}


class LODLLoss(LocalLoss):
    """`samples` solves per example, all before training; see `LODLConfig`."""

    def __init__(self, oracle: Oracle, config: LODLConfig, rng: np.random.Generator) -> None:
        super().__init__(oracle, config.form, config.preset, rng, unit=config.spread)
        self.config = config

    def _points(self) -> Array:
        # drawn first of all, so that the forms of one preset query the same points, which a shared oracle pays once
        noise = self.rng.standard_normal((self.config.samples, *self.oracle.Y.shape))
        spread = self.scale.numpy() * self.config.spread
        if self.config.preset == "paper" and self.oracle.n_y > 1:  # a single number has no spread within it
            spread = self.oracle.Y.std(axis=1, ddof=1, keepdims=True) + 1e-5
        points: Array = self.oracle.Y + noise * spread
        return points

    def _fit(self, errors: Tensor, regret: Tensor) -> Tensor:
        start = self.form.initial(len(errors), self.rng)
        return fit_each(self.form, errors, regret, start, FITTINGS[self.config.preset])


def fit_each(form: Form, errors: Tensor, regret: Tensor, start: Tensor, fitting: _Fitting) -> Tensor:
    """theta (n, *shape) of n local losses from errors (n, K, d) and regrets (n, K), by one Adam for all of them."""
    n_fit = round(fitting.fit * regret.shape[1])
    until = n_fit + max(1, round(fitting.choose * regret.shape[1]))
    features = form.features(errors)
    f, f_held = features[:, :n_fit].contiguous(), features[:, n_fit:until].contiguous()
    r, r_held = regret[:, :n_fit], regret[:, n_fit:until]
    theta = start.clone().requires_grad_()
    adam = torch.optim.Adam([theta], fitting.learning_rate, fused=True)
    best, best_error, since = start.clone(), torch.full((len(start),), torch.inf), torch.zeros(len(start))
    for _ in range(fitting.steps):
        adam.zero_grad()
        # the sum: every example has its own theta, so nothing couples them
        (form.value(theta, f) - r).square().mean(1).sum().backward()
        adam.step()
        with torch.no_grad():
            error = (form.value(theta, f_held) - r_held).square().mean(1)
            better = (error < best_error) & (since < fitting.patience)
            best[better], best_error = theta[better], torch.where(better, error, best_error)
            since = torch.where(better, 0, since + 1)
        if bool((since >= fitting.patience).all()):
            break
    return best


class LODL(GradientTrainer):
    """Minimises `LODLLoss` of one form."""

    def __init__(self, form: FormName) -> None:
        self.name = f"lodl-{form}"
        self.summary = f"{form} losses fitted to the regret around each label; any problem, 250 solves per row"
        self.settings = LODLConfig(form=form)

    def loss(self, context: Context) -> LODLLoss:
        return LODLLoss(context.train_oracle, self.settings, context.rng)

    def demand(self, n_y: int) -> Demand:
        return Demand(points=self.settings.samples, figures="lodl-mse", bytes_stored=80)

    def starts_warm(self) -> bool:
        return bool(self.settings.preset == "robust")


METHODS = tuple(map(LODL, FORMS))
