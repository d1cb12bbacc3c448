"""A correction of given forecasts: shift, scale, and a small residual in a trust region.

f (B, n_y)   forecasts, in standard deviations of y from its mean           c (B, n_c)   context, standardised
e (n_y,)     standard deviation of the forecasts' errors, in the same units

    y_hat = a f + b + e tanh(r(c, f))             r one hidden layer; at the start a = 1, b = 0, r = 0: the forecasts

Where x has items, c and f are those of one item, and all items share a, b, e and r.

The residual never exceeds the standard deviation of the forecaster's errors: a correction uses what a point forecast
leaves open, and is not a second forecaster.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fewsolves._internal.dense import Dense, fitting
from fewsolves.data import Scale
from fewsolves.predictors.boosted.trees import BoostedTrees
from fewsolves.predictors.net import Around, Net
from fewsolves.predictors.predictor import DEEP_RATE, Predictor
from fewsolves.problem import Array

HIDDEN_OF_RESIDUAL = 16
OWN = "scale", "shift", "error"  # names of arrays
NAMED = 5  # outputs that a sentence names
NEGLIGIBLE = 1e-6  # of the forecasts' errors


class Correction(Around):
    """Takes standardised context and forecasts side by side; gives the corrected forecasts. Its `net` computes r."""

    prefix = "residual."
    relative_rate: float | None = DEEP_RATE  # a shift and a scale, whatever the features

    def __init__(self, n_context: int, error: Array, seed: int | None = None) -> None:
        n_y = len(error)
        self.scale, self.shift, self.error = np.ones(n_y), np.zeros(n_y), np.array(error, dtype=float)
        residual = Dense(n_context + n_y, HIDDEN_OF_RESIDUAL, n_y)
        if seed is not None:
            residual = residual.redrawn(seed)
            *_, (weight, bias) = residual.layers()
            weight[:], bias[:] = 0.0, 0.0
        super().__init__(residual)

    def weights(self) -> list[Array]:
        """Scale, shift, and the weights of r."""
        return [self.scale, self.shift, *super().weights()]

    def names(self) -> list[str]:
        """The names of the arrays of `arrays`."""
        return [*OWN, *super().names()]

    def arrays(self) -> dict[str, Array]:
        """Copies of all of it."""
        return {name: getattr(self, name).copy() for name in OWN} | super().arrays()

    def load(self, arrays: Mapping[str, Array]) -> None:
        """Take what `arrays` gave."""
        for name in OWN:
            getattr(self, name)[:] = fitting(name, arrays[name], self.error.shape)
        super().load(arrays)

    def forward(self, u: Array) -> tuple[Array, Any]:
        """The corrected forecasts, and what `backward` needs."""
        forecast = u[:, -len(self.error) :]
        r, kept = self.net.forward(u)
        bent = np.tanh(r)
        return self.scale * forecast + self.shift + self.error * bent, (forecast, bent, kept)

    def backward(self, slope: Array, kept: Any) -> list[Array | None]:
        """The slopes by scale, shift and the weights of r."""
        forecast, bent, of_residual = kept
        of_r = slope * self.error * (1.0 - bent**2)
        return [(slope * forecast).sum(axis=0), slope.sum(axis=0), *super().backward(of_r, of_residual)]


class SharedCorrection(Around):
    """One correction for all items: takes (B, items, n_c + 1), context and forecast of each item."""

    prefix = "one."
    relative_rate: float | None = DEEP_RATE

    def __init__(self, n_context: int, error: float, seed: int | None = None) -> None:
        super().__init__(Correction(n_context, np.array([error]), seed))

    def forward(self, u: Array) -> tuple[Array, Any]:
        """(B, items) Corrected forecasts, and what `backward` needs."""
        y, kept = self.net.forward(u.reshape(-1, u.shape[-1]))
        return y.reshape(u.shape[:2]), kept

    def backward(self, slope: Array, kept: Any) -> list[Array | None]:
        """The slopes by the weights of the one."""
        return super().backward(slope.reshape(-1, 1), kept)


def corrected(X: Array, Y: Array, *, seed: int, library: str | None = None) -> Predictor:
    """A correction that changes nothing yet; X (n, n_c + n_y) ends with the forecasts of Y (n, n_y).

    Of the forecasts of a booster by this `library`, it is further rounds. X (n, items, n_c + 1): one for all items.
    """
    n_y = Y.shape[1]
    if X.ndim == 3:
        of_x, of_y, of_error = Scale.of(X[..., :-1]), Scale.shared(Y), Scale.shared(X[..., -1] - Y)
        inputs, share = Scale(np.r_[of_x.mean, of_y.mean[0]], np.r_[of_x.std, of_y.std]), of_error.std / of_y.std
        return Predictor(uncorrected(X.shape[2] - 1, np.array([share]), None, shared=True, seed=seed), inputs, of_y)
    of_x, of_y = Scale.of(X[:, :-n_y]), Scale.of(Y)
    inputs = Scale(np.r_[of_x.mean, of_y.mean], np.r_[of_x.std, of_y.std])
    error = (X[:, -n_y:] - Y).std(axis=0) / of_y.std
    return Predictor(uncorrected(X.shape[1] - n_y, error, library, seed=seed), inputs, of_y)


def uncorrected(
    n_context: int, error: Array, library: str | None, *, shared: bool = False, seed: int | None = None
) -> Net:
    """A net of the form that a correction has; `shared` by items. Without a seed, its weights are not drawn."""
    if shared:
        return SharedCorrection(n_context, float(error[0]), seed)
    return Correction(n_context, error, seed) if library is None else BoostedTrees(n_context, len(error), library)


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
