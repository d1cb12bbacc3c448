"""EGL, efficient global losses (Shah et al., 2024): the local losses of LODL with parameters predicted from x.

With a form l of `surrogate.convex` and one network P for all examples:

    y_ik     predictions of K half-trained models        model-based sampling, see `surrogate.half_trained`
    r_ik     = r_i(y_ik)                                 paid, before training
    P        = argmin mean_ik (l(y_ik - y_i; P(x_i)) - r_ik)^2
    loss     = mean_i l(y_hat_i - y_i; P(x_i))
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from torch import Tensor

from fewsolves.data import Scale
from fewsolves.errors import InputError
from fewsolves.losses.local import LocalLoss
from fewsolves.oracle import Oracle
from fewsolves.predictor import Predictor, redrawn
from fewsolves.problem import Array
from fewsolves.surrogate.convex import FormName, Preset
from fewsolves.surrogate.half_trained import half_trained
from fewsolves.surrogate.network import ParameterNetwork, fit_parameters

MANY = 50  # outputs from which on the paper takes 42 samples instead of 32
RUNS = 4


@dataclass(frozen=True, kw_only=True)
class EGLConfig:
    """Settings of EGL."""

    form: FormName  # the family of local losses
    preset: Preset = "robust"  # paper: raw units, bounded weights, one sampling run, pairs split, no warm start
    samples: int | None = None  # solves per example; None: the paper's 42 from 50 outputs on, else 32


def number_of_samples(config: EGLConfig, n_y: int) -> int:
    """Solves per example."""
    return config.samples or (42 if n_y >= MANY else 32)


class EGLLoss(LocalLoss):
    """`samples` solves per example, all before training; see `EGLConfig`."""

    def __init__(
        self, oracle: Oracle, X: Array, predictor: Predictor, config: EGLConfig, rng: np.random.Generator
    ) -> None:
        if config.samples is not None and config.samples < 4:
            raise InputError(f"egl needs samples >= 4, got {config.samples}")
        super().__init__(oracle, config.form, config.preset, rng)
        self.config, self.X = config, X
        self._redraw = partial(redrawn, copy.deepcopy(predictor))  # no submodule: the loop does not train it

    @property
    def samples(self) -> int:
        """Solves per example."""
        return number_of_samples(self.config, self.oracle.n_y)

    def _points(self) -> Array:
        each = self.samples // RUNS
        several = [self.samples - (RUNS - 1) * each] + (RUNS - 1) * [each]
        published = self.config.preset == "paper"
        return half_trained(
            self._redraw,
            self.X,
            self.oracle.Y,
            runs=[self.samples] if published else several,
            learning_rate=1.0 if published else 1e-2,
            steps=self.samples if published else 300,
            even_in="steps" if published else "loss",
            rng=self.rng,
        )

    def _fit(self, errors: Tensor, regret: Tensor) -> Tensor:
        scale = Scale.of(self.X)
        x = torch.as_tensor((self.X - scale.mean) / scale.std).float()
        network = ParameterNetwork(x.shape[1], self.form, self.preset, self.rng)
        fit_parameters(network, x, errors, regret, self.rng)
        with torch.no_grad():
            theta: Tensor = network(x)
        return theta
