"""EGL, efficient global losses (Shah et al., 2024): the local losses of LODL with parameters predicted from x.

With a form l of `methods.comparison.local_forms` and one network P for all examples:

    y_ik     predictions of K half-trained models        model-based sampling, see `half_trained`
    r_ik     = r_i(y_ik)                                 paid, before training
    P        = argmin mean_ik (l(y_ik - y_i; P(x_i)) - r_ik)^2
    loss     = mean_i l(y_hat_i - y_i; P(x_i))

Model-based sampling takes the errors that models really make, on their way through training:

    X (n, n_x), Y (n, d)     training rows
    points (K, n, d)         what K half-trained models predict for them; the first of each run is not trained at all
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from functools import partial
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from fewsolves._internal.adam import Adam
from fewsolves.data import Scale
from fewsolves.methods.base import Context, Demand, GradientTrainer
from fewsolves.methods.comparison.local_forms import FORMS, FormName, Preset
from fewsolves.methods.comparison.local_loss import LocalLoss
from fewsolves.methods.comparison.local_network import ParameterNetwork, fit_parameters
from fewsolves.oracle import Oracle
from fewsolves.predictors.predictor import Predictor, redrawn
from fewsolves.problem import Array
from fewsolves.settings import setting, settings


def half_trained(
    redraw: Callable[..., Predictor],
    X: Array,
    Y: Array,
    *,
    runs: Sequence[int],
    learning_rate: float,
    steps: int,
    even_in: Literal["steps", "loss"],
    rng: np.random.Generator,
) -> Array:
    """Points from `len(runs)` trainings, `runs[k]` of them from the k-th; `redraw(seed=)` gives a model to train.

    They are spaced evenly in steps, or in the loss: late models of a run hardly differ.
    """
    parts = []
    for count in runs:
        model = redraw(seed=int(rng.integers(2**63)))
        predictions, losses = _train(model, X, Y, learning_rate, max(steps, count))
        levels = np.arange(len(losses), dtype=float) if even_in == "steps" else -losses
        parts.append(predictions[_evenly(levels, count)])
    return np.concatenate(parts)


def _train(model: Predictor, X: Array, Y: Array, learning_rate: float, steps: int) -> tuple[Array, Array]:
    """Predictions (steps, n, d) before each full-batch step on the squared error, and the losses (steps,)."""
    adam = Adam(model.weights(), learning_rate)
    predictions, losses = [], []
    for _ in range(steps):
        y_hat, kept = model.forward(X)
        off = (y_hat - Y) / model.y_std
        adam.step(model.backward((2.0 / off.size) * off / model.y_std, kept))
        predictions.append(y_hat)
        losses.append(float(np.square(off).mean()))
    return np.stack(predictions), np.array(losses)


def _evenly(levels: Array, count: int) -> Array:
    """`count` distinct positions at which the running maximum of `levels` passes evenly spaced heights."""
    heights = np.linspace(levels[0], levels.max(), count)
    found = np.searchsorted(np.maximum.accumulate(levels), heights)
    least, most = np.arange(count), len(levels) - count + np.arange(count)
    return np.minimum(np.maximum.accumulate(np.maximum(found - least, 0)) + least, most)  # each beyond the one before


MANY = 50  # outputs from which on the paper takes 42 samples instead of 32
RUNS = 4


@settings
class EGLConfig:
    """Settings of EGL."""

    form: FormName = setting("the family of local losses")
    preset: Preset = setting(
        "paper: raw units, bounded weights, one sampling run, pairs split, no warm start; robust: ours",
        default="robust",
    )
    samples: int | None = setting(
        "solves per row; None: the paper's 42 from 50 outputs on, else 32", default=None, least=4
    )


def number_of_samples(config: EGLConfig, n_y: int) -> int:
    """Solves per example."""
    return config.samples or (42 if n_y >= MANY else 32)


class EGLLoss(LocalLoss):
    """`samples` solves per example, all before training; see `EGLConfig`."""

    def __init__(
        self, oracle: Oracle, X: Array, predictor: Predictor, config: EGLConfig, rng: np.random.Generator
    ) -> None:
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
        X = self.X.reshape(len(self.X), -1)
        scale = Scale.of(X)
        x = torch.as_tensor((X - scale.mean) / scale.std).float()
        network = ParameterNetwork(x.shape[1], self.form, self.preset, self.rng)
        fit_parameters(network, x, errors, regret, self.rng)
        with torch.no_grad():
            theta: Tensor = network(x)
        return theta


# by validation regret on datasets 100 and 101 (results/presets.md), "robust" is the better preset but for this one
PRESETS: dict[FormName, Preset] = {"directed-mse": "paper"}


class EGL(GradientTrainer):
    """Minimises `EGLLoss` of one form."""

    def __init__(self, form: FormName) -> None:
        self.name = f"egl-{form}"
        self.summary = (
            f"{form} losses predicted from x, sampled by half-trained models; any problem, 32 or 42 solves per row"
        )
        self.settings = EGLConfig(form=form, preset=PRESETS.get(form, "robust"))

    def loss(self, context: Context) -> EGLLoss:
        return EGLLoss(context.train_oracle, context.train_inputs, context.predictor, self.settings, context.rng)

    def demand(self, n_y: int) -> Demand:
        return Demand(points=number_of_samples(self.settings, n_y), figures="egl-mse", bytes_stored=310)

    def starts_warm(self) -> bool:
        return bool(self.settings.preset == "robust")


METHODS = tuple(map(EGL, FORMS))
