"""The state of a fitted estimator: the trained model and facts about the run, and how a notebook shows them."""

from __future__ import annotations

import dataclasses
from typing import Any

from sklearn.utils import estimator_html_repr
from sklearn.utils.validation import check_is_fitted

from fewsolves._internal.frames import checked_features
from fewsolves.data import Split
from fewsolves.fitting.landscape import TrainingRows
from fewsolves.fitting.prepare import Prepared
from fewsolves.fitting.result import Fit, former_of, result_of
from fewsolves.fitting.summary import Summary
from fewsolves.methods.gp_surrogate.surrogate.calibration import Calibration
from fewsolves.model import DecisionModel, model_of
from fewsolves.oracle import Calls, SolveConfig
from fewsolves.oracle.config import OnFailure, RegretKind
from fewsolves.oracle.failures import Failed
from fewsolves.predictors.regressor import is_forecaster
from fewsolves.problem import Array, Problem
from fewsolves.reporting.notebook import fitted_html
from fewsolves.reporting.runs import Run
from fewsolves.searchable import Searchable
from fewsolves.training.records import Records, StageList


class Learned(Searchable):
    """The attributes of an estimator that end in an underscore; `DecisionRegressor` describes them."""

    problem: Problem
    predictor: Any
    workers: int
    time_limit: float | None
    memory_limit: int | None
    on_failure: OnFailure
    grace: float
    execution: str
    asynchronous: bool
    regret: RegretKind

    def _learn(self, fitted: Fit, prepared: Prepared, names_of_y: tuple[str, ...] | None, flat: bool) -> None:
        plan = prepared.plan
        self.target_names_ = names_of_y
        self.predictor_ = fitted.predictor
        self.predictor_name_ = fitted.predictor_name
        self.start_predictions_ = fitted.start_predictions
        self.history_ = Records(fitted.history)
        self.calls_: Calls = fitted.oracle.calls
        self.stopped_ = fitted.stopped
        self.start_validation_regret_, self.validation_regret_ = fitted.reached
        self.run_ = Run(result_of(fitted), tuple(fitted.history), plan.folder)
        self.summary_: Summary = fitted.summary
        self.kept_start_ = fitted.kept_start
        self.schedule_ = StageList(fitted.report.get("schedule", ()))
        self.calibration_: Calibration | None = self.run_.calibration
        self.surrogate_ = fitted.surrogate
        self.warnings_: list[str] = [
            *([fitted.summary.message] if fitted.kept_start and not prepared.former else []),
            *fitted.warnings,
        ]
        self.failures_: list[Failed] = fitted.oracle.failures.failed
        self.split_: Split = fitted.split
        self.solving_ = plan.solving
        train = fitted.split.train
        self.forecaster_ = None if fitted.forecaster is None else fitted.forecaster.regressor
        self.correction_: str | None = fitted.correction(self.target_names_)
        self.training_rows_ = TrainingRows(plan.problem, fitted.X_train, plan.Y[train], train)
        names = getattr(self, "feature_names_in_", None)
        self._learned = model_of(
            fitted, flat=flat, columns=None if names is None else tuple(names), targets=self.target_names_
        )
        self._former = None if plan.folder is not None else former_of(fitted, prepared)

    def _numbers(self, X: Any, *, reset: bool) -> Any:
        base = None if reset else self._learned.forecaster
        as_given = is_forecaster(self.predictor) if reset else base is not None and base.library is None
        return checked_features(self, X, reset=reset, as_given=as_given)

    def _solving(self) -> SolveConfig:
        return SolveConfig(
            workers=self.workers,
            time_limit=self.time_limit,
            memory_limit=self.memory_limit,
            on_failure=self.on_failure,
            grace=self.grace,
            execution=self.execution,
            asynchronous=self.asynchronous,
            regret=self.regret,
        )

    def _predict(self, X: Any) -> Array:
        check_is_fitted(self)
        return self._model().predicted(self._numbers(X, reset=False))

    def _model(self) -> DecisionModel:
        """The trained model, with the present problem and execution settings."""
        check_is_fitted(self)
        return dataclasses.replace(self._learned, problem=self.problem, solving=self._solving())

    def _repr_html_(self) -> str:
        """In a notebook: the summary of the fit, or the diagram of scikit-learn before it."""
        if not hasattr(self, "run_"):
            return str(estimator_html_repr(self))
        return fitted_html(self.run_, self.summary_, correction=self.correction_, warnings=self.warnings_)

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": self._repr_html_()}

    def __sklearn_is_fitted__(self) -> bool:
        """Only after a fit that ended well: one that failed has checked X, and left names that end in an underscore."""
        return hasattr(self, "_learned")
