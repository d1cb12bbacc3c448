"""The scikit-learn estimator: fit, predict, decide, score."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils import estimator_html_repr
from sklearn.utils.validation import check_is_fitted

from fewsolves._internal.frames import checked_features, checked_targets, column_names, predictions_frame, wants_frame
from fewsolves.data import Split, Validation
from fewsolves.errors import InputError
from fewsolves.fitting.fit import fit
from fewsolves.fitting.growth import Former
from fewsolves.fitting.landscape import TrainingRows
from fewsolves.fitting.plan import Plan
from fewsolves.fitting.prepare import Prepared, prepare
from fewsolves.fitting.result import Fit, former_of, result_of
from fewsolves.fitting.summary import Summary
from fewsolves.methods.base import Trainer
from fewsolves.methods.gp_surrogate.surrogate.calibration import Calibration
from fewsolves.methods.registry import DEFAULT
from fewsolves.model import DecisionModel, model_of
from fewsolves.oracle import Budget, Calls, SolveConfig
from fewsolves.oracle.config import OnFailure
from fewsolves.oracle.failures import Failed
from fewsolves.predictors.forecaster import is_forecaster
from fewsolves.problem import Array, Problem
from fewsolves.reporting.notebook import fitted_html
from fewsolves.reporting.runs import Run
from fewsolves.training.history import Callback, EpochRecord
from fewsolves.training.progress import Progress

SETTING = "settings__"  # before the name of a setting, where scikit-learn searches over it


class DecisionRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Learns to predict the parameters of an optimisation problem so that the decisions made from them are good.

    >>> import numpy as np, fewsolves as fs
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 2)); Y = 10 + X @ [[2.0], [1.0]] + rng.normal(size=(60, 1))
    >>> order = fs.Problem(
    ...     solve=lambda y_hat: y_hat,                                            # order what is predicted
    ...     cost=lambda y, z: float(np.sum(1.0 * z + 9.0 * np.maximum(y - z, 0))),   # unmet demand is expensive
    ... )
    >>> model = fs.DecisionRegressor(order, method="sfge", predictor="linear", settings={"max_epochs": 5}).fit(X, Y)
    >>> model.decide(X[:2]).shape
    (2, 1)

    Args:
        problem: The two functions, `solve` and `cost`, as a `Problem` (docs/problem.md).
        method: How to train: the name of a method, or a `Trainer` of your own (docs/methods/README.md).
        predictor: "linear", "network", "auto" (both are started, and the better start is kept), "xgboost", "lightgbm",
            a torch module, or a forecaster of your own: any scikit-learn regressor or pipeline, which stays as it is
            and gets a correction (docs/predictors.md).
        settings: Settings of the method, by name, such as ``{"solves": 4}``. ``fewsolves methods NAME`` lists them; a
            setting that the method does not have is refused.
        workers: Processes that solve side by side (docs/solving.md).
        time_limit: Seconds for one solve; then it is ended, with all that it started. None: no limit.
        memory_limit: Bytes that a worker may take beyond what it holds with the problem loaded. None: no limit.
        on_failure: What follows when a solve fails: "raise", "skip" (the row has no weight), or "penalise" (it gets a
            large regret).
        grace: Seconds that solves under way are waited for when a run is stopped.
        execution: Where solves run: "auto", "serial", "processes", "ray", or the address of a Ray cluster
            (docs/cluster.md).
        asynchronous: Whether training goes on while solves are under way; for ``method="gp-surrogate"``
            (docs/budgets.md).
        budget: The most that `fit` may pay, as a `Budget`. None: no limit.
        folder: Where everything paid is written before it is used. After a crash the same call resumes
            (docs/ledger.md). None: nothing is written.
        random_state: The seed of everything that is random.
        verbose: Whether progress is shown. Messages go to `logging` in either case.
        validation: Rows for validation only (docs/validation.md): a share such as 0.3, "last 20 %", or row numbers.
            None: the default sets no rows aside and judges every row by a model that never saw it; other methods hold
            out a fifth of few rows, a tenth of many.
        callbacks: Functions that get a record of each epoch (docs/progress.md).
        write_report: Whether `fit` writes report.html at the end, as `report()` does; it needs the extra `report`.

    Attributes:
        summary_: The gain with its interval, the calls paid, and the next step, in sentences. Print it.
        kept_start_: True if nothing clearly beat prediction-focused learning; then `predict` uses that start.
        validation_regret_: Mean regret of the result on the validation rows.
        start_validation_regret_: Mean regret of the prediction-focused start on the same rows.
        calls_: What was paid: solves and cost calls by phase, and seconds (docs/counting.md).
        stopped_: Why training ended, in a sentence.
        warnings_: The warnings that `fit` has issued.
        failures_: Calls that gave nothing, with row, cause and number of attempts.
        history_: One record for each epoch.
        split_: The numbers of the rows that were trained on and validated on.
        predictor_: The trained torch module, from x to y_hat.
        predictor_name_: "linear", "network", "xgboost", "lightgbm", "given" for a module of your own, or the class of
            your forecaster.
        forecaster_: The fitted regressor whose forecasts are corrected, or None.
        correction_: What was changed of its forecasts, in a sentence, or None.
        surrogate_: What was learned of the regret of each training row; it needs no solver. None where the method
            learns none.
        calibration_: How many of 64 held-out regrets lay in the surrogate's intervals. None where there is none.
        schedule_: The stages of the default, with the solves that each may pay; empty for other methods.
        run_: All of it as plain data: what `report`, `fewsolves.report` and `fewsolves.plot` show.
        training_rows_: The rows that were trained on, for `fewsolves.plot.landscape`.
        solving_: How solves ran, as a `SolveConfig`.
        target_names_: Names of the columns of y where it was a data frame, else None.
        n_features_in_: Number of columns of X.
        feature_names_in_: Names of the columns of X, where it was a data frame.
    """

    def __init__(
        self,
        problem: Problem,
        method: str | Trainer = DEFAULT,
        predictor: Any = "auto",
        settings: Mapping[str, Any] | None = None,
        workers: int = 1,
        time_limit: float | None = None,
        memory_limit: int | None = None,
        on_failure: OnFailure = "raise",
        grace: float = 600.0,
        execution: str = "auto",
        asynchronous: bool = False,
        budget: Budget | None = None,
        folder: str | Path | None = None,
        random_state: int = 0,
        verbose: bool = True,
        validation: Validation | None = None,
        callbacks: Sequence[Callback] = (),
        write_report: bool = False,
    ) -> None:
        self.problem = problem
        self.method = method
        self.predictor = predictor
        self.settings = settings
        self.workers = workers
        self.time_limit = time_limit
        self.memory_limit = memory_limit
        self.on_failure = on_failure
        self.grace = grace
        self.execution = execution
        self.asynchronous = asynchronous
        self.budget = budget
        self.folder = folder
        self.random_state = random_state
        self.verbose = verbose
        self.validation = validation
        self.callbacks = callbacks
        self.write_report = write_report

    def fit(
        self,
        X: Any,
        y: Any,
        instances: Sequence[Any] | None = None,
        sample_weight: Any = None,
        groups: Any = None,
    ) -> DecisionRegressor:
        """Train the predictor; `validation` says which rows are held out, if any.

        Args:
            X: (n, n_x) What is known when a decision is made.
            y: (n, n_y) True parameters of the problem, or (n,) for one parameter.
            instances: Known data of each row, which `solve` and `cost` get as one argument more.
            sample_weight: (n,) Weights of the rows, in training and in validation. A row of weight 0 costs nothing.
            groups: (n,) Labels; rows of one label are all trained on or all validated on.

        Returns:
            The fitted estimator itself.
        """
        return self._fit(X, y, instances, sample_weight, groups, None)

    def refit(
        self,
        X: Any,
        y: Any,
        instances: Sequence[Any] | None = None,
        sample_weight: Any = None,
        groups: Any = None,
    ) -> DecisionRegressor:
        """Continue with a grown table: the former rows, unchanged, followed by new rows.

        Training starts from the present predictor, which is kept unless a new one clearly beats it. Calls paid for old
        rows are reused; the allowance depends on the number of new rows (docs/refit.md). With a `folder`, `fit` with
        the grown table does the same.

        Args:
            X: (n, n_x) The former rows, followed by the new ones.
            y: (n, n_y) True parameters of all rows, or (n,) for one parameter.
            instances: Known data of all rows, where the problem has any.
            sample_weight: (n,) Weights of all rows.
            groups: (n,) Labels of all rows; new rows of an old label go where that is.

        Returns:
            The fitted estimator itself.
        """
        check_is_fitted(self)
        return self._fit(X, y, instances, sample_weight, groups, self._former if self.folder is None else None)

    def _fit(
        self, X: Any, y: Any, instances: Any, sample_weight: Any, groups: Any, former: Former | None
    ) -> DecisionRegressor:
        self.target_names_, y = column_names(y), checked_targets(X, y)
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
            former=former,
        )
        prepared = prepare(plan)
        with Progress(quiet=not self.verbose) as progress:
            fitted = fit(prepared, callbacks=[progress, *_checked(self.callbacks)])
            progress.end(str(fitted.summary))
        self._learn(fitted, prepared, flat=y.ndim == 1)
        if self.write_report:
            self.report()
        for message in self.warnings_:
            if message not in fitted.said:
                warnings.warn(message, stacklevel=3)
        return self

    def report(self, path: str | Path | None = None) -> Path:
        """Write an HTML page about the fit, and return its path.

        Args:
            path: The file to write. None: report.html in the folder of the run, or in the working directory.
        """
        from fewsolves.reporting import report  # draws with matplotlib, an extra

        check_is_fitted(self)
        return report(self, Path(self.folder or ".") / "report.html" if path is None else path)

    def predict(self, X: Any) -> Any:
        """y_hat, one row per row of X; one-dimensional where Y was.

        Where Y was a data frame, so is this, with its columns; `set_output` says otherwise.

        Args:
            X: (n, n_x) Rows like those that were trained on.
        """
        y_hat = self._predict(X)
        if wants_frame(self, self.target_names_):
            return predictions_frame(y_hat, self.target_names_, X)
        return y_hat[:, 0] if self._learned.flat else y_hat

    def set_output(self, *, transform: str | None = None) -> DecisionRegressor:
        """Choose what `predict` gives.

        Args:
            transform: "default", an array; "pandas", a data frame; None changes nothing.
        """
        if transform not in (None, "default", "pandas"):
            raise InputError(f"set_output(transform=) is 'default', 'pandas' or None, got {transform!r:.80}")
        if transform is not None:
            self._sklearn_output_config = {"transform": transform}  # by this name clones keep it
        return self

    def decide(self, X: Any, instances: Sequence[Any] | None = None) -> Any:
        """The decisions z*(y_hat) for rows of X; one solve for each.

        Arrays come stacked, in an object array where their shapes differ; other decisions in a list.

        Args:
            X: (n, n_x) Rows like those that were trained on.
            instances: Known data of each row, where the problem has any.
        """
        return self._model().decided(self._predict(X), instances)

    def score(self, X: Any, y: Any, instances: Sequence[Any] | None = None, sample_weight: Any = None) -> float:
        """Minus the mean regret of the decisions, so that higher is better; pays for two solves per row.

        Args:
            X: (n, n_x) Rows like those that were trained on, better rows that were not.
            y: (n, n_y) Their true parameters, or (n,) for one parameter.
            instances: Known data of each row, where the problem has any.
            sample_weight: (n,) Weights of the rows in the mean.
        """
        return self._model().scored(self._predict(X), y, instances, sample_weight)

    def save(self, folder: str | Path) -> Path:
        """Write what predicts and decides, as safetensors and JSON, for `fs.load(folder, problem)`.

        Neither the table nor the problem is written. (The `folder=` of a run is another: it keeps what was paid.)

        Args:
            folder: Where to write; a model that is there is replaced.
        """
        return self._model().save(folder)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The arguments by name, as scikit-learn requires.

        Args:
            deep: Also each of the settings that are given, as `settings__patience`.
        """
        params: dict[str, Any] = super().get_params(deep)
        given = self.settings if deep and isinstance(self.settings, Mapping) else {}  # `fit` refuses what is none
        return params | {f"{SETTING}{name}": value for name, value in given.items()}

    def set_params(self, **params: Any) -> DecisionRegressor:
        """Change arguments; `settings__patience=20` changes one setting of the method and leaves the others.

        Args:
            params: New values by name.
        """
        changed = {name: params.pop(name) for name in list(params) if name.startswith(SETTING)}
        super().set_params(**params)
        if changed:
            own = {name.removeprefix(SETTING): value for name, value in changed.items()}
            self.settings = {**(self.settings if isinstance(self.settings, Mapping) else {}), **own}
        return self

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
            grace=self.grace,
            execution=self.execution,
            asynchronous=self.asynchronous,
        )

    def _repr_html_(self) -> str:
        """In a notebook: the summary of the fit, or the diagram of scikit-learn before it."""
        if not hasattr(self, "run_"):
            return str(estimator_html_repr(self))
        return fitted_html(self.run_, self.summary_, correction=self.correction_, warnings=self.warnings_)

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": self._repr_html_()}

    def _learn(self, fitted: Fit, prepared: Prepared, flat: bool) -> None:
        plan = prepared.plan
        self.predictor_ = fitted.predictor
        self.predictor_name_ = fitted.predictor_name
        self.history_: list[EpochRecord] = fitted.history
        self.calls_: Calls = fitted.oracle.calls
        self.stopped_ = fitted.stopped
        self.validation_regret_ = fitted.best.mean
        self.start_validation_regret_ = fitted.start.mean
        self.run_ = Run(result_of(fitted), tuple(fitted.history), plan.folder)
        self.summary_: Summary = fitted.summary
        self.kept_start_ = fitted.kept_start
        self.schedule_: list[dict[str, Any]] = list(fitted.report.get("schedule", ()))
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

    def _predict(self, X: Any) -> Array:
        check_is_fitted(self)
        return self._model().predicted(self._numbers(X, reset=False))

    def _model(self) -> DecisionModel:
        """The trained model, with the present problem and execution settings."""
        check_is_fitted(self)
        return dataclasses.replace(self._learned, problem=self.problem, solving=self._solving())

    def _numbers(self, X: Any, *, reset: bool) -> Any:
        base = None if reset else self._learned.forecaster
        as_given = is_forecaster(self.predictor) if reset else base is not None and base.library is None
        return checked_features(self, X, reset=reset, as_given=as_given)


def _checked(callbacks: Any) -> Sequence[Callback]:
    if isinstance(callbacks, Sequence) and all(map(callable, callbacks)):
        return callbacks
    raise InputError(f"callbacks is a list of functions of an EpochRecord, got {callbacks!r:.80}")
