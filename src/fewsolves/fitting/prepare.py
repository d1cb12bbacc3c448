"""Preparing a run: rows are split, a former run is looked for in the folder, a forecaster is fitted.

This is the first step of a fit: it reads the folder of the plan and pays for no solve.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fewsolves.data import Split, share_to_validate, split_table
from fewsolves.errors import InputError
from fewsolves.fitting.growth import Former, former_in
from fewsolves.fitting.plan import CheckedPlan, Plan
from fewsolves.ledger.identity.fingerprint import digest_of
from fewsolves.oracle import Budget
from fewsolves.predictors.forecaster import Forecaster
from fewsolves.predictors.inputs import Inputs
from fewsolves.problem import Array
from fewsolves.quoting.price import READ, Workload, least_price, refuse_unaffordable
from fewsolves.quoting.quote import usual_solves
from fewsolves.settings import values_of
from fewsolves.training.expected import Expected

SAMPLE_STREAM = 7  # of random numbers, apart from those of starts and of the fit


@dataclass(frozen=True, eq=False)
class Prepared:
    """A plan that can be carried out."""

    plan: CheckedPlan
    split: Split  #: rows to train, to validate and to test on
    whole: Split  #: the same before a sample was drawn, as the start takes them; `split` where all rows are labelled
    inputs: Inputs  #: of what is trained: the context, and forecasts beside it
    forecaster: Forecaster | None  #: fitted; None: the predictor is trained itself
    former: Former | None  #: a run over the first rows of the table, which this one continues

    @property
    def starts(self) -> tuple[str, ...]:
        """The predictors that are started and compared."""
        if self.former is not None:
            return (self.former.predictor_name,)
        return self.plan.family.names(self.plan.predictor, self.inputs.shape, self.plan.Y.shape[1])

    def rows_of_start(self, split: Split) -> Split:
        """The rows that a start is fitted on, where `split` has those that are labelled and could be solved."""
        if self.whole is self.split:
            return split
        labelled, solved = (np.concatenate([one.train, one.valid]) for one in (self.split, split))
        failed = np.setdiff1d(labelled, solved)
        return Split(np.setdiff1d(self.whole.train, failed), np.setdiff1d(self.whole.valid, failed), split.test)

    @property
    def rows_paid_for(self) -> int:
        """The rows that solves are counted by: those of the table, or of the sample that is labelled."""
        return len(self.plan.Y) if self.whole is self.split else len(self.split.train) + len(self.split.valid)

    @property
    def workload(self) -> Workload:
        """The work that a quote or a budget check prices."""
        plan, known = self.plan, 0 if self.former is None else self.former.run.n_rows
        return Workload(plan.problem, plan.Y, self.split, min(READ, len(self.starts)), plan.budget, known)

    @property
    def limits(self) -> Budget:
        """The most that may be paid: the user's budget, else the allowance of the new rows of a grown table."""
        plan = self.plan
        if self.former is None or plan.budget != Budget():
            return plan.budget
        least = sum(least_price(plan.method, self.workload)["solve"].values())
        set_aside = not plan.method.cross_fits or plan.validation_given
        return self.former.allowance(plan.method, len(plan.Y), len(self.split.valid) if set_aside else 0, least)

    @property
    def expected(self) -> Expected:
        """The solves of its parts, for the progress that is shown."""
        method, limits = self.plan.method, self.limits
        least = least_price(method, self.workload)["solve"]
        labels = least["labels"] if method.demand(self.plan.Y.shape[1]).training_rows else None
        before = least["probe"] + least["labels"]
        bounds = [] if limits.solves is None or labels is None else [max(0, limits.solves - before)]
        if method.cross_fits:
            given = values_of(method.settings)
            own = given.get("solves") or (given.get("most") if limits.solves is None else None)
            bounds += [] if own is None else [int(own * (len(self.split.train) + len(self.split.valid)))]
        return Expected(
            labels,
            min(bounds, default=None),
            used_up=method.cross_fits and limits.solves is not None,
            budget=limits,
            usual=usual_solves(method, self.workload),
            probes=least["probe"],
        )

    @property
    def about(self) -> dict[str, Any]:
        """The identity of a run: everything that training follows from, but problem and Y."""
        about = self.plan.about | {"X": digest_of(self.inputs.array)}
        if self.plan.sample_weight is not None:
            about["weights"] = digest_of(self.plan.sample_weight)
        if self.plan.groups is not None:
            about["groups"] = digest_of(np.unique(np.asarray(self.plan.groups), return_inverse=True)[1])
        if self.plan.method.cross_fits and self.plan.validation_given:
            about["validation"] = "given"  # the same rows, drawn here, would be trained on too
        if self.former is not None:
            about["goes on from"] = self.former.identity
        return about | {f"{part} rows": digest_of(rows) for part, rows in vars(self.whole).items()}


def prepare(planned: Plan) -> Prepared:
    """Split the rows, find the former run, fit a forecaster; raises where the budget does not cover the least price.

    Args:
        planned: The plan to carry out.
    """
    plan = planned.checked
    former = _former(plan)
    whole = _split(plan, former)
    forecaster, inputs = plan.family.inputs(
        plan.predictor,
        plan.X,
        plan.context,
        plan.Y,
        whole,
        groups=plan.groups,
        weights=plan.sample_weight,
        seed=plan.seed,
    )
    split = _labelled(plan, whole) if former is None else whole  # a former run has paid for most labels
    prepared = Prepared(plan, split, whole, inputs, forecaster, former)
    refuse_unaffordable(plan.method, prepared.workload, plan.budget, whole)
    return prepared


def _former(plan: CheckedPlan) -> Former | None:
    """The run that this one continues: a given one, or one in the folder."""
    if plan.split is not None or plan.former is not None or plan.folder is None:
        return plan.former
    bounds = plan.problem.bounds() if plan.problem.bounded else None
    shape, n_y = plan.context.shape[1:], plan.Y.shape[1]

    def build(name: str) -> Any:
        return plan.family.blank(plan.predictor, name, shape, n_y)

    return former_in(plan.folder, plan.context, plan.Y, plan.about, build, bounds)


def _split(plan: CheckedPlan, former: Former | None) -> Split:
    n, rng = len(plan.Y), np.random.default_rng(plan.seed)
    chosen_by = share_to_validate(n) if plan.validation is None else plan.validation
    split = plan.split
    if split is None and former is not None:
        split = former.split_of(n, chosen_by, rng, plan.groups)
    split = split or split_table(n, chosen_by, rng=rng, groups=plan.groups)
    if plan.sample_weight is not None:
        split = _with_weight(split, plan.sample_weight)
    for part, rows in vars(split).items():
        if len(rows) and (np.min(rows) < 0 or np.max(rows) >= n):
            raise InputError(f"the split has a row to {part} on that the table has not: rows are numbered 0 to {n - 1}")
    return split


def _labelled(plan: CheckedPlan, whole: Split) -> Split:
    """The rows whose labels the method pays for with this budget."""
    groups = None if plan.groups is None else np.asarray(plan.groups)
    rng = np.random.default_rng([plan.seed, SAMPLE_STREAM])
    return plan.method.rows_to_label(whole, plan.budget.solves, groups, rng)


def _with_weight(split: Split, weights: Array) -> Split:
    """Rows of no weight have no part in a run."""
    return Split(**{part: rows[weights[rows] > 0] for part, rows in vars(split).items()})
