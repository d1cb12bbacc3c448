"""A trained model without what trained it: predict, decide, score; saved and loaded as safetensors and JSON.

    model.json          what it is: predictor, columns, how it came about; with the SHA-256 of both files
    model.safetensors   its weights and scales

The files contain neither the table nor the problem: the caller of `load` passes the problem, so lambdas and licensed
solvers are allowed, and nothing is unpickled. This module needs neither scikit-learn nor numba nor a method.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Mapping, Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import nn

from fewsolves.data import check_matrix, check_weights
from fewsolves.errors import InputError, LedgerError, SolverError
from fewsolves.execution.base import Failure
from fewsolves.execution.serial import Serial
from fewsolves.fitting.checkpoint import read_pair, write_pair
from fewsolves.oracle import Oracle, SolveConfig
from fewsolves.predictors.boosted.trees import BOOSTER, LIBRARIES
from fewsolves.predictors.correction import uncorrected
from fewsolves.predictors.forecaster import Forecaster, is_forecaster, loaded_forecaster
from fewsolves.predictors.predictor import BUILT_IN, Predictor, rebuilt
from fewsolves.problem import Array, Problem

if TYPE_CHECKING:
    from fewsolves.fitting.result import Fit

MODEL_FORMAT = 1
FACTS, WEIGHTS = "model.json", "model.safetensors"
MAX_FACTS = 16 << 20  # bytes; ours have about a thousand, and the names of the columns


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

    def decide(self, X: Any, instances: Sequence[Any] | None = None) -> Any:
        """The decisions z*(y_hat) for rows of X; one solve for each.

        Arrays come stacked, in an object array where their shapes differ; other decisions in a list.

        Args:
            X: (n, n_x) Rows like those that were trained on.
            instances: Known data of each row, where the problem has any.
        """
        return self.decided(self.predicted(self._numbers(X)), instances)

    def score(self, X: Any, y: Any, instances: Sequence[Any] | None = None, sample_weight: Any = None) -> float:
        """Minus the mean regret of the decisions, so that higher is better; pays for two solves per row.

        Args:
            X: (n, n_x) Rows like those that were trained on, better rows that were not.
            y: (n, n_y) Their true parameters, or (n,) for one parameter.
            instances: Known data of each row, where the problem has any.
            sample_weight: (n,) Weights of the rows in the mean.
        """
        return self.scored(self.predicted(self._numbers(X)), y, instances, sample_weight)

    def predicted(self, X: Array) -> Array:
        """Predictions (n, n_y) from a matrix, or from what the forecaster takes.

        Args:
            X: (n, n_x) Numbers; whatever a forecaster of yours takes.
        """
        X = check_matrix("X", X) if self.forecaster is None else self.forecaster.inputs(X)
        with torch.no_grad():
            y_hat: Array = self.predictor(torch.as_tensor(X)).numpy()
        return y_hat if self.problem is None else self.problem.within_bounds(y_hat)

    def decided(self, y_hat: Array, instances: Sequence[Any] | None) -> Any:
        """Decisions at predictions, as the solver made them.

        Args:
            y_hat: (n, n_y) Predictions.
            instances: Known data of each row; None: there are none.
        """
        problem = self._problem(instances)
        if problem.encode is not None:
            return _solved_here(problem, y_hat)
        solving = dataclasses.replace(self.solving, on_failure="raise", penalty=None, asynchronous=False)
        with closing(Oracle(problem, y_hat, solving=solving)) as oracle:
            return _stack(oracle.solve(np.arange(len(y_hat)), y_hat, phase="test"))

    def scored(self, y_hat: Array, y: Any, instances: Sequence[Any] | None, sample_weight: Any = None) -> float:
        """Minus the mean regret of predictions.

        Args:
            y_hat: (n, n_y) Predictions.
            y: (n, n_y) True parameters, or (n,).
            instances: Known data of each row; None: there are none.
            sample_weight: (n,) Weights of the rows in the mean.
        """
        Y = check_matrix("y", np.reshape(y, (-1, 1)) if np.ndim(y) == 1 else y)
        if len(Y) != len(y_hat):
            raise InputError(f"X has {len(y_hat)} rows and y has {len(Y)}; give one row of y per row of X")
        with closing(Oracle(self._problem(instances), Y, solving=self.solving)) as oracle:
            regret = oracle.regret(np.arange(len(Y)), y_hat, phase="test")
        if np.isnan(regret).all():
            raise SolverError(f"every solve of the {len(Y)} rows to score failed", row=0)
        if sample_weight is None:
            return -float(np.nanmean(regret))
        known = ~np.isnan(regret)
        return -float(np.average(regret[known], weights=check_weights(sample_weight, len(Y))[known]))

    def save(self, folder: str | Path) -> Path:
        """Write the two files; what was there before is replaced. A forecaster of yours is not in there.

        Args:
            folder: Where to write.
        """
        folder = Path(folder)
        weights = {name: values.detach().numpy() for name, values in self.predictor.state_dict().items()}
        if self.forecaster is not None and self.forecaster.library is not None:
            weights |= self.forecaster.regressor.arrays()
        net = self.predictor.net
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
        }
        if self.forecaster is not None:
            facts["forecaster"] = self.forecaster.facts()
        try:
            write_pair(folder / WEIGHTS, folder / FACTS, weights, facts, private=False)
        except LedgerError as error:
            raise InputError(f"the model cannot be saved in {folder}: {error.__cause__}") from error
        return folder

    def _problem(self, instances: Sequence[Any] | None) -> Problem:
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
        matrix = check_matrix("X", X)
        wanted = self.predictor.x_mean.numel() if self.predictor.x_mean.ndim else matrix.shape[1]
        wanted -= 0 if self.forecaster is None else self.forecaster.n_y
        if matrix.shape[1] != wanted:
            raise InputError(f"X has {matrix.shape[1]} columns; the model was trained on {wanted}")
        return matrix


def model_of(
    fitted: Fit,
    *,
    flat: bool = False,
    columns: tuple[str, ...] | None = None,
    targets: tuple[str, ...] | None = None,
) -> DecisionModel:
    """The model that results from a run."""
    from importlib.metadata import version  # imported here: loading a model does not need it

    about = {
        "problem": fitted.oracle.problem.name,
        "method": fitted.method.name,
        "fewsolves": version("fewsolves"),
        "validation_regret": fitted.best.mean,
        "start_validation_regret": fitted.start.mean,
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
    )


def load(
    folder: str | Path,
    problem: Problem | None = None,
    *,
    predictor: nn.Module | None = None,
    solving: SolveConfig | None = None,
    forecaster: Any = None,
) -> DecisionModel:
    """Load a model that `save` wrote. It predicts; with its problem it also decides and scores.

    Args:
        folder: Where `save` wrote it.
        problem: The problem that it was trained for. None: the model predicts, and does not decide.
        predictor: A torch module of your own, where the model was trained with one: untrained, of the same form. Its
            weights come from the file.
        solving: How solves run. None: in this process, without limits.
        forecaster: The regressor of yours that was corrected, fitted, where there was one: it is not in the file.
    """
    folder = Path(folder)
    if problem is not None and not isinstance(problem, Problem):
        raise InputError(f"problem must be a Problem, got {problem!r:.80}")
    if not (folder / FACTS).is_file():
        raise InputError(f"no model in {folder}: {FACTS} is missing; `model.save(folder)` writes one")
    try:
        if (folder / FACTS).stat().st_size > MAX_FACTS:
            raise ValueError(f"{FACTS} is larger than {MAX_FACTS} bytes")
        weights, facts = read_pair(folder / WEIGHTS, folder / FACTS)
        if facts["format"] != MODEL_FORMAT:
            raise ValueError(f"it has format {facts['format']!r:.80}, this version reads {MODEL_FORMAT}")
        base = _forecaster(facts, weights, forecaster)
        if base is not None:
            predictor = uncorrected(len(base.places), np.ones(base.n_y), base.library)
            weights = {name: values for name, values in weights.items() if not name.startswith(BOOSTER)}
        filled = _filled(facts, weights, predictor)
        columns = None if facts["columns"] is None else tuple(map(str, facts["columns"]))
        return DecisionModel(
            filled,
            str(facts["predictor"]),
            problem,
            solving or SolveConfig(),
            flat=bool(facts["flat"]),
            columns=columns,
            about=dict(facts["about"]),
            targets=None if facts.get("targets") is None else tuple(map(str, facts["targets"])),
            instances=bool(facts.get("instances", False)),
            forecaster=base,
        )
    except InputError:
        raise
    except (ValueError, KeyError, TypeError, RuntimeError) as error:  # torch's, where weights do not fit
        raise InputError(f"{folder} cannot be read as a model: {error}") from error


def _forecaster(facts: Mapping[str, Any], weights: Mapping[str, Array], given: Any) -> Forecaster | None:
    """The one that was corrected, given again; None where none was."""
    of_file = facts.get("forecaster")
    if of_file is None:
        if given is not None:
            raise InputError("the model was trained without a forecaster: leave forecaster= out")
        return None
    sizes = [len(of_file["places"]) + int(of_file["outputs"]), int(of_file["outputs"])]
    if sizes != [np.size(weights[name]) for name in ("x_mean", "y_mean")]:
        raise ValueError("the forecaster has other columns than its correction")
    if given is None and of_file.get("library") in LIBRARIES:
        from fewsolves.predictors.boosted.booster import booster_of

        return loaded_forecaster(booster_of(of_file["library"], weights), of_file)
    if given is None or not is_forecaster(given):
        raise InputError(
            f"the model corrects a forecaster ({of_file['name']}), which is not in the file; give it again, fitted: "
            f"fs.load(folder, problem, forecaster=...). joblib or skops save model.forecaster_"
        )
    return loaded_forecaster(given, of_file)


def _filled(facts: Mapping[str, Any], weights: Mapping[str, Array], given: nn.Module | None) -> Predictor:
    """The predictor with its weights."""
    for name, values in weights.items():
        if not np.isfinite(values).all():
            raise ValueError(f"{name} has numbers that are not finite")
    name = facts["predictor"]
    if name not in BUILT_IN and given is None:
        raise InputError(
            f"the model was trained with a predictor of your own ({facts['module']}); give one that is built like it: "
            f"fs.load(folder, problem, predictor=...)"
        )
    if given is None:
        given = _built_in(name, weights)
    bounds = None
    if facts.get("bounds") is not None:
        low, high = facts["bounds"]
        bounds = np.array(low, dtype=float), np.array(high, dtype=float)
    return rebuilt(copy.deepcopy(given), weights, bounds)


def _built_in(name: str, weights: Mapping[str, Array]) -> nn.Module:
    """An untrained one of the form that the weights have; it takes no more memory than they do."""
    sizes = len(weights["x_mean"]), len(weights["y_mean"])
    with torch.device("meta"):  # shapes alone
        shapes = {f"net.{part}": tuple(of.shape) for part, of in BUILT_IN[name](*sizes, seed=0).state_dict().items()}
    if wrong := [part for part, shape in shapes.items() if np.shape(weights[part]) != shape]:
        raise ValueError(f"{wrong[0]} has shape {np.shape(weights[wrong[0]])}, a {name} predictor {shapes[wrong[0]]}")
    return BUILT_IN[name](*sizes, seed=0)


def _solved_here(problem: Problem, y_hat: Array) -> list[Any]:
    """Decisions that only this process can hold."""
    problem.check_instances(len(y_hat))
    found: list[Any] = []
    for answers in Serial(problem, originals=True).solve(np.arange(len(y_hat)), problem.within_bounds(y_hat)):
        for value in answers.values:
            if isinstance(value, Failure):
                row = len(found)
                known = () if problem.instances is None else (problem.instances[row],)
                raise SolverError(value.message, row=row, kind="solve", arguments=(y_hat[row], *known)) from value.cause
            found.append(value)
    return found


def _stack(decisions: list[Any]) -> Any:
    if not all(isinstance(z, np.ndarray) for z in decisions):
        return decisions
    if len({z.shape for z in decisions}) == 1:
        return np.stack(decisions)
    ragged = np.empty(len(decisions), dtype=object)
    ragged[:] = decisions
    return ragged
