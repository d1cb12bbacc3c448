"""Boosting rounds that are trained for decisions, on top of a prediction-focused booster.

f (B, n_y)  forecasts of the booster, in standard deviations of y from its mean     c (B, n_c)  context, standardised
t           a round: one tree for each output, of depth DEPTH, over (c, f)          G (M, n_y)  slopes of the losses

    y_hat = f + b + sum_t h_t(c, f)         h_t fitted to -G at the y_hat of the rounds before, then made one step long

A round is an epoch: the method's slopes of all training rows, in batches of any size, are one custom
objective with a constant second derivative. Methods give slopes in any unit, so what a round changes is as long as the
step says, root mean square over rows and outputs. Trees are kept as arrays: saved without pickle, and used without the
library that grew them.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import numpy as np

from fewsolves._internal.dense import fitting
from fewsolves.predictors.boosted.arrays import DEPTH, INNER, LEAVES
from fewsolves.predictors.predictor import Predictor
from fewsolves.problem import Array

LIBRARIES = ("xgboost", "lightgbm")
LEAST, LARGE = 10, 10  # fewest rows in a leaf of a round, and at least a tenth of all: slopes are noisier than truths
BOOSTER = "booster."  # before the names of arrays that hold the prediction-focused one


def booster(library: str) -> Any:
    """The prediction-focused one, as a regressor that is not fitted yet."""
    from fewsolves.predictors.boosted.booster import TreeBooster, library_of

    library_of(library)
    return TreeBooster(library)


TREES = ("feature", "threshold", "leaf")  # the arrays of all rounds


class BoostedTrees:
    """Takes standardised context and forecasts side by side; gives forecasts, a shift, and what the rounds add."""

    relative_rate: float | None = None
    features, one_layer, layer = 0, False, None

    def __init__(self, n_context: int, n_y: int, library: str) -> None:
        self.n_context, self.n_y, self.library = n_context, n_y, library
        self.shift = np.zeros(n_y)
        self.feature = np.empty((0, n_y, INNER), dtype=np.int64)
        self.threshold = np.empty((0, n_y, INNER), dtype=np.float32)
        self.leaf = np.empty((0, n_y, LEAVES))

    def __repr__(self) -> str:
        return f"BoostedTrees({self.n_context}, {self.n_y}, {self.library!r})"

    def weights(self) -> list[Array]:
        """The shift; rounds are added, and do not change."""
        return [self.shift]

    def names(self) -> list[str]:
        """The names of the arrays of `arrays`."""
        return ["shift", *TREES]

    def redrawn(self, seed: int) -> BoostedTrees:
        """A copy: nothing of it is random."""
        return copy.deepcopy(self)

    def arrays(self) -> dict[str, Array]:
        """Copies of the shift and of all rounds."""
        return {name: getattr(self, name).copy() for name in self.names()}

    def load(self, arrays: Mapping[str, Array]) -> None:
        """Take shift and rounds of a file, and check them, since a file may hold anything."""
        rounds, feature = len(np.atleast_1d(arrays["leaf"])), arrays["feature"]
        for name in TREES:
            fitting(name, arrays[name], (rounds, *getattr(self, name).shape[1:]))
        if feature.size and not 0 <= feature.min() <= feature.max() < self.n_context + self.n_y:
            raise ValueError(f"a tree refers to a column beyond the {self.n_context + self.n_y} that there are")
        self.shift[:] = fitting("shift", arrays["shift"], self.shift.shape)
        for name in TREES:
            setattr(self, name, np.array(arrays[name], dtype=getattr(self, name).dtype))

    def __call__(self, u: Array) -> Array:
        return self.forward(u)[0]

    def forward(self, u: Array) -> tuple[Array, None]:
        """Forecasts, shift and rounds."""
        y_hat: Array = u[:, -self.n_y :] + self.shift
        for feature, threshold, leaf in zip(self.feature, self.threshold, self.leaf, strict=True):
            y_hat = y_hat + _grown(u, feature, threshold, leaf)
        return y_hat, None

    def backward(self, slope: Array, kept: None) -> list[Array | None]:
        """The slope by the shift."""
        return [slope.sum(axis=0)]

    def add(self, feature: Array, threshold: Array, leaf: Array) -> None:
        """One more round."""
        self.feature = np.concatenate([self.feature, feature[None]])
        self.threshold = np.concatenate([self.threshold, threshold[None]])
        self.leaf = np.concatenate([self.leaf, leaf[None]])


def _grown(u: Array, feature: Array, threshold: Array, leaf: Array) -> Array:
    """(B, n_y) Predictions of the trees of one round."""
    x, outputs = u.astype(np.float32), np.arange(len(leaf))  # libraries compare in single precision
    node = np.zeros((len(u), len(leaf)), dtype=np.int64)
    for _ in range(DEPTH):
        goes_right = np.take_along_axis(x, feature[outputs, node], axis=1) >= threshold[outputs, node]
        node = 2 * node + 1 + goes_right
    return np.asarray(leaf[outputs, node - INNER])


class Rounds:
    """Grows the rounds of a predictor from slopes at its training rows X (M, n_c + n_y)."""

    def __init__(self, predictor: Predictor, X: Array) -> None:
        from fewsolves.predictors.boosted.booster import library_of  # needs an extra, and scikit-learn

        net = predictor.net
        assert isinstance(net, BoostedTrees)
        self.net, self.std = net, predictor.y_std
        self.u = (X - predictor.x_mean) / predictor.x_std
        self.grower = library_of(net.library).grower(self.u, max(LEAST, len(X) // LARGE))
        self._begin()

    def _begin(self) -> None:
        self.slopes, self.seen = np.zeros((len(self.u), self.net.n_y)), np.zeros(len(self.u))

    def note(self, index: Array, slope: Array) -> None:
        """Slopes (B, n_y) of the sum of losses of these rows, each of which is there once."""
        self.slopes[index] += slope
        self.seen[index] += 1

    def grow(self, step: float) -> None:
        """Add a round that changes predictions by `step` standard deviations of y, and clear the slopes."""
        slopes, known = self.slopes * self.std / np.maximum(self.seen, 1.0)[:, None], self.seen > 0
        self._begin()
        size = np.sqrt(np.square(slopes).mean())
        if not size > 0 or not np.isfinite(size):
            return
        feature, threshold, leaf = self.grower(slopes / size, known.astype(float))
        change = np.sqrt(np.square(_grown(self.u[known], feature, threshold, leaf)).mean())
        if change > 0:
            self.net.add(feature, threshold, leaf * (step / change))


def rounds_of(predictor: Predictor, X: Array) -> Rounds | None:
    """The `Rounds` of a predictor of trees; None for any other."""
    return Rounds(predictor, X) if isinstance(predictor.net, BoostedTrees) else None


def interpolate_states(before: Mapping[str, Array], after: Mapping[str, Array], share: float) -> dict[str, Array]:
    """Interpolate between two states of one predictor; rounds that only `after` has are scaled by `share`."""
    state = {}
    for name, end in after.items():
        start = before[name]
        if start.shape != end.shape:
            rest = end[len(start) :]
            start = np.concatenate([start, np.zeros_like(rest) if name.endswith("leaf") else rest])
        state[name] = start + share * (end - start) if end.dtype.kind == "f" else end
    return state
