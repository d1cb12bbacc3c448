"""A correction of given forecasts: shift, scale, and a small residual in a trust region.

f (B, n_y)   forecasts, in standard deviations of y from its mean           c (B, n_c)   context, standardised
e (n_y,)     standard deviation of the forecasts' errors, in the same units

    y_hat = a f + b + e tanh(r(c, f))             r one hidden layer; at the start a = 1, b = 0, r = 0: the forecasts

The residual never exceeds the standard deviation of the forecaster's errors: a correction uses what a point forecast
leaves open, and is not a second forecaster.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn

from fewsolves.data import Scale
from fewsolves.predictors.boosted.trees import BoostedTrees
from fewsolves.predictors.predictor import DEEP_RATE, Predictor, seeded
from fewsolves.problem import Array

HIDDEN = 16
NAMED = 5  # outputs that a sentence names
NEGLIGIBLE = 1e-6  # of the forecasts' errors


class Correction(nn.Module):
    """Takes standardised context and forecasts side by side; gives the corrected forecasts."""

    error: Tensor
    relative_rate = DEEP_RATE  # a shift and a scale, whatever the features

    def __init__(self, n_context: int, error: Array) -> None:
        super().__init__()
        n_y = len(error)
        self.scale, self.shift = (nn.Parameter(torch.full((n_y,), at, dtype=torch.float64)) for at in (1.0, 0.0))
        self.residual = nn.Sequential(nn.Linear(n_context + n_y, HIDDEN), nn.SiLU(), nn.Linear(HIDDEN, n_y)).double()
        for last in self.residual[-1].parameters():
            nn.init.zeros_(last)
        self.register_buffer("error", torch.as_tensor(error))

    def forward(self, u: Tensor) -> Tensor:
        forecast = u[:, -len(self.error) :]
        corrected: Tensor = self.scale * forecast + self.shift + self.error * torch.tanh(self.residual(u))
        return corrected


def corrected(X: Array, Y: Array, *, seed: int, library: str | None = None) -> Predictor:
    """A correction that changes nothing yet; X (n, n_c + n_y) ends with the forecasts of Y (n, n_y).

    Of the forecasts of a booster by this `library`, it is further rounds.
    """
    n_y = Y.shape[1]
    of_x, of_y = Scale.of(X[:, :-n_y]), Scale.of(Y)
    inputs = Scale(np.r_[of_x.mean, of_y.mean], np.r_[of_x.std, of_y.std])
    error = (X[:, -n_y:] - Y).std(axis=0) / of_y.std
    return Predictor(seeded(lambda: uncorrected(X.shape[1] - n_y, error, library), seed), inputs, of_y)


def uncorrected(n_context: int, error: Array, library: str | None) -> nn.Module:
    """A module of the form that a correction has."""
    return Correction(n_context, error) if library is None else BoostedTrees(n_context, len(error), library)


def describe_correction(forecasts: Array, y_hat: Array, Y: Array, names: Sequence[str] | None = None) -> str:
    """Describe the mean change over rows in a sentence; the outputs that changed most come first."""
    change, error = y_hat - forecasts, (forecasts - Y).std(axis=0)
    error = np.where(error > 0, error, 1.0)
    size = np.abs(change).mean(axis=0) / error
    if not (size > NEGLIGIBLE).any():
        return "nothing was changed: the forecasts are used as they are"
    names = names or [f"y{k}" for k in range(len(error))]
    order = [int(k) for k in np.argsort(-size, kind="stable") if size[k] > NEGLIGIBLE]
    changes = ", ".join(f"{names[k]} {_amount(change[:, k], forecasts[:, k])}" for k in order[:NAMED])
    rest = order[NAMED:]
    if rest:
        most = float(np.abs(change.mean(axis=0) / error)[rest].max())
        changes += f", {len(rest)} more by at most {most:.2g} standard deviations of their errors"
    return f"on average over rows: {changes}"


def _amount(change: Array, forecast: Array) -> str:
    """+4.1 %, where all forecasts have one sign, else in units of y; and how it varies from row to row."""
    level = float(forecast.mean())
    percent = bool((forecast > 0).all() or (forecast < 0).all()) and level != 0
    shift, spread = float(change.mean()), float(change.std())
    if percent:
        shift, spread = 100 * shift / abs(level), 100 * spread / abs(level)
    unit = " %" if percent else ""
    varies = f" (± {spread:.2g}{unit} from row to row)" if spread > 0.1 * abs(shift) else ""
    return f"{shift:+.3g}{unit}{varies}"
