"""Name -> recipe: the only registry of methods."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from fewsolves.data import Scale
from fewsolves.errors import InputError, NotApplicableError
from fewsolves.losses import memo
from fewsolves.losses.base import Loss
from fewsolves.losses.egl import EGLConfig, EGLLoss
from fewsolves.losses.gp_surrogate import PAPER, GPSurrogateConfig, GPSurrogateLoss
from fewsolves.losses.lancer import LANCERConfig, LANCERLoss
from fewsolves.losses.linear import refuse
from fewsolves.losses.lodl import LODLConfig, LODLLoss
from fewsolves.losses.memo import MemoConfig, MemoLoss
from fewsolves.losses.perturbation_gradient import PerturbationGradientConfig, PerturbationGradientLoss
from fewsolves.losses.perturbed_fy import PerturbedFYConfig, PerturbedFYLoss
from fewsolves.losses.sfge import SFGEConfig, SFGELoss
from fewsolves.losses.spo_plus import SPOPlusLoss
from fewsolves.oracle import Oracle
from fewsolves.predictor import Predictor
from fewsolves.problem import Array, Problem
from fewsolves.surrogate.convex import FORMS, FormName, Preset
from fewsolves.training.loop import Outcome, TrainConfig
from fewsolves.training.monitor import Monitor
from fewsolves.training.shift import ShiftConfig, choose_shift


@dataclass(frozen=True, kw_only=True)
class PlainConfig:
    """A method without settings of its own."""


@dataclass(frozen=True, kw_only=True)
class Ingredients:
    """What a recipe may use: the training rows, and its own random stream."""

    oracle: Oracle  # of the training rows
    X: Array
    predictor: Predictor  # that will be trained
    config: Any
    rng: np.random.Generator


@dataclass(frozen=True, kw_only=True)
class Method:
    """A named recipe that turns (y_hat, example) into a loss."""

    name: str
    summary: str  # one line: what it does and what it costs
    build: Callable[[Ingredients], Loss] | None = None  # the loss that is trained on; None: nothing is, after the start
    adjust: Callable[[Ingredients, Monitor], Outcome] | None = None  # instead: changes the start by validation regret
    config: Any = PlainConfig()  # settings of the loss
    train: TrainConfig = TrainConfig()  # noqa: RUF009 (frozen)
    warm_start: Callable[[Any], bool] = lambda config: True  # what it does by default, by its settings
    refuse: Callable[[Problem], str | None] = lambda problem: None  # why it does not fit, or None

    @property
    def follows_start(self) -> bool:
        """Whether something comes after a prediction-focused start, which it must then beat."""
        return bool(self.train.warm_start) and (self.build is not None or self.adjust is not None)

    def check(self, problem: Problem) -> None:
        """Raise where the problem is outside this method's assumptions."""
        reason = self.refuse(problem)
        if reason is not None:
            raise NotApplicableError(f"method {self.name!r} does not fit {problem.name!r}: {reason}")

    def with_settings(self, settings: Mapping[str, Any]) -> Method:
        """The same recipe with some settings changed, of the loss or of the training loop."""
        parts = {"config": self.config, "train": self.train}
        owner = {f.name: part for part, values in parts.items() for f in dataclasses.fields(values)}
        for name in settings:
            if name not in owner:
                raise InputError(f"method {self.name!r} has no setting {name!r}; it has {', '.join(sorted(owner))}")
        changed = {
            part: dataclasses.replace(values, **{k: v for k, v in settings.items() if owner[k] == part})
            for part, values in parts.items()
        }
        if changed["train"].warm_start is None:
            warm = self.warm_start(changed["config"])
            changed["train"] = dataclasses.replace(changed["train"], warm_start=warm)
        return dataclasses.replace(self, **changed)


# by validation regret on datasets 100 and 101 (docs/methods/presets.md), "robust" is the better preset but for this one
EGL_PRESETS: dict[FormName, Preset] = {"directed-mse": "paper"}

METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        Method(
            name="pfl",
            summary="prediction-focused: maximum likelihood, no solve; where every other method starts",
        ),
        Method(
            name="shift",
            summary="pfl plus a constant for each output, chosen on validation data; any problem, no solve in training",
            adjust=lambda given, monitor: choose_shift(
                given.predictor, monitor, Scale.of(given.oracle.Y).std, given.config
            ),
            config=ShiftConfig(),
        ),
        Method(
            name="sfge",
            summary="score function gradients of the smoothed regret; any problem, one solve per example and epoch",
            build=lambda given: SFGELoss(given.oracle, given.config, given.rng),
            config=SFGEConfig(),
        ),
        Method(
            name="spo+",
            summary="convex bound of the regret; linear objectives only, one solve per example and epoch",
            build=lambda given: SPOPlusLoss(given.oracle),
            refuse=refuse,
            warm_start=lambda config: False,
        ),
        Method(
            name="gp-surrogate",
            summary="one Gaussian process per example, solves only where it is unsure; any problem, few solves",
            build=lambda given: GPSurrogateLoss(given.oracle, config=given.config, seed=given.rng),
            config=GPSurrogateConfig(),
            train=TrainConfig(
                learning_rate=3e-3,
                max_epochs=200,
                patience=20,
                averaging=2.0,
                validation_share=0.9,
                validation_move=0.03,
            ),
        ),
        Method(
            name="gp-surrogate-paper",
            summary="the same with the paper's settings: box hypercube, beta 1, literal smoothing, SFGE as fallback",
            build=lambda given: GPSurrogateLoss(given.oracle, config=given.config, seed=given.rng),
            config=PAPER,
        ),
        Method(
            name="memo",
            summary="sfge that reuses the nearest paid point of an example; any problem, a fraction of sfge's solves",
            build=lambda given: MemoLoss(given.oracle, given.config, given.rng),
            config=MemoConfig(),
            refuse=memo.refuse,
        ),
        Method(
            name="pg",
            summary="slope of the solver's optimal value along the truth; linear objectives only, two solves per epoch",
            build=lambda given: PerturbationGradientLoss(given.oracle, given.config),
            config=PerturbationGradientConfig(),
            refuse=refuse,
        ),
        Method(
            name="perturbed-fy",
            summary="imitates the best decision under noisy costs; linear objectives only, one solve per epoch",
            build=lambda given: PerturbedFYLoss(given.oracle, given.config, given.rng),
            config=PerturbedFYConfig(),
            refuse=refuse,
        ),
        Method(
            name="lancer",
            summary="a network learns the regret while the predictor trains on it; any problem, one solve per epoch",
            build=lambda given: LANCERLoss(given.oracle, given.config, given.rng),
            config=LANCERConfig(),
            train=TrainConfig(batch_size=128, steps_per_epoch=10, max_epochs=50, patience=10),
        ),
        *(
            Method(
                name=f"lodl-{form}",
                summary=f"a {form} loss fitted to the regret around each label; any problem, 250 solves per example",
                build=lambda given: LODLLoss(given.oracle, given.config, given.rng),
                config=LODLConfig(form=form),
                warm_start=lambda config: bool(config.preset == "robust"),
            )
            for form in FORMS
        ),
        *(
            Method(
                name=f"egl-{form}",
                summary=f"{form} losses predicted from x, sampled by half-trained models; any problem, 32 or 42 solves",
                build=lambda given: EGLLoss(given.oracle, given.X, given.predictor, given.config, given.rng),
                config=EGLConfig(form=form, preset=EGL_PRESETS.get(form, "robust")),
                warm_start=lambda config: bool(config.preset == "robust"),
            )
            for form in FORMS
        ),
    )
}


def find_method(method: str | Method) -> Method:
    """A recipe by its name."""
    if isinstance(method, Method):
        return method
    if method not in METHODS:
        raise InputError(f"unknown method {method!r}; there is {', '.join(METHODS)}")
    return METHODS[method]
