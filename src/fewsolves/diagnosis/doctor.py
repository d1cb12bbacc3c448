"""The doctor: checks whether a problem can be trained on, and says what to change."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import closing
from typing import Any

import numpy as np

from fewsolves.data import check_table, split_rows
from fewsolves.diagnosis.finding import Diagnosis, Finding
from fewsolves.diagnosis.questions import QUESTIONS, solvable
from fewsolves.diagnosis.trials import Forecasts, Trials
from fewsolves.errors import InputError, SolverError
from fewsolves.methods.base import START
from fewsolves.oracle import Oracle, SolveConfig
from fewsolves.oracle.swapped import swap_hint
from fewsolves.predictors.families import family_of
from fewsolves.predictors.family import ScaledBy
from fewsolves.predictors.forecaster import checked_context, forecast
from fewsolves.predictors.regressor import is_forecaster
from fewsolves.problem import Array, Problem
from fewsolves.training.cross_validation import out_of_fold


def doctor(
    problem: Problem,
    X: Any,
    Y: Any,
    *,
    instances: Sequence[Any] | None = None,
    time_limit: float | None = None,
    predictor: Any = None,
) -> Diagnosis:
    """Try the problem on ten rows of the table, with at most fifty solves, and say what was found and what to do.

    >>> import numpy as np, fewsolves as fs
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 2)); Y = 10 + X @ [[2.0], [1.0]] + rng.normal(size=(60, 1))
    >>> order = fs.Problem(
    ...     solve=lambda y_hat: y_hat,  # order as predicted; the cost is minus the profit
    ...     cost=lambda y, z: -float(np.sum(9.0 * np.minimum(y, z) - 1.0 * z)),
    ... )
    >>> fs.doctor(order, X, Y).ok
    True
    >>> profit = fs.Problem(solve=order.solve, cost=lambda y, z: -order.cost(y, z))
    >>> fs.doctor(profit, X, Y)["minimises the cost"].status
    'mend'

    Nothing is stored. docs/doctor.md explains each question, and what to do about its answer.

    Args:
        problem: The problem to try.
        X: (n, n_x) or (n, items, features) The table that you would train on.
        Y: (n, n_y) Its true parameters, or (n,) for one parameter.
        instances: Known data of each row, where the problem has any.
        time_limit: Seconds for one solve. Solves then run in a process that can be ended.
        predictor: A forecaster of your own, which gets X as it is, or a torch module. The problem is tried at its
            predictions of rows that it has not seen. None: at those of a linear model, shared by items where that is
            better.

    Returns:
        The findings. They print as a table; ``.ok`` is True if the problem is ready for training.
    """
    if not isinstance(problem, Problem):
        raise InputError(f"problem must be a Problem, got {problem!r:.80}")
    Y, base = np.reshape(Y, (-1, 1)) if np.ndim(Y) == 1 else Y, None
    if is_forecaster(predictor):
        X, Y, base = _forecasts(predictor, X, Y)
    elif predictor is not None and not isinstance(predictor, str):
        X, Y, base = _predictions(predictor, X, Y)
    else:
        X, Y = check_table(X, Y)
    if instances is not None:
        problem = problem.with_instances(instances)
    problem.check_bounds(Y, X)
    with closing(Oracle(problem, Y, solving=SolveConfig(time_limit=time_limit, on_failure="skip"))) as oracle:
        return diagnose(Trials(oracle, X, time_limit, base))


def diagnose(trials: Trials) -> Diagnosis:
    """All findings, with the calls and seconds that they took."""
    began = time.perf_counter()
    findings = _findings(trials)
    solves, costs = (trials.oracle.calls.total(kind) for kind in ("solve", "cost"))
    return Diagnosis(tuple(findings), solves, costs, time.perf_counter() - began)


def _forecasts(predictor: Any, X: Any, Y: Any) -> tuple[Array, Array, Forecasts]:
    """The table as a correction sees it, and the forecasts of rows that the forecaster has not seen."""
    Y = checked_context(X, Y)[1]
    split = split_rows(len(Y), rng=np.random.default_rng(0), test=0.0)
    forecaster, inputs = forecast(predictor, X, Y, split, seed=0)
    forecasts = inputs[:, -Y.shape[1] :] if inputs.ndim == 2 else inputs[:, :, -1]
    return inputs, Y, Forecasts(forecaster.name, forecasts)


def _predictions(predictor: Any, X: Any, Y: Any) -> tuple[Array, Array, Forecasts]:
    """The table, and predictions of each row by the module after its start on other rows."""
    X, Y = check_table(X, Y)
    family, rows = family_of(predictor), np.arange(len(Y))
    split = split_rows(len(Y), rng=np.random.default_rng(0), test=0.0)
    inputs = family.inputs(predictor, X, X, Y, split, groups=None, weights=None, seed=0)[1]
    start = family.untrained(predictor, "given", ScaledBy(inputs, Y, rows, seed=0))
    rng = np.random.default_rng(0)
    y_hat = out_of_fold("given", start, inputs.array, Y, config=START, rng=rng)
    return X, Y, Forecasts(type(predictor).__name__, y_hat)


def _findings(trials: Trials) -> list[Finding]:
    """The answers, as far as the solver answers at all."""
    found: list[Finding] = []
    try:
        found.append(solvable(trials))
        for question in QUESTIONS if len(trials.solved) else ():
            if (finding := question(trials)) is not None:
                found.append(finding)
    except SolverError as error:  # most calls fail
        oracle, do = trials.oracle, "try `solve` and `cost` by hand at that row"
        if hint := oracle.failures.every_solve and swap_hint(oracle.problem, trials.X, oracle.Y):
            do = f"{hint}. {'Swap them' if hint.startswith('X and Y are') else f'Else {do}'}"
        found.append(Finding("answers", "mend", str(error), do))
    return found
