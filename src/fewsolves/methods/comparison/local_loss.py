"""What LODL and EGL share: regrets paid before training, turned into one cheap loss per example.

y_ik     (K, n, d)     K points for each of n examples, from `_points`
r_ik     (n, K)        their regrets, paid
e_ik     (n, K, d)     (y_ik - y_i) / unit
theta_i  (n, *shape)   from `_fit`: l(e_ik; theta_i) close to r_ik, with a form l of `methods.comparison.local_forms`

    loss = mean_i l((y_hat_i - y_i) / unit; theta_i)
"""

from __future__ import annotations

from abc import abstractmethod

import numpy as np
import torch
from torch import Tensor

from fewsolves.methods.comparison.local_forms import FormName, Preset, make_form
from fewsolves.methods.loss import State
from fewsolves.methods.torch_loss import OracleLoss
from fewsolves.oracle import Oracle
from fewsolves.oracle.former import PaidPoints
from fewsolves.problem import Array


class LocalLoss(OracleLoss):
    """A loss that is fitted before training and pays nothing afterwards; labels are constants in it.

    The preset "robust" measures errors in `unit` and regrets in their mean size, so that one learning rate fits all
    problems; "paper" fits raw numbers.
    """

    Y: Tensor
    unit: Tensor
    theta: Tensor
    weight: Tensor  # (n,) 0 for an example without any known regret, else 1

    def __init__(
        self, oracle: Oracle, form: FormName, preset: Preset, rng: np.random.Generator, unit: float = 1.0
    ) -> None:
        super().__init__(oracle)
        self.rng, self.preset = rng, preset
        self._paid: tuple[Array, Array] | None = None  # points (K, n, d) and regrets (K, n)
        self.form = make_form(form, oracle.n_y, preset)
        self.register_buffer("Y", torch.tensor(oracle.Y))
        self.register_buffer("unit", torch.ones_like(self.scale) if preset == "paper" else self.scale * unit)

    @abstractmethod
    def _points(self) -> Array:
        """The points to pay for, (K, n, d), in the units of Y."""

    @abstractmethod
    def _fit(self, errors: Tensor, regret: Tensor) -> Tensor:
        """theta from errors (n, K, d) and regrets (n, K)."""

    def start(self, y_hat: Tensor) -> None:
        points, paid, known_before = self.oracle.first_points(self._points())
        self._paid, regret = (points, paid), paid.T.copy()
        if not known_before.any():
            points, regret = self._with_known(points, regret)
        failed = np.isnan(regret)
        if self.preset == "robust":
            regret /= max(np.abs(regret[~failed]).mean(), 1e-12) if not failed.all() else 1.0
        errors = ((torch.as_tensor(points) - self.Y) / self.unit).transpose(0, 1)
        # a draw whose solve failed is taken for the truth: every form fits it without effort, so it has no weight
        regret[failed], errors[torch.as_tensor(failed)] = 0.0, 0.0
        self.register_buffer("weight", torch.as_tensor(~failed.all(axis=1)).double())
        theta = self._fit(errors.float(), torch.as_tensor(regret).float())
        self.register_buffer("theta", theta.double())

    def _with_known(self, points: Array, regret: Array) -> tuple[Array, Array]:
        """Add points that other runs paid for: equally many of each example, in a random order."""
        known = self.oracle.free_samples().nearest(self.oracle.Y)
        each = known.number.min()
        if each == 0:
            return points, regret
        index = np.concatenate([np.flatnonzero(known.index == i)[:each] for i in range(len(self.oracle))])
        theirs = known.y_hat[index].reshape(len(self.oracle), each, -1).transpose(1, 0, 2)
        order = self.rng.permutation(len(points) + each)
        points = np.concatenate([points, theirs])[order]
        return points, np.concatenate([regret, known.regret[index].reshape(-1, each)], axis=1)[:, order]

    def paid_points(self) -> PaidPoints | None:
        if self._paid is None:
            return None
        (points, regret), n = self._paid, len(self.oracle)
        index, known = np.tile(np.arange(n), len(points)), ~np.isnan(regret.ravel())
        return PaidPoints(index[known], points.reshape(-1, points.shape[-1])[known], regret.ravel()[known])

    def state(self) -> State:
        return self._module_state(self.rng)

    def restore(self, state: State) -> None:
        for name in ("weight", "theta"):
            self.register_buffer(name, torch.as_tensor(state.arrays[name].copy()))
        self._restore_module(state, self.rng)

    def forward(self, y_hat: Tensor, index: Tensor) -> Tensor:
        e = (y_hat - self.Y[index]) / self.unit
        value = self.form.value(self.theta[index], self.form.features(e[:, None]))
        return (self.weight[index, None] * value).mean()
