"""The plan of a run: what is trained, on what, how its solves run, what they may cost, and where they are kept.

    X (n, n_x)   context        Y (n, n_y)  true parameters        split  rows to train, to validate and to test on

Everything is checked when a plan is made, before anything is paid for.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from torch import nn

from fewsolves.data import (
    Split,
    Validation,
    check_table,
    check_weights,
    share_to_validate,
    split_table,
)
from fewsolves.errors import InputError
from fewsolves.fitting.growth import Former, former_in
from fewsolves.ledger.identity.fingerprint import digest_of
from fewsolves.methods.base import Trainer
from fewsolves.methods.registry import METHODS, find_method
from fewsolves.oracle import Budget, SolveConfig
from fewsolves.predictors.boosted.trees import LIBRARIES, booster
from fewsolves.predictors.correction import uncorrected
from fewsolves.predictors.forecaster import Forecaster, checked_context, forecast, is_forecaster, name_of
from fewsolves.predictors.inputs import Inputs
from fewsolves.predictors.predictor import BUILT_IN
from fewsolves.problem import Array, Problem
from fewsolves.quoting.price import Workload, check_budget, least_price, refuse_unaffordable
from fewsolves.settings import Range, Setting, identity_of

TERMS = ("on_failure", "penalty", "asynchronous")  # settings of the solving that change what training sees


@dataclass(frozen=True, init=False, eq=False)
class Plan:
    """One run, checked; `fewsolves.fitting.fit.fit` carries it out.

    >>> import numpy as np, fewsolves as fs
    >>> from fewsolves.fitting.plan import Plan
    >>> problem = fs.Problem(solve=lambda y_hat: y_hat, cost=lambda y, z: float(abs(y - z).sum()))
    >>> X, Y = np.arange(20.0).reshape(10, 2), np.arange(10.0).reshape(10, 1)
    >>> Plan(problem, X, Y, method="sfge", settings={"patience": 20}).method.common.patience
    20
    >>> Plan(problem, X, Y, method="sfge", settings={"patience": "long"})
    Traceback (most recent call last):
    fewsolves.errors.InputError: patience must be a whole number of at least 1, got 'long'

    Args:
        problem: What is decided.
        X: (n, n_x) Context.
        Y: (n, n_y) True parameters.
        split: Rows to train, to validate and to test on. None: `validation` says which are validated on, and the others
            are trained on. Rows of no weight have no part in either.
        validation: A share, drawn by `seed` and in whole `groups`; "last 20 %"; or the rows themselves. None: a fifth
            of few rows, a tenth of many.
        groups: (n,) Labels of rows that stay together.
        sample_weight: (n,) Weights of the rows.
        method: The name of a method, or one of your own.
        settings: Settings of the method and of the loop, by name.
        predictor: "linear", "network", "auto" (the better start of both), "xgboost", "lightgbm", a torch module, or a
            regressor, which is fitted here as far as it has to be, and corrected.
        seed: Of everything that is random.
        solving: How solves run.
        budget: The most that may be paid.
        folder: Where everything paid is on record before it is used.
        ledger: A folder that several runs share for what they paid. None: that of the run.
        adopt: Take over a ledger although the problem changed.
        former: A run over the first rows of the table, to go on from. One that is found in the folder is gone on from
            too.
    """

    problem: Problem
    X: Any = field(repr=False)  #: a matrix, or what the forecaster takes
    Y: Array = field(repr=False)
    split: Split = field(repr=False)
    method: Trainer  #: with its settings
    predictor: Any  #: a name, "auto": the better start of two, a torch module, or a forecaster to correct
    seed: int
    solving: SolveConfig
    budget: Budget
    folder: Path | None  #: where everything paid is on record before it is used, and a run goes on that was stopped
    ledger: Path | None  #: a folder that several runs share for what they paid; None: that of the run
    adopt: bool  #: take over a ledger although the problem changed
    sample_weight: Array | None = field(repr=False)  #: (n,) of the rows, in training and in validation; None: all alike
    former: Former | None = field(repr=False)  #: a run over the first rows of the table, which this one goes on from
    forecaster: Forecaster | None = field(init=False, repr=False)  #: fitted; None: the predictor is trained itself
    context: Array = field(init=False, repr=False)  #: X, as far as it is numbers
    inputs: Inputs = field(init=False, repr=False)  #: of what is trained: the context, and forecasts beside it
    groups: Array | None = field(init=False, repr=False)  #: (n,) labels of rows that stay together
    validation_given: bool = field(init=False, repr=False)  #: the user chose the rows to validate on

    def __init__(
        self,
        problem: Problem,
        X: Any,
        Y: Any,
        split: Split | None = None,
        *,
        validation: Validation | None = None,
        groups: Any = None,
        sample_weight: Any = None,
        method: str | Trainer,
        settings: Mapping[str, Any] | None = None,
        predictor: Any = "auto",
        seed: int = 0,
        solving: SolveConfig | None = None,
        budget: Budget | None = None,
        folder: str | Path | None = None,
        ledger: str | Path | None = None,
        adopt: bool = False,
        former: Former | None = None,
    ) -> None:
        if not isinstance(problem, Problem):
            raise InputError(f"problem must be a Problem, got {problem!r:.80}")
        if not isinstance(solving, SolveConfig | None):
            raise InputError(f"solving must be a SolveConfig or None, got {solving!r:.80}")
        forecasts, library = _check_predictor(predictor)
        recipe = find_method(method).with_settings(_mapping(settings))
        seed = Setting("seed", int, dataclasses.MISSING, Range(least=0)).check(seed)
        context, Y = checked_context(X, Y) if forecasts and library is None else check_table(X, Y)
        if former is not None:
            former.check_first_rows(context, Y)
        weights = None if sample_weight is None else check_weights(sample_weight, len(Y))
        rng, given = np.random.default_rng(seed), validation is not None or split is not None
        chosen_by = share_to_validate(len(Y)) if validation is None else validation
        if split is None and former is None:
            about = _about(recipe, seed, predictor, problem)
            bounds = problem.bounds() if problem.bounded else None
            build = partial(_untrained, predictor, context.shape[1], Y.shape[1])
            former = former_in(None if folder is None else Path(folder), context, Y, about, build, bounds)
        if split is None and former is not None:
            split = former.split_of(len(Y), chosen_by, rng, groups)
        split = split or split_table(len(Y), chosen_by, rng=rng, groups=groups)
        split = split if weights is None else _with_weight(split, weights)
        _check_rows(split, len(Y))
        forecaster, inputs = None, context
        if forecasts:
            regressor, table = (predictor, X) if library is None else (booster(library), context)
            parts = {"groups": groups, "weights": weights, "seed": seed, "library": library}
            forecaster, inputs = forecast(regressor, table, Y, split, **parts)
        made = {
            "problem": problem,
            "X": X if forecasts and library is None else context,
            "Y": Y,
            "split": split,
            "method": recipe,
            "predictor": predictor,
            "seed": seed,
            "solving": solving or SolveConfig(),
            "budget": check_budget(budget) or Budget(),
            "folder": None if folder is None else Path(folder).absolute(),  # a solver may change the working directory
            "ledger": None if ledger is None else Path(ledger).absolute(),
            "adopt": adopt,
            "sample_weight": weights,
            "former": former,
            "forecaster": forecaster,
            "context": context,
            "inputs": Inputs(inputs),
            "groups": None if groups is None else np.asarray(groups),
            "validation_given": given,
        }
        for name, value in made.items():
            object.__setattr__(self, name, value)
        self._check()

    def _check(self) -> None:
        """What only the parts together can tell."""
        self.problem.check_instances(len(self.Y))
        self.problem.check_bounds(self.Y)
        self.method.check(self.problem, self.solving)
        if self.solving.asynchronous and not self.method.asynchronous:
            able = ", ".join(name for name, one in METHODS.items() if one.asynchronous)
            raise InputError(f"method {self.method.name!r} needs each solve at once; asynchronous=True is for {able}")
        refuse_unaffordable(self.method, self.workload, self.budget)
        if self.ledger is not None and self.folder is None:
            raise InputError("ledger= is what runs share beside a folder of their own; give folder= too")

    @property
    def starts(self) -> tuple[str, ...]:
        """The predictors that are started and compared."""
        if self.former is not None:
            return (self.former.predictor_name,)
        if isinstance(self.predictor, nn.Module):
            return ("given",)
        if self.forecaster is not None:
            return (self.forecaster.name,)
        return ("network", "linear") if self.predictor == "auto" else (self.predictor,)

    @property
    def workload(self) -> Workload:
        """What is to be paid for."""
        known = 0 if self.former is None else self.former.run.n_rows
        return Workload(self.problem, self.Y, self.split, len(self.starts), self.budget, known)

    @property
    def limits(self) -> Budget:
        """The most that may be paid: the user's budget, else what the new rows of a grown table are worth."""
        if self.former is None or self.budget != Budget():
            return self.budget
        least = sum(least_price(self.method, self.workload)["solve"].values())
        return self.former.allowance(self.method, len(self.Y), len(self.split.valid), least)

    @property
    def about(self) -> dict[str, Any]:
        """What makes a run the same run when it is started again: all that training follows from, but problem and Y."""
        about = _about(self.method, self.seed, self.predictor, self.problem) | {"X": digest_of(self.inputs.array)}
        if self.sample_weight is not None:
            about["weights"] = digest_of(self.sample_weight)
        if self.former is not None:
            about["goes on from"] = self.former.identity
        return about | {f"{part} rows": digest_of(rows) for part, rows in vars(self.split).items()}

    @property
    def terms(self) -> dict[str, Any]:
        """What may change from start to start, and changes the way that training takes."""
        return {"budget": self.budget, **{name: getattr(self.solving, name) for name in TERMS}}


def _about(method: Trainer, seed: int, predictor: Any, problem: Problem) -> dict[str, Any]:
    """The part that does not depend on the table."""
    about: dict[str, Any] = {"method": method.name, "seed": seed}
    about |= {"config": identity_of(method.settings), "train": identity_of(method.recorded)}
    about["predictor"] = _described(predictor)
    if problem.bounded:
        about["bounds"] = digest_of(problem.bounds())
    return about


def _mapping(settings: Any) -> Mapping[str, Any]:
    if settings is not None and not isinstance(settings, Mapping):
        raise InputError(f"settings is a mapping such as {{'patience': 20}}, got {settings!r:.80}")
    return settings or {}


def _with_weight(split: Split, weights: Array) -> Split:
    return Split(**{part: rows[weights[rows] > 0] for part, rows in vars(split).items()})


def _check_rows(split: Split, n: int) -> None:
    for part, rows in vars(split).items():
        if len(rows) and (np.min(rows) < 0 or np.max(rows) >= n):
            raise InputError(f"the split has a row to {part} on that the table has not: rows are numbered 0 to {n - 1}")


def _check_predictor(predictor: Any) -> tuple[bool, str | None]:
    """Whether it forecasts, and is then corrected, and the library of a booster; raises where it predicts nothing."""
    if isinstance(predictor, str) and predictor in LIBRARIES:
        return True, predictor
    known = isinstance(predictor, nn.Module) or (isinstance(predictor, str) and predictor in ("auto", *BUILT_IN))
    if known or is_forecaster(predictor):
        return not known, None
    kinds = (
        "'auto', 'linear', 'network', 'xgboost', 'lightgbm', a torch module, or a regressor with fit and predict, as "
        "scikit-learn has them"
    )
    what = f"the class {predictor.__name__}; make one of it" if isinstance(predictor, type) else f"{predictor!r:.80}"
    raise InputError(f"predictor is {kinds}, got {what}")


def _untrained(given: Any, n_x: int, n_y: int, name: str) -> nn.Module:
    """A module of the form that a run of this plan trains."""
    if is_forecaster(given) or name in LIBRARIES:
        return uncorrected(n_x, np.ones(n_y), name if name in LIBRARIES else None)
    return BUILT_IN[name](n_x, n_y, seed=0) if isinstance(given, str) else copy.deepcopy(given)


def _described(predictor: Any) -> str:
    """Its name, or a digest of its form and weights; the forecasts of a forecaster are in X."""
    if isinstance(predictor, str):
        return predictor
    if is_forecaster(predictor):
        return f"forecaster {name_of(predictor)}"
    weights = tuple(values.detach().numpy() for values in predictor.state_dict().values())
    return digest_of((repr(predictor), *weights))
