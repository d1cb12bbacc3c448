"""Preparing a run: rows are split, a former run is looked for in the folder, a forecaster is fitted.

This is the first step of a fit: it reads the folder of the plan and pays for no solve.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from fewsolves.data import Split, share_to_validate, split_table
from fewsolves.errors import InputError
from fewsolves.fitting.growth import Former, former_in
from fewsolves.fitting.plan import Plan
from fewsolves.ledger.identity.fingerprint import digest_of
from fewsolves.oracle import Budget
from fewsolves.predictors.families import family_of
from fewsolves.predictors.family import PredictorFamily
from fewsolves.predictors.forecaster import Forecaster
from fewsolves.predictors.inputs import Inputs
from fewsolves.problem import Array
from fewsolves.quoting.price import Workload, least_price, refuse_unaffordable


@dataclass(frozen=True, eq=False)
class Prepared:
    """A plan that can be carried out."""

    plan: Plan
    split: Split  #: rows to train, to validate and to test on
    inputs: Inputs  #: of what is trained: the context, and forecasts beside it
    forecaster: Forecaster | None  #: fitted; None: the predictor is trained itself
    former: Former | None  #: a run over the first rows of the table, which this one continues

    @cached_property
    def family(self) -> PredictorFamily:
        """The kind of predictor that is trained."""
        return family_of(self.plan.predictor)

    @property
    def starts(self) -> tuple[str, ...]:
        """The predictors that are started and compared."""
        if self.former is not None:
            return (self.former.predictor_name,)
        return self.family.names(self.plan.predictor)

    @property
    def workload(self) -> Workload:
        """The work that a quote or a budget check prices."""
        plan, known = self.plan, 0 if self.former is None else self.former.run.n_rows
        return Workload(plan.problem, plan.Y, self.split, len(self.starts), plan.budget, known)

    @property
    def limits(self) -> Budget:
        """The most that may be paid: the user's budget, else the allowance of the new rows of a grown table."""
        plan = self.plan
        own: Budget = plan.budget
        if self.former is None or own != Budget():
            return own
        least = sum(least_price(plan.method, self.workload)["solve"].values())
        return self.former.allowance(plan.method, len(plan.Y), len(self.split.valid), least)

    @property
    def about(self) -> dict[str, Any]:
        """The identity of a run: everything that training follows from, but problem and Y."""
        about = self.plan.about | {"X": digest_of(self.inputs.array)}
        if self.plan.sample_weight is not None:
            about["weights"] = digest_of(self.plan.sample_weight)
        if self.former is not None:
            about["goes on from"] = self.former.identity
        return about | {f"{part} rows": digest_of(rows) for part, rows in vars(self.split).items()}


def prepare(plan: Plan) -> Prepared:
    """Split the rows, find the former run, fit a forecaster; raises where the budget does not cover the least price.

    Args:
        plan: The plan to carry out.
    """
    former = _former(plan)
    split = _split(plan, former)
    forecaster, inputs = family_of(plan.predictor).inputs(
        plan.predictor,
        plan.X,
        plan.context,
        plan.Y,
        split,
        groups=plan.groups,
        weights=plan.sample_weight,
        seed=plan.seed,
    )
    prepared = Prepared(plan, split, inputs, forecaster, former)
    refuse_unaffordable(plan.method, prepared.workload, plan.budget)
    return prepared


def _former(plan: Plan) -> Former | None:
    """The run that this one continues: a given one, or one in the folder."""
    if plan.split is not None or plan.former is not None:
        return plan.former
    bounds, family = plan.problem.bounds() if plan.problem.bounded else None, family_of(plan.predictor)
    n_x, n_y = plan.context.shape[1], plan.Y.shape[1]
    return former_in(
        plan.folder, plan.context, plan.Y, plan.about, lambda name: family.blank(plan.predictor, name, n_x, n_y), bounds
    )


def _split(plan: Plan, former: Former | None) -> Split:
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


def _with_weight(split: Split, weights: Array) -> Split:
    """Rows of no weight have no part in a run."""
    return Split(**{part: rows[weights[rows] > 0] for part, rows in vars(split).items()})
