"""Least squares for a module that is linear in its weights, such as one layer shared by items.

w (p,)       trained weights of the module, w0 those that it has        r (M n_y,)  errors of w0, in the user's units
J (M n_y, p) slopes of the predictions by the weights, which are the same everywhere

    w = w0 + argmin_d |r - J d|^2          of the smallest |d|, where several are as good

J comes from p + 1 predictions of all rows: no slope of the module is needed, and what it computes may have any form.
"""

from __future__ import annotations

import copy

import numpy as np

from fewsolves.predictors.predictor import Predictor
from fewsolves.problem import Array

OBSERVATIONS = 5  # entries of Y for each weight, below which least squares would fit noise
ENTRIES = 20_000_000  # of J, at most
ROWS_FOR_LINEARITY = 8  # rows on which linearity is tried
EXACT = 1e-9  # relative error of what is linear
ROUGH = 1e-5  # the same in the precision of a module that cannot compute in float64
REFINED = 3  # solutions of the normal equations, each for the errors that the last one left


def fit_least_squares(predictor: Predictor, X: Array, Y: Array, weights: Array | None = None) -> bool:
    """Set the weights of `predictor` by X (M, ...), Y (M, n_y); False, and no change, where that is not possible."""
    trained = predictor.weights()
    p = sum(one.size for one in trained)
    if p == 0:
        return True  # nothing to fit
    if not p * OBSERVATIONS <= Y.size or Y.size * p > ENTRIES:
        return False
    model = _Weights(predictor, X[:1])
    if not model.linear(X[:ROWS_FOR_LINEARITY]):
        return False
    w = model.least_squares(X, Y, np.ones(len(Y)) if weights is None else weights)
    if not np.isfinite(w).all():
        return False
    _put(w, trained)
    return True


class _Weights:
    """Predictions without bounds as a function of the trained weights, in float64 where the module can."""

    def __init__(self, predictor: Predictor, row: Array) -> None:
        self.predictor, self.exact = copy.deepcopy(predictor), EXACT
        self.predictor.bounds = None
        own = self.predictor.net
        if hasattr(own, "double"):
            self.predictor.net = own.double()
            try:
                self.predictor(row)
            except Exception:  # its `forward`, which is the user's, creates or wants numbers of one precision
                self.predictor.net, self.exact = own, ROUGH
        self.parts = self.predictor.weights()
        self.w0 = np.concatenate([one.ravel() for one in self.parts]).astype(float)

    def predict(self, X: Array, w: Array) -> Array:
        _put(w, self.parts)
        y_hat: Array = self.predictor(X)
        return y_hat

    def linear(self, X: Array) -> bool:
        """Whether two changes of all weights add up."""
        rng = np.random.default_rng(0)
        size = 1.0 + np.abs(self.w0)
        one, other = (size * rng.normal(size=len(self.w0)) for _ in range(2))
        base, at_one, at_other, at_both = (self.predict(X, self.w0 + d) for d in (0.0, one, other, one + other))
        largest = max(float(np.abs(values).max()) for values in (base, at_one, at_other, at_both))
        return bool(np.abs(at_one + at_other - base - at_both).max() <= self.exact * largest)

    def least_squares(self, X: Array, Y: Array, weights: Array) -> Array:
        """(p,) The weights with the least squared error."""
        base, size = self.predict(X, self.w0), 1.0 + np.abs(self.w0)
        root = np.repeat(np.sqrt(weights), Y.shape[1])
        J = np.empty((Y.size, len(self.w0)))
        for k, step in enumerate(size):
            moved = self.w0.copy()
            moved[k] += step
            J[:, k] = root * (self.predict(X, moved) - base).ravel()
        norm = np.linalg.norm(J, axis=0)
        norm[norm == 0] = 1.0
        J /= norm
        errors, change = root * (Y - base).ravel(), np.zeros(len(self.w0))
        inverse = np.linalg.pinv(J.T @ J, rcond=1e-13 if self.exact == EXACT else self.exact, hermitian=True)
        for _ in range(REFINED):
            change += inverse @ (J.T @ (errors - J @ change))
        found: Array = self.w0 + size * change / norm
        return found


def _put(w: Array, parts: list[Array]) -> None:
    """Write the weights into their arrays."""
    ends = np.cumsum([one.size for one in parts])
    for one, values in zip(parts, np.split(w, ends[:-1]), strict=True):
        one[...] = values.reshape(one.shape)
