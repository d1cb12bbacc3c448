"""`gp-surrogate-reading`: the preset `gp-surrogate-paper` with three further settings, each open in the paper's text.

    gate_std      whose std the gate compares with beta
    refit_each    `refit_after` counts the samples of each example, which learns from them only when it is fitted again
    adam_steps    a fit is a number of steps of Adam (`climb`), and not a search for the optimum

and with `points=0`: no pre-training. The measure `readings` compares their combinations by the printed counts.
"""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from fewsolves.errors import InputError
from fewsolves.methods.base import Context
from fewsolves.methods.gp_surrogate.config import PAPER, GPSurrogateConfig
from fewsolves.methods.gp_surrogate.gp.processes import Fitting
from fewsolves.methods.gp_surrogate.loss import PaperGPSurrogate, SurrogateLoss
from fewsolves.methods.gp_surrogate.surrogate import design
from fewsolves.methods.gp_surrogate.surrogate.regret import RegretSurrogate, units_of
from fewsolves.problem import Array
from fewsolves.settings import setting, settings
from fewsolves_studies.paper.reading.climb import Climb


@settings
class ReadingConfig(GPSurrogateConfig):
    """Settings of a reading of the paper."""

    points: int | None = setting(
        "evaluations of each example before training; None: the paper's number, logarithmic in n_y; "
        "0: none, the fallback pays until an example has `refit_after` samples (with refit_each)",
        default=4,
        least=0,
    )
    gate_std: Literal["function", "observation"] = setting(
        "whose std beta is compared with: that of the regret, or that of an observation of it, noise included",
        default="function",
        since="0.2.0",
    )
    refit_each: bool = setting(
        "`refit_after` counts the samples of each example, and it learns from them when it is fitted again, not before",
        default=False,
        since="0.2.0",
    )
    adam_steps: int = setting(
        "steps of Adam for the hyperparameters at each fit, from GPyTorch's starting values; 0: to the optimum",
        default=0,
        least=0,
        since="0.2.0",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.pooled and self.adam_steps:
            raise InputError("adam_steps needs pooled=False: the steps of each example are its own")
        if self.points == 0 and (self.sharing or not self.refit_each or self.fallback == "acquire"):
            raise InputError("points=0 needs refit_each=True, sharing=False and a fallback that trains by itself")

    @property
    def fitting(self) -> Fitting | None:
        return Climb(self.adam_steps) if self.adam_steps else None


DEFAULTS = ReadingConfig(**vars(PAPER))


class ReadingSurrogate(RegretSurrogate):
    """Without a first design the units follow the samples, until the first fit to some of them."""

    config: ReadingConfig

    @property
    def knows_samples(self) -> Array:
        """Which examples (M,) have learned from a sample, and not from their truth alone."""
        return np.asarray(self.gps.n_points > 1)

    def gate_std(self, std: Array, index: Array) -> Array:
        if self.config.gate_std == "observation":
            std = np.sqrt(std**2 + self.gps.noise[index])
        # without a first design there is no estimate before the first fit
        return np.where(self.knows_samples[index], std, np.inf) if self.config.points == 0 else std

    def learn(self) -> None:
        if not self.config.refit_each or self._fitted == 0:
            return super().learn()
        self._new_targets()  # the processes get them when they are fitted
        if not self.knows_samples.any():
            self._take_units_of_samples()

    def refit(self, *, force: bool = False) -> bool:
        if not self.config.refit_each or self._fitted == 0:
            return super().refit(force=force)
        waiting = np.setdiff1d(np.arange(len(self.samples)), self._holds.values[:, 1])
        example, least = self.samples.example[waiting], 0 if force else self.config.refit_after
        due = np.flatnonzero(np.bincount(example, minlength=len(self.truth)) >= least)
        if due.size == 0:
            return False
        if not self.knows_samples.any():  # their truths were learned in units that have changed since
            self.gps.set_targets(np.arange(len(self.truth)), self.targets[: len(self.truth)])
        self._hand_over(waiting[np.isin(example, due)])
        if self.config.smoothing != "off":
            self._smooth(due)
        self._forget_far_points()
        self.gps.fit()
        self._fitted = len(self.samples)
        return True

    def _take_units_of_samples(self) -> None:
        self.mean_r, self.std_r = units_of(self.samples.regret[len(self.truth) :])
        self.targets[:], self.least[:] = self.standardise(self.samples.regret), np.inf
        np.minimum.at(self.least, self.samples.example, self.targets)


class ReadingLoss(SurrogateLoss):
    """The loss of the GP surrogate, which may begin without pre-training."""

    surrogate_class: ClassVar[type[RegretSurrogate]] = ReadingSurrogate

    def _pretrain(self, start: Array, kind: design.Kind) -> None:
        if self.config.points != 0:
            return super()._pretrain(start, kind)
        nothing = design.Design(points=np.empty((0, *start.shape)), centre=start, sigma=1.0)
        self.surrogate = self.surrogate_class(self.truth, nothing, np.empty((0, len(start))), self.config)


class ReadingGPSurrogate(PaperGPSurrogate):
    """The preset of the paper with the settings of its readings."""

    name = "gp-surrogate-reading"
    summary = "a reading of the paper: 'gp-surrogate-paper' with settings that its text leaves open"
    settings = DEFAULTS

    def loss(self, context: Context) -> ReadingLoss:
        return ReadingLoss(context.train_oracle, self.settings, seed=context.rng)


METHOD = ReadingGPSurrogate()
