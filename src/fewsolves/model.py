"""A trained model without what trained it: predict, decide, score; saved as safetensors and JSON.

    model.json          what it is: predictor, columns, how it came about; with the SHA-256 of both files
    model.safetensors   its weights and scales

The files contain neither the table nor the problem: the caller of `load` passes the problem, so lambdas and licensed
solvers are allowed, and nothing is unpickled. This module needs neither scikit-learn nor numba nor a method.
"""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Mapping, Sequence
from contextlib import closing
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fewsolves.data import check_inputs, check_orders, check_weights, check_whole
from fewsolves.deciding import Decisions, WithoutPlan, decide_at
from fewsolves.errors import FewsolvesWarning, InputError, InputTypeError, LedgerError, SolverError
from fewsolves.fitting.checkpoint import write_pair
from fewsolves.oracle import SolveConfig
from fewsolves.predictors.forecaster import Forecaster
from fewsolves.predictors.module import predicted_by
from fewsolves.predictors.predictor import Predictor
from fewsolves.problem import Array, Problem
from fewsolves.regrets import FAILED, Regrets, checked_truth, oracle_by_row, regrets_at

if TYPE_CHECKING:
    from fewsolves.fitting.result import Fit

MODEL_FORMAT = 1
FACTS, WEIGHTS = "model.json", "model.safetensors"


@dataclasses.dataclass(frozen=True, eq=False)
class DecisionModel:
    """A predictor with the problem that it was trained for; `load` makes one (docs/production.md)."""

    predictor: Predictor  #: from x to y_hat
    predictor_name: str  #: "linear", "network", "given" for the user's own, or of a forecaster
    problem: Problem | None = None  #: None: it only predicts
    solving: SolveConfig = dataclasses.field(default_factory=SolveConfig)  #: how solves run
    flat: bool = False  #: y was one-dimensional, and so is what is predicted
    columns: tuple[str, ...] | None = None  #: names of the columns of X, where they were known
    about: Mapping[str, Any] = dataclasses.field(default_factory=dict)  #: how it came about, for the record
    targets: tuple[str, ...] | None = None  #: names of the columns of Y, where they were known
    instances: bool = False  #: it was trained with known data by row, so decisions need them
    forecaster: Forecaster | None = None  #: whose forecasts the predictor corrects
    shape: tuple[int, ...] | None = None  #: of a row of inputs, where that has more than one dimension
    whole: bool = False  #: X has whole numbers only, such as the indices that an embedding takes

    def __repr__(self) -> str:
        facts = ", ".join(f"{name}={value!r}" for name, value in self.about.items())
        return f"DecisionModel({self.predictor_name!r}, {self.problem!r}, {facts})"

    def predict(self, X: Any) -> Array:
        """y_hat, one row per row of X; one-dimensional where Y was.

        Args:
            X: (n, n_x) Rows like those that were trained on; of a data frame, the columns are found by name.
        """
        y_hat = self.predicted(self._numbers(X))
        return y_hat[:, 0] if self.flat else y_hat

    def decide(self, X: Any, instances: Sequence[Any] | None = None, *, on_failure: WithoutPlan = "raise") -> Decisions:
        """The decisions z*(y_hat) for rows of X; one solve for each.

        Arrays come stacked, in an object array where their shapes differ; other decisions in a list.

        Args:
            X: (n, n_x) Rows like those that were trained on.
            instances: Known data of each row, where the problem has any.
            on_failure: What follows where a row has no plan: "raise"; "none" (the row gets None, and all come in a
                list); or a function that gets the `SolverError` (with `row` and `y_hat`) and returns a decision.
        """
        check_orders(X, instances=instances)
        return self.decided(self.predicted(self._numbers(X)), instances, on_failure)

    def regrets(self, X: Any, y: Any, instances: Sequence[Any] | None = None) -> Regrets:
        """The regret of each row; pays for two solves per row. A row without a label or a plan has NaN and a reason.

        Args:
            X: (n, n_x) Rows like those that were trained on, better rows that were not.
            y: (n, n_y) Their true parameters, or (n,) for one parameter.
            instances: Known data of each row, where the problem has any.
        """
        check_orders(X, y=y, instances=instances)
        return self.regrets_of(self.predicted(self._numbers(X)), y, instances)

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
        return self.scored(self.predicted(self._numbers(X)), y, instances, sample_weight)

    def predicted(self, X: Array) -> Array:
        """Predictions (n, n_y) from a matrix, or from what the forecaster takes.

        Args:
            X: (n, n_x) Numbers; whatever a forecaster of yours takes.
        """
        X = check_inputs("X", X) if self.forecaster is None else self.forecaster.inputs(X)
        if X.shape[1:] != (self.shape or X.shape[1:2]):
            wanted = "tables of two dimensions" if self.shape is None else self.shape
            raise InputError(f"rows of X have shape {X.shape[1:]}; the model was trained on {wanted}")
        X = check_whole("X", X) if self.whole else X
        with np.errstate(over="ignore", invalid="ignore"):
            y_hat = predicted_by(self.predictor, X)
        if not (finite := np.isfinite(y_hat).all(axis=1)).all():
            row = int(np.argmin(finite))
            raise InputError(f"the model predicts {y_hat[row].tolist()!s:.80} for row {row}: check X, and the weights")
        return y_hat if self.problem is None else self.problem.within_bounds(y_hat)

    def decided(self, y_hat: Array, instances: Sequence[Any] | None, on_failure: WithoutPlan = "raise") -> Decisions:
        """Decisions at predictions, as the solver made them.

        Args:
            y_hat: (n, n_y) Predictions.
            instances: Known data of each row; None: there are none.
            on_failure: What follows where a row has no plan.
        """
        return decide_at(self.problem_of(instances), y_hat, self.solving, on_failure)

    def regrets_of(self, y_hat: Array, y: Any, instances: Sequence[Any] | None) -> Regrets:
        """The regret of each prediction; a failed call costs its own row alone.

        Args:
            y_hat: (n, n_y) Predictions.
            y: (n, n_y) True parameters, or (n,).
            instances: Known data of each row; None: there are none.
        """
        truth = checked_truth(y, *y_hat.shape)
        with closing(oracle_by_row(self.problem_of(instances), truth, self.solving)) as oracle:
            return regrets_at(oracle, y_hat)

    def scored(self, y_hat: Array, y: Any, instances: Sequence[Any] | None, sample_weight: Any = None) -> float:
        """Minus the mean regret of predictions.

        Args:
            y_hat: (n, n_y) Predictions.
            y: (n, n_y) True parameters, or (n,).
            instances: Known data of each row; None: there are none.
            sample_weight: (n,) Weights of the rows in the mean.
        """
        regrets = self.regrets_of(y_hat, y, instances)
        if regrets.missing is not None:
            if not regrets.known.any():
                reason = regrets.reasons.get(0, FAILED)
                raise SolverError(f"every solve of the {len(regrets)} rows to score failed; row 0: {reason}", row=0)
            if len(regrets.without_plan) and self.solving.on_failure == "raise":
                raise _no_plan(regrets)
            warnings.warn(f"score: {regrets.missing}", FewsolvesWarning, stacklevel=3)
        if sample_weight is None:
            return -regrets.mean
        weights = check_weights(sample_weight, len(regrets))[regrets.known]
        return -float(np.average(regrets.values[regrets.known], weights=weights))

    def save(self, folder: str | Path) -> Path:
        """Write the two files; what was there before is replaced. A forecaster of yours is not in there.

        Args:
            folder: Where to write.
        """
        try:
            folder = Path(folder)
        except TypeError:
            raise InputTypeError(f"a model is saved in a folder: give its path, got {folder!r:.80}") from None
        weights = self.predictor.state_dict()
        if self.forecaster is not None and self.forecaster.library is not None:
            weights |= self.forecaster.regressor.arrays()
        net = getattr(self.predictor.net, "module", self.predictor.net)  # of a torch module that itself
        facts = {
            "format": MODEL_FORMAT,
            "predictor": self.predictor_name,
            "module": f"{type(net).__module__}.{type(net).__qualname__}",
            "flat": self.flat,
            "columns": None if self.columns is None else list(self.columns),
            "bounds": None if self.predictor.bounds is None else [bound.tolist() for bound in self.predictor.bounds],
            "about": {**self.about, "saved": datetime.now(UTC).isoformat(timespec="seconds")},
            "targets": None if self.targets is None else list(self.targets),
            "instances": self.instances,
            "whole": self.whole,
            "shape": None if self.shape is None else list(self.shape),
        }
        if self.forecaster is not None:
            facts["forecaster"] = self.forecaster.facts()
        try:
            write_pair(folder / WEIGHTS, folder / FACTS, weights, facts, private=False)
        except LedgerError as error:
            raise InputError(f"the model cannot be saved in {folder}: {error.__cause__}") from error
        return folder

    def problem_of(self, instances: Sequence[Any] | None) -> Problem:
        """The problem over some rows; raises where there is none, or known data is missing.

        Args:
            instances: Known data of each row; None: there are none.
        """
        if self.problem is None:
            raise InputError("the model was loaded without a problem, so it only predicts: fs.load(folder, problem)")
        if instances is None and (self.instances or self.problem.instances is not None):
            raise InputError(
                "the problem has known data by row: give instances=, one entry for each row of X, as in training"
            )
        return self.problem.with_instances(instances)

    def _numbers(self, X: Any) -> Any:
        """X as a matrix, or as the forecaster takes it; of a data frame, the columns that were trained on."""
        if self.columns is not None and hasattr(X, "columns"):
            if missing := [name for name in self.columns if name not in X.columns]:
                raise InputError(f"X has no column {missing[0]!r}; the model was trained on {', '.join(self.columns)}")
            X = X[list(self.columns)]
        if self.forecaster is not None and self.forecaster.library is None:
            return X
        matrix = check_inputs("X", X)
        if self.shape is not None or matrix.ndim > 2:
            return matrix
        wanted = self.predictor.x_mean.size if self.predictor.x_mean.ndim else matrix.shape[1]
        wanted -= 0 if self.forecaster is None else self.forecaster.n_y
        if matrix.shape[1] != wanted:
            raise InputError(f"X has {matrix.shape[1]} columns; the model was trained on {wanted}")
        return matrix


def _no_plan(regrets: Regrets) -> SolverError:
    """A row without a label is a fault of the table, one without a plan of the model: its score must not hide that."""
    row = int(regrets.without_plan[0])
    return SolverError(
        f"row {row} has no plan at its prediction: {regrets.reasons.get(row, FAILED)}. on_failure='skip' leaves such "
        f"rows out of the score; regrets(X, y) has the regret of every other row",
        row=row,
    )


@cache
def _version() -> str:
    from importlib.metadata import version  # imported here: loading a model does not need it

    return version("fewsolves")  # reads the metadata of all packages until it is found


def model_of(
    fitted: Fit,
    *,
    flat: bool = False,
    columns: tuple[str, ...] | None = None,
    targets: tuple[str, ...] | None = None,
) -> DecisionModel:
    """The model that results from a run."""
    about = {
        "problem": fitted.oracle.problem.name,
        "method": fitted.method.name,
        "fewsolves": _version(),
        "regret": fitted.oracle.solving.regret,
        "validation_regret": fitted.reached.best,
        "start_validation_regret": fitted.reached.start,
        "solves": fitted.oracle.calls.total("solve"),
        "stopped": fitted.stopped,
    }
    return DecisionModel(
        fitted.predictor,
        fitted.predictor_name,
        flat=flat,
        columns=columns,
        about=about,
        targets=targets,
        instances=fitted.oracle.problem.instances is not None,
        forecaster=fitted.forecaster,
        shape=fitted.X_train.shape[1:] if fitted.X_train.ndim > 2 else None,
        whole=fitted.X_train.dtype.kind == "i",
    )
