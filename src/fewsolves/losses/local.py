"""What LODL and EGL share: regrets paid before training, turned into one cheap loss per example.

y_ik     (K, n, d)     K points for each of n examples, from `_points`
r_ik     (n, K)        their regrets, paid
e_ik     (n, K, d)     (y_ik - y_i) / unit
theta_i  (n, *shape)   from `_fit`: l(e_ik; theta_i) close to r_ik, with a form l of `surrogate.convex`

    loss = mean_i l((y_hat_i - y_i) / unit; theta_i)
"""

from __future__ import annotations

from abc import abstractmethod

import numpy as np
import torch
from torch import Tensor

from fewsolves.losses.base import OracleLoss
from fewsolves.oracle import Oracle
from fewsolves.problem import Array
from fewsolves.surrogate.convex import FormName, Preset, make_form


class LocalLoss(OracleLoss):
    """A loss that is fitted before training and pays nothing afterwards; labels are constants in it.

    The preset "robust" measures errors in `unit` and regrets in their mean size, so that one learning rate fits all
    problems; "paper" fits raw numbers.
    """

    Y: Tensor
    unit: Tensor
    theta: Tensor

    def __init__(
        self, oracle: Oracle, form: FormName, preset: Preset, rng: np.random.Generator, unit: float = 1.0
    ) -> None:
        super().__init__(oracle)
        self.rng, self.preset = rng, preset
        self.form = make_form(form, oracle.n_y, preset)
        self.register_buffer("Y", torch.tensor(oracle.Y))
        self.register_buffer("unit", torch.ones_like(self.scale) if preset == "paper" else self.scale * unit)

    @abstractmethod
    def _points(self) -> Array:
        """Where to pay, (K, n, d), in the units of Y."""

    @abstractmethod
    def _fit(self, errors: Tensor, regret: Tensor) -> Tensor:
        """theta from errors (n, K, d) and regrets (n, K)."""

    def start(self, y_hat: Tensor) -> None:
        points, everyone = self._points(), np.arange(len(self.oracle))
        regret = np.stack([self.oracle.regret(everyone, drawn, phase="pre-training") for drawn in points], axis=1)
        if self.preset == "robust":
            regret /= max(np.abs(regret).mean(), 1e-12)
        errors = ((torch.as_tensor(points) - self.Y) / self.unit).transpose(0, 1)
        theta = self._fit(errors.float(), torch.as_tensor(regret).float())
        self.register_buffer("theta", theta.double())

    def forward(self, y_hat: Tensor, index: Tensor) -> Tensor:
        e = (y_hat - self.Y[index]) / self.unit
        return self.form.value(self.theta[index], self.form.features(e[:, None])).mean()
