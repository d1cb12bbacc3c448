"""Evidence for a change: regrets of rows by models that never saw them, paid on some rows, estimated on all.

    d_i = R_i(new) - R_i(old)      paid on m evidence rows; both predictions by the model without row i
    S_i                            the stand-in's difference, on all n rows, without a solve

    change = mean_n(rho S) + mean_m(d - rho S)                 the same control variate as in the slopes

rho is fitted on the paid rows, and shrunk where they are few. The result is the mean of the models, which is a little
better than the single models that are judged here.

A change is taken where its posterior mean is below 0, given what a change by its source usually does (`Prior`). With
heavy tails a few rows make the error large, so that the prior decides: they neither carry nor kill a change.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fewsolves._internal.dense import fitting
from fewsolves.methods.staged.folds import Folds
from fewsolves.methods.staged.pool import Pool
from fewsolves.methods.staged.replicas import LinearReplicas, ModuleReplicas
from fewsolves.methods.staged.rows import TrainingRows
from fewsolves.methods.staged.stand_ins.base import Prior, StandIn
from fewsolves.problem import Array

UNLIKE = 0.1  # share of changes that no prior of a stand-in describes
PREDICTED_AT_ONCE = 3000  # rows that a stand-in predicts in one request: it may look at thousands of decisions for each
PARAMETERS = 4  # paid rows that the coefficient rho is worth: with few rows it is shrunk


@dataclass(frozen=True)
class Change:
    """The estimated mean change of the regret, with its standard error, in the units of the cost."""

    mean: float
    error: float
    rho: float = 0.0
    rows: int = 1  # paid rows behind it

    @property
    def z(self) -> float:
        """The change in standard errors; 0 where nothing can be said."""
        if self.error > 0:
            return self.mean / self.error
        return math.copysign(math.inf, self.mean) if self.mean else 0.0

    def posterior(self, prior: Prior, start: float) -> float:
        """Posterior mean of the change, as a share of the start's regret.

        A share `UNLIKE` of all changes is unlike those that the prior describes. It has mean 0 and the variance of a
        single row's difference (a unit information prior): evidence that says little, but speaks against a change, is
        not outvoted.
        """
        if not start > 0:
            return self.mean
        share, variance = self.mean / start, (self.error / start) ** 2
        if not math.isfinite(variance):
            return prior.mean
        logs, means = [], []
        for weight, mean, of_prior in ((1 - UNLIKE, prior.mean, prior.sd**2), (UNLIKE, 0.0, self.rows * variance)):
            total = variance + of_prior
            logs.append(
                math.log(weight) - 0.5 * (math.log(total) + (share - mean) ** 2 / total) if total else -math.inf
            )
            means.append((mean * variance + share * of_prior) / total if total else share)
        weights = np.exp(np.array(logs) - max(logs))
        return float(weights @ means / weights.sum())


@dataclass(frozen=True)
class Candidate:
    """A state of the models, and what was paid to judge it."""

    source: str
    models: Any  # a snapshot
    unseen: Array  # (n, d) predictions of the judged rows by models that never saw them; NaN elsewhere
    regret: Array  # (m,) paid, of the evidence rows


class Judge:
    """Reads states of the models on m evidence rows, drawn from those that are judged, and compares them."""

    def __init__(self, rows: TrainingRows, folds: Folds, models: LinearReplicas | ModuleReplicas, m: int) -> None:
        self.rows, self.folds, self.models, self.judged = rows, folds, models, folds.rows
        self._order = rows.rng.permutation(self.judged)
        self.evidence = self._order[:m]

    def state(self) -> dict[str, Any]:
        """Its order of the rows, and how many of them are evidence."""
        return {"order": self._order, "rows": len(self.evidence)}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take what `state` returned."""
        self._order = fitting("order", state["order"], self._order.shape)
        self.evidence = self._order[: state["rows"]]

    def read(self, source: str, pool: Pool | None) -> Candidate:
        """The present state, with what is paid to read it; its decisions enter the pool."""
        unseen = self.folds.unseen_judged(self.models.predictions())
        return Candidate(source, self.models.snapshot(), unseen, self._regrets(unseen, self.evidence, pool))

    def unread(self, source: str) -> Candidate:
        """The present state, of which nothing was paid to judge it."""
        unseen = self.folds.unseen_judged(self.models.predictions())
        return Candidate(source, self.models.snapshot(), unseen, np.full(len(self.evidence), np.nan))

    def spare(self, m: int) -> Array:
        """At most m judged rows that are no evidence; those that would become evidence last."""
        return np.sort(self._order[max(len(self.evidence), len(self._order) - m) :])

    def widen(self, m: int, read: list[Candidate], pool: Pool | None) -> list[Candidate]:
        """Take m evidence rows from now on, and read these states on those that are new."""
        new = self._order[len(self.evidence) : m]
        self.evidence = self._order[:m]
        if not len(new):
            return read
        return [replace(one, regret=np.r_[one.regret, self._regrets(one.unseen, new, pool)]) for one in read]

    def _regrets(self, unseen: Array, rows: Array, pool: Pool | None) -> Array:
        """Pay for the regrets of these rows at `unseen` (n, d); the decisions enter the pool."""
        some = self._affordable(rows)
        paid = self.rows.pay(some, unseen[some], phase="validation")
        if pool is not None:
            pool.learn(some, unseen[some], paid)
        regret = np.full(len(rows), np.nan)
        regret[: len(some)] = self.rows.weighted(paid.regret, some)
        return regret

    def _affordable(self, rows: Array) -> Array:
        """The rows, or the first of them where solves that were lost to a kill have shortened the budget."""
        left = int(min(len(rows), self.rows.oracle.budget_left.calls_left("solve", "validation")))
        return rows if left < 2 else rows[:left]

    def change(self, made: Candidate, before: Candidate, stand_in: StandIn | None) -> Change:
        """The estimated change from one state to another."""
        paid = made.regret - before.regret
        if stand_in is None:
            return estimate_change(paid, None, self.evidence)
        predicted = self.predict(stand_in, made.unseen) - self.predict(stand_in, before.unseen)
        return estimate_change(paid, predicted, np.searchsorted(self.judged, self.evidence))

    def predict(self, stand_in: StandIn, u: Array) -> Array:
        """Weighted regrets of the judged rows at u (n, d), by the stand-in; NaN where it knows nothing."""
        stand_in.refresh()
        values = []
        for first in range(0, len(self.judged), PREDICTED_AT_ONCE):
            some = self.judged[first : first + PREDICTED_AT_ONCE]
            values.append(stand_in.value(some, u[some], u[some, None])[:, 0])
        return self.rows.weighted(np.concatenate(values), self.judged)


def estimate_change(paid: Array, predicted: Array | None, of_paid: Array) -> Change:
    """Of paid differences (m,), NaN where one failed, and predicted ones (n,), whose positions `of_paid` are the paid.

    Args:
        paid: (m,) Paid differences.
        predicted: (n,) Differences by the stand-in; None where there is none.
        of_paid: (m,) Positions of the paid rows.
    """
    known = ~np.isnan(paid)
    y = paid[known]
    if predicted is None or len(y) < 2:
        return paired(paid)
    s = np.nan_to_num(predicted)
    x = s[of_paid][known]
    spread = float(((x - x.mean()) ** 2).sum())
    rho = float(((x - x.mean()) * (y - y.mean())).sum()) / spread if spread > 0 else 0.0
    rho = float(np.clip(rho, 0.0, 1.2)) * max(0.0, 1 - PARAMETERS / len(y))
    residual = y - rho * x
    error = math.sqrt(residual.var(ddof=1) / len(y) + rho**2 * s.var() / len(s))
    return Change(float(rho * s.mean() + residual.mean()), error, rho, len(y))


def paired(differences: Array) -> Change:
    """Of paid differences (m,) alone, NaN where one failed."""
    y = differences[~np.isnan(differences)]
    if len(y) < 2:
        return Change(0.0, math.inf)
    return Change(float(y.mean()), float(y.std(ddof=1) / math.sqrt(len(y))), rows=len(y))
