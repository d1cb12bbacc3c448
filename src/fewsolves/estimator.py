"""The scikit-learn face: fit, predict, decide, score."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted
from torch import nn

from fewsolves.data import check_matrix, check_table, split_rows
from fewsolves.errors import InputError
from fewsolves.fit import Fit, fit
from fewsolves.methods import Method
from fewsolves.oracle import Calls, Oracle
from fewsolves.problem import Array, Problem
from fewsolves.training.history import EpochRecord
from fewsolves.training.progress import Progress


class DecisionRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Learns to predict the parameters of an optimisation problem so that the decisions made from them are good.

    >>> import numpy as np, fewsolves as fs
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 2)); Y = 10 + X @ [[2.0], [1.0]] + rng.normal(size=(60, 1))
    >>> order = fs.Problem(
    ...     solve=lambda y_hat: y_hat,                                            # order what is predicted
    ...     cost=lambda y, z: float(np.sum(1.0 * z + 9.0 * np.maximum(y - z, 0))),   # unmet demand is dear
    ... )
    >>> model = fs.DecisionRegressor(order, method="sfge", predictor="linear", settings={"max_epochs": 5}).fit(X, Y)
    >>> model.decide(X[:2]).shape
    (2, 1)

    After `fit`: `history_` (one record per epoch), `calls_` (what was paid, by phase), `stopped_` (why it ended).
    """

    def __init__(
        self,
        problem: Problem,
        method: str | Method = "sfge",
        predictor: str | nn.Module = "auto",
        settings: Mapping[str, Any] | None = None,
        workers: int = 1,
        random_state: int = 0,
        verbose: bool = True,
    ) -> None:
        self.problem = problem
        self.method = method
        self.predictor = predictor
        self.settings = settings
        self.workers = workers
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, Y: Any, instances: Sequence[Any] | None = None) -> DecisionRegressor:
        """Train on nine tenths of the rows, choose on the last tenth; `instances` are known data, one per row."""
        if Y is None:
            raise InputError("requires y to be passed, but the target y is None: give the true parameters Y")
        flat = np.ndim(Y) == 1
        X, Y = check_table(_numbers(X, self), np.reshape(Y, (-1, 1)) if flat else Y)
        problem = self.problem if instances is None else self.problem.with_instances(instances)
        with Progress(quiet=not self.verbose) as progress:
            fitted = fit(
                problem,
                X,
                Y,
                split_rows(len(X), rng=np.random.default_rng(self.random_state), test=0.0),
                method=self.method,
                predictor=self.predictor,
                settings=self.settings,
                seed=self.random_state,
                workers=self.workers,
                callbacks=[progress],
            )
        self._learn(fitted, flat)
        return self

    def predict(self, X: Any) -> Array:
        """y_hat, one row per row of X; one-dimensional where Y was."""
        y_hat = self._predict(X)
        return y_hat[:, 0] if self._flat else y_hat

    def decide(self, X: Any, instances: Sequence[Any] | None = None) -> Array:
        """The decisions z*(y_hat), stacked; an object array where their shapes differ."""
        y_hat = self._predict(X)
        oracle = Oracle(self.problem.with_instances(instances), y_hat)
        return _stack(oracle.solve(np.arange(len(y_hat)), y_hat, phase="test"))

    def score(self, X: Any, Y: Any, instances: Sequence[Any] | None = None) -> float:
        """Minus the mean regret of the decisions, so that higher is better; pays for two solves per row."""
        y_hat = self._predict(X)
        Y = check_matrix("Y", np.reshape(Y, (-1, 1)) if np.ndim(Y) == 1 else Y)
        if len(Y) != len(y_hat):
            raise InputError(f"X has {len(y_hat)} rows and Y has {len(Y)}")
        oracle = Oracle(self.problem.with_instances(instances), Y, workers=self.workers)
        try:
            return -float(oracle.regret(np.arange(len(Y)), y_hat, phase="test").mean())
        finally:
            oracle.close()

    def _learn(self, fitted: Fit, flat: bool) -> None:
        self.predictor_ = fitted.predictor
        self.predictor_name_ = fitted.predictor_name
        self.history_: list[EpochRecord] = fitted.history
        self.calls_: Calls = fitted.oracle.calls
        self.stopped_ = fitted.stopped
        self.validation_regret_ = fitted.best.mean
        self.start_validation_regret_ = fitted.start.mean
        self._flat = flat

    def _predict(self, X: Any) -> Array:
        check_is_fitted(self)
        X = check_matrix("X", _numbers(X, self))
        if X.shape[1] != self.n_features_in_:
            name = type(self).__name__
            message = f"X has {X.shape[1]} features, but {name} is expecting {self.n_features_in_} features as input"
            raise InputError(message)
        with torch.no_grad():
            y_hat: Array = self.predictor_(torch.as_tensor(X)).numpy()
        return y_hat


def _numbers(X: Any, estimator: DecisionRegressor) -> Any:
    return X


def _stack(decisions: list[Array]) -> Array:
    if len({z.shape for z in decisions}) == 1:
        return np.stack(decisions)
    ragged = np.empty(len(decisions), dtype=object)
    ragged[:] = decisions
    return ragged
