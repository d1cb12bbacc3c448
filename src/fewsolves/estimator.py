"""The scikit-learn estimator: fit, predict, decide, score."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_array, check_is_fitted, validate_data
from torch import nn

import fewsolves
from fewsolves.data import Validation, check_order
from fewsolves.errors import InputError
from fewsolves.methods.base import Method
from fewsolves.model import DecisionModel
from fewsolves.oracle import Budget, Calls, SolveConfig
from fewsolves.oracle.config import OnFailure
from fewsolves.problem import Array, Problem
from fewsolves.runs.fit import fit
from fewsolves.runs.plan import Plan
from fewsolves.runs.result import Fit
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

    `validation` says which rows the result is chosen by (docs/validation.md): a share, "last 20 %", or the rows.
    `workers`, `time_limit`, `memory_limit`, `on_failure` and `execution` say how solves run (docs/solving.md), `budget`
    how many there may be, `asynchronous` whether training goes on meanwhile (docs/budgets.md); with a `folder` nothing
    paid is lost, and the same call goes on where it stopped (docs/ledger.md).

    After `fit`: `history_` (one record per epoch), `calls_` (what was paid, by phase), `stopped_` (why it ended).
    """

    def __init__(
        self,
        problem: Problem,
        method: str | Method = "gp-surrogate",
        predictor: str | nn.Module = "auto",
        settings: Mapping[str, Any] | None = None,
        workers: int = 1,
        time_limit: float | None = None,
        memory_limit: int | None = None,
        on_failure: OnFailure = "raise",
        execution: str = "auto",
        asynchronous: bool = False,
        budget: Budget | None = None,
        folder: str | Path | None = None,
        random_state: int = 0,
        verbose: bool = True,
        validation: Validation = 0.1,
    ) -> None:
        self.problem = problem
        self.method = method
        self.predictor = predictor
        self.settings = settings
        self.workers = workers
        self.time_limit = time_limit
        self.memory_limit = memory_limit
        self.on_failure = on_failure
        self.execution = execution
        self.asynchronous = asynchronous
        self.budget = budget
        self.folder = folder
        self.random_state = random_state
        self.verbose = verbose
        self.validation = validation

    def fit(
        self,
        X: Any,
        y: Any,
        instances: Sequence[Any] | None = None,
        sample_weight: Any = None,
        groups: Any = None,
    ) -> DecisionRegressor:
        """Train on some rows, choose on the others: a tenth of them, or what `validation` says.

        X (n, n_x) context; y (n, n_y) true parameters, or (n,) for one; `instances` are known data, one per row.
        `sample_weight` (n,) weighs rows in training and validation; a row of weight 0 costs nothing. Rows of one label
        in `groups` (n,) stay together.
        """
        if y is None:
            raise InputError("requires y to be passed, but the target y is None: give the true parameters")
        check_order(X, y)  # of data frames, which are arrays from here on
        y = check_array(y, dtype=np.float64, ensure_2d=False, ensure_all_finite=False, ensure_min_samples=0)
        plan = Plan(
            self.problem if instances is None else self.problem.with_instances(instances),
            self._numbers(X, reset=True),
            y[:, None] if y.ndim == 1 else y,
            validation=self.validation,
            groups=groups,
            sample_weight=sample_weight,
            method=self.method,
            settings=self.settings,
            predictor=self.predictor,
            seed=self.random_state,
            solving=self._solving(),
            budget=self.budget,
            folder=self.folder,
        )
        with Progress(quiet=not self.verbose) as progress:
            fitted = fit(plan, callbacks=[progress])
        for message in fitted.warnings:
            warnings.warn(message, stacklevel=2)
        self._learn(fitted, flat=y.ndim == 1)
        return self

    def predict(self, X: Any) -> Array:
        """y_hat, one row per row of X; one-dimensional where Y was."""
        y_hat = self._predict(X)
        return y_hat[:, 0] if self._flat else y_hat

    def decide(self, X: Any, instances: Sequence[Any] | None = None) -> Array:
        """The decisions z*(y_hat), stacked; an object array where their shapes differ."""
        return self._model().decided(self._predict(X), instances)

    def score(self, X: Any, y: Any, instances: Sequence[Any] | None = None, sample_weight: Any = None) -> float:
        """Minus the mean regret of the decisions, so that higher is better; pays for two solves per row."""
        return self._model().scored(self._predict(X), y, instances, sample_weight)

    def save(self, folder: str | Path) -> Path:
        """Write what predicts and decides, as safetensors and JSON, for `fs.load(folder, problem)`.

        Neither the table nor the problem is written. (The `folder=` of a run is another: it keeps what was paid.)
        """
        return self._model().save(folder)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.regressor_tags.poor_score = True  # scikit-learn's checks expect R^2; this score is minus the regret
        return tags

    def _solving(self) -> SolveConfig:
        return SolveConfig(
            workers=self.workers,
            time_limit=self.time_limit,
            memory_limit=self.memory_limit,
            on_failure=self.on_failure,
            execution=self.execution,
            asynchronous=self.asynchronous,
        )

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
        return self._model().predicted(self._numbers(X, reset=False))

    def _model(self) -> DecisionModel:
        check_is_fitted(self)
        about = {
            "method": self.method if isinstance(self.method, str) else self.method.name,
            "fewsolves": fewsolves.__version__,
            "saved": datetime.now(UTC).isoformat(timespec="seconds"),
            "validation_regret": self.validation_regret_,
            "start_validation_regret": self.start_validation_regret_,
            "solves": self.calls_.total("solve"),
            "stopped": self.stopped_,
        }
        names = getattr(self, "feature_names_in_", None)
        return DecisionModel(
            self.predictor_,
            self.predictor_name_,
            self.problem,
            self._solving(),
            flat=self._flat,
            columns=None if names is None else tuple(names),
            about=about,
        )

    def _numbers(self, X: Any, *, reset: bool) -> Array:
        """X as float64, by scikit-learn's rules for data frames, sparse and text input; its finiteness is our check."""
        options = {"dtype": np.float64, "ensure_all_finite": False, "ensure_min_samples": 0, "ensure_min_features": 0}
        numbers: Array = validate_data(self, X, reset=reset, **options)
        return numbers
