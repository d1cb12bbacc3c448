"""The scikit-learn estimator: fit, predict, decide, score."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Literal, Self, overload

import numpy as np
from sklearn.utils.validation import check_is_fitted

from fewsolves._internal.frames import (
    Predictions,
    Table,
    checked_targets,
    column_names,
    decisions_frame,
    predictions_frame,
    wants_frame,
)
from fewsolves.data import Validation, check_orders
from fewsolves.deciding import Decisions, WithoutPlan
from fewsolves.errors import FewsolvesWarning, InputError
from fewsolves.fitting.fit import fit
from fewsolves.fitting.growth import Former
from fewsolves.fitting.plan import Plan
from fewsolves.fitting.prepare import prepare
from fewsolves.learned import Learned
from fewsolves.methods.base import Trainer
from fewsolves.methods.registry import DEFAULT
from fewsolves.oracle import Budget
from fewsolves.oracle.config import OnFailure, RegretKind
from fewsolves.predictors.predictor import Scaled
from fewsolves.problem import Array, Problem
from fewsolves.regrets import Regrets
from fewsolves.training.displays import log_is_on
from fewsolves.training.history import Callback
from fewsolves.training.progress import Progress

if TYPE_CHECKING:
    from pandas import DataFrame


class DecisionRegressor(Learned, Generic[Predictions]):
    """Learns to predict the parameters of an optimisation problem so that the decisions made from them are good.

    >>> import numpy as np, fewsolves as fs
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 2)); Y = 10 + X @ [[2.0], [1.0]] + rng.normal(size=(60, 1))
    >>> order = fs.Problem(
    ...     solve=lambda y_hat: y_hat,  # order what is predicted; unmet demand is expensive
    ...     cost=lambda y, z: float(np.sum(1.0 * z + 9.0 * np.maximum(y - z, 0))),
    ... )
    >>> settings = {"max_epochs": 5}
    >>> model = fs.DecisionRegressor(order, "sfge", "linear", settings=settings).fit(X, Y)
    >>> model.decide(X[:2]).shape
    (2, 1)

    Args:
        problem: The two functions, `solve` and `cost`, as a `Problem` (docs/problem.md).
        method: How to train: the name of a method, or a `Trainer` of your own (docs/methods/README.md).
        predictor: "linear", "network", "auto" (a network where its cross-validated prediction loss is a tenth lower,
            else linear), "xgboost", "lightgbm", a torch module, or a forecaster of your own: any object with fit and
            predict, which stays as it is and gets a correction (docs/predictors.md). Where X has items, predictors are
            shared by them (docs/features-per-item.md).
        settings: Settings of the method, by name, such as ``{"solves": 4}``. ``fewsolves methods NAME`` lists them; a
            setting that the method does not have is refused.
        workers: Processes that solve side by side (docs/solving.md).
        time_limit: Seconds for one solve; then it is ended, with all that it started. None: no limit.
        memory_limit: Bytes that a worker may take beyond what it holds with the problem loaded. None: no limit.
        on_failure: What follows when a solve fails: "raise", "skip" (the row has no weight), or "penalise" (it gets a
            large regret).
        grace: Seconds to wait for the solves under way when a run is stopped.
        execution: Where solves run: "auto", "serial", "processes", "ray", or the address of a Ray cluster
            (docs/cluster.md).
        asynchronous: Whether training goes on while solves are under way; for ``method="gp-surrogate"``
            (docs/budgets.md).
        budget: The most that `fit` may pay, as a `Budget`. None: no limit.
        folder: Where everything paid is written before it is used. After a crash the same call resumes
            (docs/ledger.md). None: nothing is written.
        random_state: The seed of all random numbers.
        verbose: Whether progress is shown. Messages go to `logging` in either case.
        validation: Rows for validation only (docs/validation.md): a share such as 0.3, "last 20 %", or row numbers.
            None: the default sets no rows aside and judges every row by a model that never saw it; other methods hold
            out a fifth of few rows, a tenth of many.
        callbacks: Functions that get a record of each epoch (docs/progress.md).
        write_report: Whether `fit` writes report.html at the end, as `report()` does; it needs the extra `report`.
        regret: What is minimised and reported: "absolute", in units of the cost, or "relative": the regret of each row
            divided by the absolute cost of its best decision (docs/problem.md).
        scale: What is standardised around a torch module: "inputs", "outputs", "both", or None: it gets x and gives
            y_hat in your units (docs/predictors.md).
        adopt: Whether the ledger in the folder is taken over although the problem has changed, because its answers
            still hold (docs/ledger.md).

    Attributes:
        summary_: The gain with its interval, the calls paid, and the next step, in sentences. Print it.
        kept_start_: True if nothing clearly beat prediction-focused learning; then `predict` uses that start.
        validation_regret_: Mean regret of the result on the validation rows; None where nothing was judged.
        start_validation_regret_: Mean regret of the prediction-focused start on the same rows.
        calls_: What was paid: solves and cost calls by phase, and seconds (docs/counting.md).
        stopped_: Why training ended, in a sentence.
        warnings_: Warnings about the result, in sentences.
        failures_: Calls that gave nothing, with row, cause and number of attempts.
        history_: One record for each epoch.
        split_: The numbers of the rows that were trained on and validated on.
        predictor_: The trained predictor, from x to y_hat, arrays both; `predictor_.net.module` is your torch module.
        predictor_name_: "linear", "network", "xgboost", "lightgbm", "given" for a module of your own, or the class of
            your forecaster.
        forecaster_: The fitted regressor whose forecasts are corrected, or None.
        correction_: What was changed of its forecasts, in a sentence, or None.
        surrogate_: What was learned of the regret of each training row; it needs no solver. None where the method
            learns none.
        calibration_: How many of 64 held-out regrets lay in the surrogate's intervals. None where there is none.
        schedule_: The stages of the default, with the solves that each may pay; empty for other methods.
        run_: All of it as plain data: what `report`, `fewsolves.report` and `fewsolves.plot` show.
        start_predictions_: Predictions of these rows by the prediction-focused start, for `fewsolves.plot.decisions`.
            None where the result was read from a folder.
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
        regret: RegretKind = "absolute",
        scale: Scaled | None = None,
        adopt: bool = False,
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
        self.regret = regret
        self.scale = scale
        self.adopt = adopt

    @overload
    def fit(
        self,
        X: Any,
        y: Array,
        instances: Sequence[Any] | None = ...,
        sample_weight: Any = ...,
        groups: Any = ...,
    ) -> DecisionRegressor[Array]: ...

    @overload
    def fit(
        self,
        X: Any,
        y: Table,
        instances: Sequence[Any] | None = ...,
        sample_weight: Any = ...,
        groups: Any = ...,
    ) -> DecisionRegressor[DataFrame]: ...

    @overload
    def fit(
        self,
        X: Any,
        y: Any,
        instances: Sequence[Any] | None = ...,
        sample_weight: Any = ...,
        groups: Any = ...,
    ) -> DecisionRegressor[Array | DataFrame]: ...

    def fit(
        self,
        X: Any,
        y: Any,
        instances: Sequence[Any] | None = None,
        sample_weight: Any = None,
        groups: Any = None,
    ) -> DecisionRegressor[Any]:
        """Train the predictor; `validation` says which rows are held out, if any.

        Args:
            X: (n, n_x) What is known when a decision is made: a table; (n, items, features) with an item for each
                column of y; or any array or torch tensor with one entry per row, such as images, for a module of yours.
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
    ) -> Self:
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

    def _fit(self, X: Any, y: Any, instances: Any, sample_weight: Any, groups: Any, former: Former | None) -> Self:
        check_orders(X, instances=instances, sample_weight=sample_weight, groups=groups)
        names, y = column_names(y), checked_targets(X, y)
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
            scale=self.scale,
            seed=self.random_state,
            solving=self._solving(),
            budget=self.budget,
            folder=self.folder,
            adopt=self.adopt,
            former=former,
        )
        prepared, callbacks = prepare(plan), _checked(self.callbacks)
        if self.verbose or log_is_on():
            with Progress(quiet=not self.verbose, expected=prepared.expected) as progress:
                fitted = fit(prepared, callbacks=[progress, *callbacks])
                progress.end(fitted.summary.short)
        else:
            fitted = fit(prepared, callbacks=callbacks)
        self._learn(fitted, prepared, names, flat=y.ndim == 1)
        if self.write_report:
            self.report()
        if self.warnings_:
            warnings.warn("\n".join(self.warnings_), FewsolvesWarning, stacklevel=3)
        return self

    def report(self, path: str | Path | None = None) -> Path:
        """Write an HTML page about the fit, and return its path.

        Args:
            path: The file to write. None: report.html in the folder of the run, or in the working directory.
        """
        from fewsolves.reporting import report  # draws with matplotlib, an extra

        check_is_fitted(self)
        return report(self, Path(self.folder or ".") / "report.html" if path is None else path)

    def predict(self, X: Any) -> Predictions:
        """y_hat, one row per row of X; one-dimensional where Y was.

        Where Y was a data frame, so is this, with its columns; `set_output` says otherwise. A type checker knows what
        Y was from the model that `fit` returns: `DecisionRegressor(problem).fit(X, Y).predict(X)`.

        Args:
            X: (n, n_x) Rows like those that were trained on.
        """
        y_hat: Any = self._predict(X)
        if wants_frame(self, self.target_names_):
            y_hat = predictions_frame(y_hat, self.target_names_, X)
        elif self._learned.flat:
            y_hat = y_hat[:, 0]
        given: Predictions = y_hat
        return given

    @overload
    def set_output(self, *, transform: Literal["default"]) -> DecisionRegressor[Array]: ...

    @overload
    def set_output(self, *, transform: Literal["pandas"]) -> DecisionRegressor[DataFrame]: ...

    @overload
    def set_output(self, *, transform: None = None) -> Self: ...

    def set_output(self, *, transform: str | None = None) -> DecisionRegressor[Any]:
        """Choose what `predict` gives.

        Args:
            transform: "default", an array; "pandas", a data frame; None changes nothing.
        """
        if transform not in (None, "default", "pandas"):
            raise InputError(f"set_output(transform=) is 'default', 'pandas' or None, got {transform!r:.80}")
        if transform is not None:
            self._sklearn_output_config = {"transform": transform}  # by this name clones keep it
        return self

    def decide(
        self, X: Any, instances: Sequence[Any] | None = None, *, on_failure: WithoutPlan = "raise"
    ) -> Decisions | Predictions:
        """The decisions z*(y_hat) for rows of X; one solve for each.

        Arrays come stacked, in an object array where their shapes differ; other decisions in a list. Where Y was a
        data frame and decisions are vectors, they come as one, with the rows of X; the columns are those of Y where
        there are as many.

        Args:
            X: (n, n_x) Rows like those that were trained on.
            instances: Known data of each row, where the problem has any.
            on_failure: What follows where a row has no plan: "raise"; "none" (the row gets None, and all come in a
                list); or a function that gets the `SolverError` (with `row` and `y_hat`) and returns a decision.
        """
        check_orders(X, instances=instances)
        found = self._model().decided(self._predict(X), instances, on_failure)
        if wants_frame(self, self.target_names_) and isinstance(found, np.ndarray) and found.ndim == 2:
            framed: Predictions = decisions_frame(found, self.target_names_, X)
            return framed
        return found

    def regrets(self, X: Any, y: Any, instances: Sequence[Any] | None = None) -> Regrets:
        """The regret of each row; pays for two solves per row. A row without a label or a plan has NaN and a reason.

        Args:
            X: (n, n_x) Rows like those that were trained on, better rows that were not.
            y: (n, n_y) Their true parameters, or (n,) for one parameter.
            instances: Known data of each row, where the problem has any.
        """
        check_orders(X, y=y, instances=instances)
        return self._model().regrets_of(self._predict(X), y, instances)

    def score(self, X: Any, y: Any, instances: Sequence[Any] | None = None, sample_weight: Any = None) -> float:
        """Minus the mean regret of the decisions, so that higher is better; pays for two solves per row.

        Rows without a label are left out, with a `FewsolvesWarning` that counts them. Where a row has no plan at its
        prediction, `on_failure` says what follows.

        Args:
            X: (n, n_x) Rows like those that were trained on, better rows that were not.
            y: (n, n_y) Their true parameters, or (n,) for one parameter.
            instances: Known data of each row, where the problem has any.
            sample_weight: (n,) Weights of the rows in the mean.
        """
        check_orders(X, y=y, instances=instances, sample_weight=sample_weight)
        return self._model().scored(self._predict(X), y, instances, sample_weight)

    def save(self, folder: str | Path) -> Path:
        """Write the model, as safetensors and JSON, for `fs.load(folder, problem)`.

        Neither the table nor the problem is written. (The `folder=` of a run is different: it records what was paid.)

        Args:
            folder: Where to write; a model that is there is replaced.
        """
        return self._model().save(folder)


def _checked(callbacks: Any) -> Sequence[Callback]:
    if isinstance(callbacks, Sequence) and all(map(callable, callbacks)):
        return callbacks
    raise InputError(f"callbacks is a list of functions of an EpochRecord, got {callbacks!r:.80}")
