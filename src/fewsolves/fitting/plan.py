"""The plan of a run: method, predictor, data, execution of solves, budget and folder.

    X (n, n_x)   context        Y (n, n_y)  true parameters        split  rows to train, to validate and to test on

A plan only describes a run: it is checked when it is made, reads no file and fits nothing. `prepare` is the next step.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import Any

from fewsolves.data import Split, Validation, check_table, check_weights
from fewsolves.errors import InputError
from fewsolves.fitting.growth import Former
from fewsolves.ledger.identity.fingerprint import digest_of
from fewsolves.methods.registry import METHODS, find_method
from fewsolves.oracle import Budget, SolveConfig
from fewsolves.predictors.families import family_of
from fewsolves.predictors.forecaster import checked_context
from fewsolves.problem import Array, Problem
from fewsolves.quoting.price import check_budget
from fewsolves.settings import Range, Setting, identity_of

TERMS = ("on_failure", "penalty", "asynchronous")  # settings of the solving that change what training sees


@dataclass(frozen=True, eq=False)
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
        validation: A share, drawn by `seed` and in whole `groups`; "last 20 %"; or row numbers. None: a fifth of few
            rows, a tenth of many; a method that cross-fits, as the default does, trains on these too.
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
        former: A run over the first rows of the table, to continue from. A former run in the folder is continued
            without being given.
    """

    problem: Problem
    X: Any = field(repr=False)  #: a matrix, or what the forecaster takes
    Y: Array = field(repr=False)
    split: Split | None = field(default=None, repr=False)
    _: KW_ONLY
    validation: Validation | None = field(default=None, repr=False)
    groups: Any = field(default=None, repr=False)
    sample_weight: Any = field(default=None, repr=False)  #: (n,) of the rows, in training and in validation
    method: Any  #: given as a name or a `Trainer`, kept as a `Trainer` with its settings
    settings: Mapping[str, Any] | None = field(default=None, repr=False)
    predictor: Any = "auto"  #: a name, "auto": the better start of two, a torch module, or a forecaster to correct
    seed: int = 0
    solving: Any = None  #: how solves run, as a `SolveConfig`
    budget: Any = None  #: the most that may be paid, as a `Budget`
    folder: Any = None  #: where everything paid is on record before it is used, and a stopped run continues
    ledger: Any = None  #: a folder that several runs share for what they paid; None: that of the run
    adopt: bool = False  #: take over a ledger although the problem changed
    former: Former | None = field(default=None, repr=False)  #: a run over the first rows of the table, to continue
    context: Array = field(init=False, repr=False)  #: X, as far as it is numbers

    def __post_init__(self) -> None:
        if not isinstance(self.problem, Problem):
            raise InputError(f"problem must be a Problem, got {self.problem!r:.80}")
        if not isinstance(self.solving, SolveConfig | None):
            raise InputError(f"solving must be a SolveConfig or None, got {self.solving!r:.80}")
        as_given = family_of(self.predictor).takes_any_table
        context, Y = checked_context(self.X, self.Y) if as_given else check_table(self.X, self.Y)
        weights = None if self.sample_weight is None else check_weights(self.sample_weight, len(Y))
        self._set(
            X=self.X if as_given else context,
            Y=Y,
            context=context,
            sample_weight=weights,
            method=find_method(self.method).with_settings(_mapping(self.settings)),
            seed=Setting("seed", int, dataclasses.MISSING, Range(least=0)).check(self.seed),
            solving=self.solving or SolveConfig(),
            budget=check_budget(self.budget) or Budget(),
            folder=None if self.folder is None else Path(self.folder).absolute(),  # a solver may change the directory
            ledger=None if self.ledger is None else Path(self.ledger).absolute(),
        )
        self._check()

    def _set(self, **values: Any) -> None:
        """Replace what was given by its checked form."""
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def _check(self) -> None:
        """Check settings that depend on each other."""
        self.problem.check_instances(len(self.Y))
        self.problem.check_bounds(self.Y)
        self.method.check(self.problem, self.solving)
        if self.solving.asynchronous and not self.method.asynchronous:
            able = ", ".join(name for name, one in METHODS.items() if one.asynchronous)
            raise InputError(f"method {self.method.name!r} needs each solve at once; asynchronous=True is for {able}")
        if self.ledger is not None and self.folder is None:
            raise InputError("runs with a shared ledger= also need a folder of their own; give folder= too")
        if self.former is not None:
            self.former.check_first_rows(self.context, self.Y)

    @property
    def about(self) -> dict[str, Any]:
        """The part of a run's identity that does not depend on the table."""
        method, problem = self.method, self.problem
        about: dict[str, Any] = {"method": method.name, "seed": self.seed}
        about |= {"config": identity_of(method.settings), "train": identity_of(method.recorded)}
        described = family_of(self.predictor).describe(self.predictor)
        about["predictor"] = described if isinstance(described, str) else digest_of(described)
        if problem.bounded:
            about["bounds"] = digest_of(problem.bounds())
        return about

    @property
    def terms(self) -> dict[str, Any]:
        """Settings that may change when a run is started again, and that change the course of training."""
        return {"budget": self.budget, **{name: getattr(self.solving, name) for name in TERMS}}


def _mapping(settings: Any) -> Mapping[str, Any]:
    if settings is not None and not isinstance(settings, Mapping):
        raise InputError(f"settings is a mapping such as {{'patience': 20}}, got {settings!r:.80}")
    return settings or {}
