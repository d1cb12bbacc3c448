"""The models that are trained side by side, each without the rows of its fold, so that every row is evidence.

k        number of a model        bag_k    rows that it is trained on        fold_k   rows that it never sees
u        (B, d)  predictions in units of `TrainingRows`

Linear models are arrays, all in one: the result is the start on all rows plus the mean of the changes. Of any other
predictor there is one more model, trained on all rows, which is the result.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from fewsolves._internal.adam import Adam
from fewsolves.data import Scale
from fewsolves.methods.staged.rows import TrainingRows
from fewsolves.predictors.boosted.trees import interpolate_states, rounds_of
from fewsolves.predictors.predictor import Predictor, unit_step
from fewsolves.problem import Array

BETAS = 0.9, 0.999
REACH, LONGEST = 1.0, 0.15  # units by which all rounds of trees of a descent change predictions, and one of them


class Replicas(Protocol):
    """Models that a descent trains."""

    bags: list[Array]
    along: Array | None  #: (d,) the only direction in which their predictions move, of length sqrt(d); None: any

    def begin(self) -> None:
        """Before a descent."""

    def forward(self, k: int, rows: Array) -> Array:
        """u (B, d) of model k, which `step` then trains."""

    def anchor(self, u: Array, rng: np.random.Generator) -> Array:
        """(B, d): where to pay for rows whose predictions by the models are u (K, B, d), NaN by those without them."""

    def step(self, k: int, slope: Array, rate: float) -> None:
        """One step of Adam along minus the slopes (B, d) of the rows of the last `forward`."""

    def end_epoch(self, rate: float, epochs: float) -> None:
        """After each of the epochs of a descent; `rate` falls from 1 to nearly 0."""

    def collect(self) -> None:
        """Add the present weights to the average."""

    def settle(self) -> None:
        """Take the average as weights; where nothing was collected, those that there are."""


class AdamArrays:
    """Adam (Kingma and Ba, 2015) for a stack of arrays; regrets come in any unit, so eps is next to nothing."""

    def __init__(self, stack: Array) -> None:
        self.m, self.v, self.t = np.zeros_like(stack), np.zeros_like(stack), np.zeros(len(stack))

    def step(self, weights: Array, k: int, gradient: Array, rate: float) -> None:
        """One step of entry k of the stack `weights`, in place."""
        self.t[k] += 1
        m, v, t = self.m[k], self.v[k], self.t[k]
        m += (1 - BETAS[0]) * (gradient - m)
        v += (1 - BETAS[1]) * (gradient * gradient - v)
        weights[k] -= rate / (1 - BETAS[0] ** t) * m / (np.sqrt(v / (1 - BETAS[1] ** t)) + 1e-30)


class Shifts:
    """One number per output for each model, added to fixed predictions (n, d); or one number for all outputs."""

    def __init__(self, fixed: Array, bags: list[Array], *, common: bool = False) -> None:
        self.fixed, self.bags = fixed, bags
        self.t = np.zeros((len(bags), fixed.shape[1]))
        self.along = np.ones(fixed.shape[1]) if common else None

    def begin(self) -> None:
        self._adam, self._sum, self._collected = AdamArrays(self.t), np.zeros_like(self.t), 0

    def forward(self, k: int, rows: Array) -> Array:
        return np.asarray(self.fixed[rows] + self.t[k])

    def anchor(self, u: Array, rng: np.random.Generator) -> Array:
        return np.asarray(np.nanmean(u, axis=0))

    def step(self, k: int, slope: Array, rate: float) -> None:
        mean = slope.mean(axis=0)  # of slopes in one direction it has that direction, and so has the step
        self._adam.step(self.t, k, mean, rate)

    def end_epoch(self, rate: float, epochs: float) -> None:
        """Nothing grows by epochs here."""

    def collect(self) -> None:
        self._sum += self.t
        self._collected += 1

    def settle(self) -> None:
        if self._collected:
            self.t = self._sum / self._collected


class LinearReplicas:
    """u = A W_k, A (n, p + 1) standardised inputs and a one; bounded where the problem bounds predictions."""

    along: Array | None = None

    def __init__(self, rows: TrainingRows, X: Array, starts: Sequence[Predictor], bags: list[Array]) -> None:
        """`starts` are those of the bags, and last the one on all rows."""
        self.rows, self.bags, self._predictor = rows, bags, starts[-1]
        own = Scale(self._predictor.x_mean, self._predictor.x_std)
        self.x_scale = own if np.ndim(own.mean) else Scale.of(X)  # of a layer in the user's units
        mean, std = self.x_scale.mean, self.x_scale.std
        self.A = np.column_stack([(X - mean) / std, np.ones(len(X))])
        *of_bags, self._start = (self._weights_of(one, mean, std) for one in starts)
        self.W0 = np.stack(of_bags)
        self.W = self.W0.copy()

    def begin(self) -> None:
        self._adam, self._sum, self._collected = AdamArrays(self.W), np.zeros_like(self.W), 0
        self._last: dict[int, tuple[Array, Array | float]] = {}

    def forward(self, k: int, rows: Array) -> Array:
        u, slope = self._bounded(self.A[rows] @ self.W[k])
        self._last[k] = rows, slope
        return u

    def anchor(self, u: Array, rng: np.random.Generator) -> Array:
        return np.asarray(np.nanmean(u, axis=0))

    def step(self, k: int, slope: Array, rate: float) -> None:
        rows, of_bounds = self._last[k]
        self._adam.step(self.W, k, self.A[rows].T @ (slope * of_bounds) / len(rows), rate * self._predictor.rate)

    def end_epoch(self, rate: float, epochs: float) -> None:
        """Nothing grows by epochs here."""

    def collect(self) -> None:
        self._sum += self.W
        self._collected += 1

    def settle(self) -> None:
        if self._collected:
            self.W = self._sum / self._collected

    def predictions(self) -> Array:
        """(K, n, d): of all rows by each model."""
        return np.stack([self._bounded(self.A @ W)[0] for W in self.W])

    def shift(self, t: Array) -> None:
        """Add t (K, d) to the predictions."""
        self.W[:, -1] += t

    def snapshot(self) -> Any:
        return self.W.copy()

    def restore(self, snapshot: Any) -> None:
        self.W = snapshot.copy()

    def install(self, predictor: Predictor) -> None:
        """Make `predictor` the result."""
        scale = self.rows.scale
        W = self._start + (self.W - self.W0).mean(axis=0)
        x_mean, x_std, y_mean, y_std = (
            getattr(self._predictor, name) for name in ("x_mean", "x_std", "y_mean", "y_std")
        )
        mean, std = self.x_scale.mean, self.x_scale.std
        slope = W[:-1] * (x_std / std)[:, None] * scale.std  # by what the layer gets
        level = scale.mean + scale.std * W[-1] + (x_mean - mean) / x_std @ slope
        state = self._predictor.state_dict()
        state["net.weight"], state["net.bias"] = (slope / y_std).T, (level - y_mean) / y_std
        predictor.load_state_dict(state)

    def _weights_of(self, predictor: Predictor, mean: Array, std: Array) -> Array:
        """W (p + 1, d) of a linear predictor, for inputs that are standardised by `mean` and `std`."""
        x_mean, x_std, y_mean, y_std = predictor.x_mean, predictor.x_std, predictor.y_mean, predictor.y_std
        assert predictor.net.layer is not None
        weight, bias = (part.astype(float) for part in predictor.net.layer)
        slope = weight.T * y_std / np.reshape(x_std, (-1, 1))  # by x in the user's units
        level = y_mean + y_std * bias + np.broadcast_to(mean - x_mean, len(slope)) @ slope
        return np.vstack([slope * np.reshape(std, (-1, 1)) / self.rows.scale.std, self.rows.units(level)])

    def _bounded(self, u: Array) -> tuple[Array, Array | float]:
        """u within the bounds of the problem, and the slope of that."""
        if self._predictor.bounds is None:
            return u, 1.0
        within, slope = self._predictor.within_bounds(self.rows.raw(u))
        return self.rows.units(within), slope


class ModuleReplicas:
    """Predictors of any form; the last one is trained on all rows, and is the result."""

    along: Array | None = None

    def __init__(self, rows: TrainingRows, X: Array, starts: Sequence[Predictor], bags: list[Array]) -> None:
        self.rows, self.bags = rows, bags
        self.X, self.models = X, list(starts)
        self._narrow = rows.narrow
        self._rate = rows.narrow * starts[-1].rate * unit_step(starts[-1], self.X)
        for one in self.models:
            one.y_mean = np.broadcast_to(one.y_mean, (rows.d,)).copy()

    def begin(self) -> None:
        self._adam = [Adam(one.weights(), 0.0, eps=1e-30) for one in self.models]
        self._rounds = [rounds_of(one, self.X) for one in self.models]
        self._sums = [[np.zeros_like(p) for p in one.parameters] for one in self._adam]
        self._collected, self._last = 0, dict[int, tuple[Array, Any]]()

    def forward(self, k: int, rows: Array) -> Array:
        y_hat, kept = self.models[k].forward(self.X[rows])
        self._last[k] = rows, kept
        return self.rows.units(y_hat)

    def anchor(self, u: Array, rng: np.random.Generator) -> Array:
        """Of each row the result or, as often, one of the others: a model that never pays for itself runs away."""
        k, b = len(u) - 1, u.shape[1]
        if not k:
            return np.asarray(u[-1])
        other = np.where(np.isnan(u[:-1, :, 0]), -1.0, rng.random((k, b))).argmax(axis=0)
        return np.asarray(u[np.where(rng.random(b) < 0.5, k, other), np.arange(b)])

    def step(self, k: int, slope: Array, rate: float) -> None:
        index, kept = self._last.pop(k)
        by_y_hat = slope / self.rows.scale.std
        adam, rounds = self._adam[k], self._rounds[k]
        if not adam.parameters:
            return  # a module without weights: corrections alone are learned
        adam.learning_rate = rate * self._rate
        adam.step(self.models[k].backward(by_y_hat / len(index), kept))
        if rounds is not None:
            rounds.note(index, by_y_hat)

    def end_epoch(self, rate: float, epochs: float) -> None:
        for rounds in self._rounds:
            if rounds is not None:
                rounds.grow(self._narrow * min(LONGEST, 2 * REACH / epochs) * rate)

    def collect(self) -> None:
        self._collected += 1
        for sums, adam in zip(self._sums, self._adam, strict=True):
            for total, parameter in zip(sums, adam.parameters, strict=True):
                total += parameter

    def settle(self) -> None:
        if not self._collected:
            return
        for sums, adam in zip(self._sums, self._adam, strict=True):
            for total, parameter in zip(sums, adam.parameters, strict=True):
                parameter[...] = total / self._collected

    def predictions(self) -> Array:
        """(K + 1, n, d): of all rows by each model."""
        return np.stack([self.rows.units(one(self.X)) for one in self.models])

    def shift(self, t: Array) -> None:
        """Add t (K + 1, d) to the predictions."""
        for one, by in zip(self.models, t, strict=True):
            one.y_mean += self.rows.scale.std * by

    def snapshot(self) -> Any:
        return [one.state_dict() for one in self.models]

    def restore(self, snapshot: Any) -> None:
        for one, state in zip(self.models, snapshot, strict=True):
            one.load_state_dict(state)

    def extrapolate(self, before: Any, after: Any, share: float) -> None:
        """Take the states this many times as far from `before` as `after` is."""
        for one, here, there in zip(self.models, before, after, strict=True):
            one.load_state_dict(interpolate_states(here, there, share))

    def install(self, predictor: Predictor) -> None:
        """Make `predictor` the result."""
        predictor.y_mean = np.broadcast_to(predictor.y_mean, (self.rows.d,)).copy()
        predictor.load_state_dict(self.models[-1].state_dict())


def predict(predictor: Predictor, X: Array) -> Array:
    """(B, d) in the user's units."""
    return np.asarray(predictor(X))
