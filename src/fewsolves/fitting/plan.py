"""The plan of a run: method, predictor, data, execution of solves, budget and folder.

    X (n, ...)   inputs        Y (n, n_y)  true parameters        split  rows to train, to validate and to test on

    Plan           the arguments as the user gave them
    CheckedPlan    the same in the form that all further steps take, made by `check_plan`

A plan only describes a run: it is checked when it is made, reads no file and fits nothing. `prepare` is the next step.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from fewsolves.data import Split, Validation, check_orders, check_weights
from fewsolves.errors import InputError, LedgerError
from fewsolves.fitting.growth import Former
from fewsolves.fitting.own_objects import OwnObjects, is_own
from fewsolves.ledger.identity.fingerprint import digest_of
from fewsolves.methods.base import Trainer
from fewsolves.methods.registry import METHODS, find_method
from fewsolves.oracle import Budget, SolveConfig
from fewsolves.predictors.families import family_of
from fewsolves.predictors.family import PredictorFamily
from fewsolves.predictors.predictor import SCALED, Scaled
from fewsolves.problem import Array, Problem
from fewsolves.quoting.price import check_budget
from fewsolves.settings import Range, Setting, identity_of

TERMS = ("on_failure", "penalty", "asynchronous")  # settings of the solving that change what training sees


@dataclass(frozen=True, eq=False)
class Plan:
    """One run; `fewsolves.fitting.fit.fit` carries it out. Arguments that cannot work raise an error at once.

    >>> import numpy as np, fewsolves as fs
    >>> from fewsolves.fitting.plan import Plan
    >>> problem = fs.Problem(solve=lambda u: u, cost=lambda y, z: float(abs(y - z).sum()))
    >>> X, Y = np.arange(20.0).reshape(10, 2), np.arange(10.0).reshape(10, 1)
    >>> plan = Plan(problem, X, Y, method="sfge", settings={"patience": 20})
    >>> plan.checked.method.common.patience
    20
    >>> Plan(problem, X, Y, method="sfge", settings={"patience": "long"})
    Traceback (most recent call last):
    fewsolves.errors.InputError: patience must be a whole number of at least 1, got 'long'

    Args:
        problem: What is decided.
        X: (n, n_x) Context, or (n, items, features), or any array with one entry per row.
        Y: (n, n_y) True parameters.
        split: Rows to train, to validate and to test on. None: `validation` says which are validated on, and the others
            are trained on. Rows of no weight have no part in either.
        validation: A share, drawn by `seed` and in whole `groups`; "last 20 %"; or row numbers. None: a fifth of few
            rows, a tenth of many; a method that cross-fits, as the default does, trains on these too.
        groups: (n,) Labels of rows that stay together.
        sample_weight: (n,) Weights of the rows.
        method: The name of a method, or one of your own.
        settings: Settings of the method and of the loop, by name.
        predictor: "linear", "network", "auto" (the better of these two), "xgboost", "lightgbm", a torch module, or a
            regressor, which is fitted here as far as it has to be, and corrected.
        scale: What is standardised around a torch module: "inputs", "outputs", "both", or None.
        seed: The seed of all random numbers.
        solving: How solves run.
        budget: The most that may be paid.
        folder: Where everything paid is on record before it is used.
        ledger: A folder that several runs share for what they paid. None: that of the run.
        adopt: Reuse the ledger although the problem has changed.
        former: A run over the first rows of the table, to continue from. A former run in the folder is continued
            without being given.
    """

    problem: Problem
    X: Any = field(repr=False)
    Y: Any = field(repr=False)
    split: Split | None = field(default=None, repr=False)
    _: KW_ONLY
    validation: Validation | None = field(default=None, repr=False)
    groups: Any = field(default=None, repr=False)
    sample_weight: Any = field(default=None, repr=False)
    method: str | Trainer
    settings: Mapping[str, Any] | None = field(default=None, repr=False)
    predictor: Any = "auto"
    scale: Scaled | None = None
    seed: int = 0
    solving: SolveConfig | None = None
    budget: Budget | None = None
    folder: str | Path | None = None
    ledger: str | Path | None = None
    adopt: bool = False
    former: Former | None = field(default=None, repr=False)
    checked: CheckedPlan = field(init=False, repr=False)  #: the arguments, as they were checked when the plan was made

    def __post_init__(self) -> None:
        object.__setattr__(self, "checked", check_plan(self))


@dataclass(frozen=True, eq=False, kw_only=True)
class CheckedPlan:
    """One run, checked."""

    problem: Problem
    X: Any  #: a matrix, or what the forecaster takes
    context: Array  #: X, as far as it is numbers
    Y: Array
    split: Split | None
    validation: Validation | None
    groups: Any
    sample_weight: Array | None  #: (n,) of the rows, in training and in validation
    method: Trainer  #: with its settings
    predictor: Any  #: a name, a torch module, or a forecaster to correct
    family: PredictorFamily  #: that the predictor is of
    scale: Scaled | None  #: what is standardised around a torch module; None: nothing
    seed: int
    solving: SolveConfig
    budget: Budget
    folder: Path | None  #: where everything paid is on record before it is used, and a stopped run continues
    ledger: Path | None  #: a folder that several runs share for what they paid; None: that of the run
    adopt: bool
    former: Former | None  #: a run over the first rows of the table, to continue

    @property
    def validation_given(self) -> bool:
        """Whether the user says which rows are validated on."""
        return self.validation is not None or self.split is not None

    @property
    def about(self) -> dict[str, Any]:
        """The part of a run's identity that does not depend on the table."""
        method, problem = self.method, self.problem
        about: dict[str, Any] = {"method": method.name, "seed": self.seed}
        about |= {"config": identity_of(method.settings), "train": identity_of(method.recorded)}
        described = self.family.describe(self.predictor)
        about["predictor"] = described if isinstance(described, str) else digest_of(described)
        if problem.linear is not None and method.cross_fits:  # other methods need it, or make no use of it
            about["linear"] = problem.linear
        if problem.feasible is not None:
            about["feasible"] = digest_of(problem.feasible)
        about |= {f"all of the {name}": digest for name, digest in self.own_objects.digests.items()}
        if self.solving.regret == "relative":
            about["regret"] = "relative"
        if self.scale is not None:
            about["scale"] = self.scale
        if problem.bounded:
            about["bounds"] = digest_of(problem.bounds())
        return about

    @cached_property
    def own_objects(self) -> OwnObjects:
        """What the objects of the user hold, as it was when the run began."""
        method = self.method if is_own(self.method) else None
        feasible = self.problem.feasible if self.problem.version is None else None  # its code counts in either case
        return OwnObjects.of({"predictor": self.family.own(self.predictor), "method": method, "feasible": feasible})

    @property
    def terms(self) -> dict[str, Any]:
        """Settings that may change when a run is started again, and that change the course of training."""
        return {"budget": self.budget, **{name: getattr(self.solving, name) for name in TERMS}}


def check_plan(plan: Plan) -> CheckedPlan:
    """The plan with each argument in its checked form; raises where one cannot work.

    Args:
        plan: What the user gave.
    """
    if not isinstance(plan.problem, Problem):
        raise InputError(f"problem must be a Problem, got {plan.problem!r:.80}")
    if not isinstance(plan.solving, SolveConfig | None):
        raise InputError(f"solving must be a SolveConfig or None, got {plan.solving!r:.80}")
    family = family_of(plan.predictor)
    context, Y = family.checked(plan.X, plan.Y)
    check_orders(plan.X, sample_weight=plan.sample_weight, groups=plan.groups)
    checked = CheckedPlan(
        problem=plan.problem,
        X=plan.X if family.takes_any_table else context,
        context=context,
        Y=Y,
        split=plan.split,
        validation=plan.validation,
        groups=plan.groups,
        sample_weight=None if plan.sample_weight is None else check_weights(plan.sample_weight, len(Y)),
        method=find_method(plan.method).with_settings(_mapping(plan.settings)),
        predictor=plan.predictor,
        family=family,
        scale=_scale(plan.scale, plan.predictor, family),
        seed=Setting("seed", int, dataclasses.MISSING, Range(least=0)).check(plan.seed),
        solving=plan.solving or SolveConfig(),
        budget=check_budget(plan.budget) or Budget(),
        folder=_folder(plan.folder),
        ledger=_folder(plan.ledger),
        adopt=plan.adopt,
        former=plan.former,
    )
    _check_together(checked)
    return checked


def _check_together(plan: CheckedPlan) -> None:
    """Check arguments that depend on each other."""
    plan.problem.check_instances(len(plan.Y))
    plan.problem.check_bounds(plan.Y, plan.context)
    plan.method.check(plan.problem, plan.solving)
    if plan.solving.asynchronous and not plan.method.asynchronous:
        able = ", ".join(name for name, one in METHODS.items() if one.asynchronous)
        raise InputError(f"method {plan.method.name!r} waits for each solve; asynchronous=True is for {able}")
    if not isinstance(plan.adopt, bool):
        raise InputError(f"adopt is True or False, got {plan.adopt!r:.80}")
    if plan.ledger is not None and plan.folder is None:
        raise InputError("runs with a shared ledger= also need a folder of their own; give folder= too")
    if plan.former is not None:
        plan.former.check_first_rows(plan.context, plan.Y)


def _scale(given: Any, predictor: Any, family: PredictorFamily) -> Scaled | None:
    if given is not None and given not in SCALED:
        raise InputError(f"scale is 'inputs', 'outputs', 'both' or None, got {given!r:.80}")
    if given is not None and not family.takes_scale(predictor):
        raise InputError(f"scale={given!r} is for a torch module; predictor {predictor!r:.80} has its own scales")
    checked: Scaled | None = given
    return checked


def _folder(given: str | Path | None) -> Path | None:
    if given is None:
        return None
    if not isinstance(given, str | Path) or not str(given):
        raise InputError(f"folder is the path of a folder or None, got {given!r:.80}")
    try:
        return Path(given).absolute()  # a solver may change the directory
    except FileNotFoundError as error:
        raise LedgerError(f"{given} is relative, and the working directory is gone; give an absolute path") from error


def _mapping(settings: Any) -> Mapping[str, Any]:
    if settings is not None and not isinstance(settings, Mapping):
        raise InputError(f"settings is a mapping such as {{'patience': 20}}, got {settings!r:.80}")
    return settings or {}
