"""PFL plus constants: what a practitioner would try first, where being a little too high is cheaper than too low.

    y_hat' = y_hat + s * t          s (n_y,) standard deviation of each output         t (n_y,) the shift

t is chosen on the validation regret: first one number for all outputs, on a grid that narrows around its best point,
then output by output, for as long as a round over the outputs finds something better. Every reading is paid for.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from fewsolves.data import Scale
from fewsolves.methods.base import Adjusted, Method, Validate
from fewsolves.predictor import Predictor
from fewsolves.problem import Array


@dataclass(frozen=True, kw_only=True)
class ShiftConfig:
    """Settings of the search."""

    reach: float = 2.5  # the common shift is sought between minus and plus this
    step: float = 0.25  # of the first grid, and of the shifts of single outputs
    halvings: int = 3  # how often the step of the common shift is halved
    rounds: int = 3  # over the single outputs, at the most
    errors: float = 1.0  # standard errors by which a single output's shift must help, or few rows are overfitted


def choose_shift(predictor: Predictor, validate: Validate, scale: Array, config: ShiftConfig) -> Adjusted:
    """Shift `predictor` in place to where its validation regret is least; `scale` is s."""
    origin, shift = predictor.y_mean, np.zeros(len(scale))
    first = best = validate(predictor)
    assert first is not None and best is not None

    def attempt(t: Array, errors: float = 0.0) -> None:
        nonlocal best, shift
        predictor.y_mean = origin + torch.as_tensor(scale * t)
        reading = validate(predictor)
        assert best is not None
        if reading is not None and reading.clearly_below(best, errors):
            best, shift = reading, t

    grid = np.arange(config.step, config.reach + 1e-9, config.step)
    for common in (*-grid, *grid):
        attempt(np.full(len(scale), common))
    for halving in range(1, config.halvings + 1):
        middle = shift
        for near in (-config.step, config.step):
            attempt(middle + near / 2**halving)
    for _ in range(config.rounds if len(scale) > 1 else 0):
        before = best
        for output in config.step * np.eye(len(scale)):
            for t in (shift - output, shift + output):
                attempt(t, config.errors)
        if best is before:
            break
    predictor.y_mean = origin + torch.as_tensor(scale * shift)
    return Adjusted(first, best, f"outputs shifted by {shift.mean():+.2f} standard deviations on average")


METHOD = Method(
    name="shift",
    summary="pfl plus a constant for each output, chosen on validation data; any problem, no solve in training",
    adjust=lambda given, validate: choose_shift(given.predictor, validate, Scale.of(given.oracle.Y).std, given.config),
    config=ShiftConfig(),
)
