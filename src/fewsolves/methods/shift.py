"""PFL plus constants: the first thing to try where overestimation is cheaper than underestimation, or the reverse.

    y_hat' = y_hat + s * t          s (n_y,) standard deviation of each output         t (n_y,) the shift

t is chosen on the validation regret: first one number for all outputs, on a grid that narrows around its best point,
then output by output, for as long as a round over the outputs finds something better. Every reading is paid for.
"""

from __future__ import annotations

import numpy as np

from fewsolves.data import Scale
from fewsolves.methods.base import Context, Demand, Outcome, Trainer, Validate
from fewsolves.predictors.predictor import Predictor
from fewsolves.problem import Array
from fewsolves.settings import setting, settings


@settings
class ShiftConfig:
    """Settings of the search; shifts are in standard deviations of each output."""

    reach: float = setting("the common shift is sought between minus and plus this", default=2.5, least=0)
    step: float = setting("step of the first grid, and of the shifts of single outputs", default=0.25, above=0)
    halvings: int = setting("how often the step of the common shift is halved", default=3, least=0)
    rounds: int = setting("maximum rounds over the single outputs", default=3, least=0)
    errors: float = setting(
        "standard errors by which a single output's shift must help, or few rows are overfitted", default=1.0
    )


def number_of_readings(config: ShiftConfig, n_y: int) -> int:
    """Upper bound of the validation readings of the search."""
    single = 2 * n_y * config.rounds if n_y > 1 else 0
    return 1 + 2 * int(config.reach / config.step + 1e-9) + 2 * config.halvings + single


class Search:
    """The best shift found so far, and its reading; `predictor` is left at the shift that was tried last."""

    def __init__(self, predictor: Predictor, validate: Validate, scale: Array) -> None:
        self.predictor, self.validate, self.scale = predictor, validate, scale
        self.origin, self.shift = predictor.y_mean, np.zeros(len(scale))
        first = validate(predictor)
        assert first is not None
        self.first = self.best = first

    def attempt(self, t: Array, errors: float = 0.0) -> None:
        """Keep t if it beats the best so far by this many standard errors."""
        self.apply(t)
        reading = self.validate(self.predictor)
        if reading is not None and reading.clearly_below(self.best, errors):
            self.best, self.shift = reading, t

    def apply(self, t: Array) -> None:
        self.predictor.y_mean = self.origin + self.scale * t


def choose_shift(predictor: Predictor, validate: Validate, scale: Array, config: ShiftConfig) -> Outcome:
    """Shift `predictor` in place to where its validation regret is least; `scale` is s."""
    search = Search(predictor, validate, scale)
    _seek_common(search, config)
    if len(scale) > 1:
        _seek_single(search, config)
    search.apply(search.shift)
    stopped = f"outputs shifted by {search.shift.mean():+.2f} standard deviations on average"
    return Outcome(search.first, search.best, stopped)


def _seek_common(search: Search, config: ShiftConfig) -> None:
    """One number for all outputs, on a grid that narrows around its best point."""
    grid = np.arange(config.step, config.reach + 1e-9, config.step)
    for common in (*-grid, *grid):
        search.attempt(np.full(len(search.scale), common))
    for halving in range(1, config.halvings + 1):
        middle = search.shift
        for near in (-config.step, config.step):
            search.attempt(middle + near / 2**halving)


def _seek_single(search: Search, config: ShiftConfig) -> None:
    """Output by output, for as long as a round finds something better."""
    for _ in range(config.rounds):
        before = search.best
        for output in config.step * np.eye(len(search.scale)):
            for t in (search.shift - output, search.shift + output):
                search.attempt(t, config.errors)
        if search.best is before:
            break


class Shift(Trainer):
    """Shifts the predictions of the start by constants."""

    name = "shift"
    summary = "pfl plus a constant for each output, chosen on validation data; any problem, no solve in training"
    settings = ShiftConfig()

    def train(self, context: Context) -> Outcome:
        scale = Scale.of(context.train_oracle.Y).std
        return choose_shift(context.predictor, context.validate, scale, self.settings)

    def demand(self, n_y: int) -> Demand:
        return Demand(training_rows=False, readings=number_of_readings(self.settings, n_y))


METHOD = Shift()
