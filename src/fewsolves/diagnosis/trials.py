"""The trials of the doctor: at most fifty solves, at chosen points of some rows.

labels        10   z*(y_i) of rows that are spread over the table
repeats        3   the same again, in another order
predictions   10   z*(y_hat_i), where y_hat is what a linear model, or the user's, says that has not seen the row
shifted        8   four of the predictions, all parameters half an error up, and half an error down
outside        2   below all that Y has, and above
one by one    11   the truth with one parameter, or one group of them, set to the far end of its range
beside         6   in two worker processes, where a solve is long enough that they could help
"""

from __future__ import annotations

import os
import time
from contextlib import closing
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import KFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fewsolves.errors import FewsolvesError
from fewsolves.execution.base import Failure
from fewsolves.ledger.decision import PackedDecision
from fewsolves.oracle import KINDS, Evaluation, Kind, Oracle, SolveConfig
from fewsolves.predictors.regressor import SharedByItems
from fewsolves.problem import Array

MAX_ROWS = 2000  # that the linear model is made of
TRIED_ROWS, REPEATS, SHIFTED, GROUPS = 10, 3, 4, 11
WARM_UP, TIMED = 2, 4  # solves in worker processes
SHORTEST_SOLVE = 1e-3  # seconds of a solve above which worker processes may help
COST_SECONDS = 30.0  # that may go into costs of known decisions
Decision = PackedDecision | Failure


class Repeated(NamedTuple):
    """Three calls that were made twice, with both answers."""

    rows: Array
    decisions_differ: Array  # (3,) bool
    cost: Array  # of the first decision
    cost_again: Array  # of the first decision, evaluated again
    other_cost: Array  # of the second decision

    @property
    def noise(self) -> float:
        """The largest difference of two costs of one decision."""
        return float(np.nanmax(np.abs(self.cost - self.cost_again), initial=0.0))


class Predicted(NamedTuple):
    """The results of solving at the predictions of the tried rows."""

    regret: Array
    decisions: list[Decision]
    seconds: dict[Kind, float]  # of one solve and of one cost call
    cores: float  # that they kept busy; 1 where they ran in other processes, or too briefly to measure


class Beside(NamedTuple):
    """Solves in two worker processes."""

    speed_up: float
    differ: bool  # from what was decided in this process
    refused: str | None  # why there are none


class Moved(NamedTuple):
    """Parameters that were set to an end of their range, together."""

    parameters: Array
    changes_decision: bool  # at one or two rows
    changes_cost: bool  # of some decision at some row


class Forecasts(NamedTuple):
    """A forecaster of the user: its name, and its out-of-fold forecasts (n, n_y)."""

    name: str
    y_hat: Array


@dataclass
class Trials:
    """The trials of one problem; each is paid for at its first use."""

    oracle: Oracle  # of the whole table; failures come back as data
    X: Array
    time_limit: float | None = None
    forecasts: Forecasts | None = None  # None: a linear model is made
    max_rows: int = MAX_ROWS
    shortest_solve: float = SHORTEST_SOLVE
    Y: Array = field(init=False)
    at: Array = field(init=False)  # rows that are tried

    def __post_init__(self) -> None:
        self._table = self.oracle.Y
        self._kept = kept = _spread(len(self.X), self.max_rows)
        self.oracle, self.X = self.oracle.part(kept), self.X[kept]
        self.Y = self.oracle.Y
        self.at = _spread(len(kept), TRIED_ROWS)

    @cached_property
    def optimum(self) -> Array:
        """g(y_i, z*(y_i)); NaN where it failed."""
        return self.oracle.optimum(self.at)

    @cached_property
    def labels(self) -> list[Decision]:
        return self.oracle.packed_labels(self.at)

    @cached_property
    def solved(self) -> Array:
        """Positions among the tried rows whose best decision and its cost are known."""
        return np.flatnonzero(~np.isnan(self.optimum))

    @cached_property
    def repeated(self) -> Repeated:
        chosen = self.solved[_spread(len(self.solved), REPEATS)][::-1]
        index, labels = self.at[chosen], [self.labels[k] for k in chosen]
        account, rows, truth = self.oracle.account, self.oracle.rows[index], self.Y[index]
        again, _ = account.solve(rows, truth, phase="probe", recompute=True)
        costs = [account.cost(rows, truth, z, phase="probe", recompute=True) for z in (labels, labels, again)]
        differ = np.array([not _same(a, b) for a, b in zip(labels, again, strict=True)], dtype=bool)
        return Repeated(rows, differ, *costs)

    @cached_property
    def y_hat(self) -> Array:
        """(n, n_y): predictions of the forecaster or of a linear model, of each row by one that has not seen it."""
        given = self._predicted(self.Y) if self.forecasts is None else self.forecasts.y_hat[self._kept]
        return self.oracle.problem.within_bounds(given.reshape(self.Y.shape))

    @property
    def predictor_name(self) -> str:
        """Name of the model that makes the predictions."""
        return "a linear model" if self.forecasts is None else self.forecasts.name

    @cached_property
    def order(self) -> float:
        """Share of the variance of a row's place in the table that its x explains, as the same model says."""
        place = np.arange(len(self.X), dtype=np.float64)
        return float(1.0 - np.mean((self._predicted(place) - place) ** 2) / max(place.var(), 1e-300))

    def _predicted(self, target: Array) -> Array:
        """Out of fold; where x has items, by one model for all of them if its errors are smaller."""
        model = make_pipeline(StandardScaler(), RidgeCV(np.logspace(-3, 3, 7)))
        folds = KFold(min(5, len(self.X)), shuffle=True, random_state=0)
        predicted: Array = cross_val_predict(model, self.X.reshape(len(self.X), -1), target, cv=folds)
        if self.X.ndim != 3 or target.shape != self.X.shape[:2]:
            return predicted
        shared = np.empty_like(target)
        for others, fold in folds.split(self.X):
            shared[fold] = SharedByItems(model).fit(self.X[others], target[others]).predict(self.X[fold])
        predicted = predicted.reshape(target.shape)
        return shared if np.square(shared - target).mean() < np.square(predicted - target).mean() else predicted

    @cached_property
    def error(self) -> Array:
        """(n_y,): root mean square of y - y_hat."""
        rms: Array = np.sqrt(np.mean((self.Y - self.y_hat) ** 2, axis=0))
        return rms

    @cached_property
    def explained(self) -> float:
        """Share of the variance of Y that the predictions explain, mean over the parameters that vary."""
        spread = self.Y.var(axis=0)
        varies = spread > 0
        return float(np.mean(1.0 - self.error[varies] ** 2 / spread[varies])) if varies.any() else 1.0

    @cached_property
    def predicted(self) -> Predicted:
        """Regret and decisions at the predictions, and how long they took."""
        calls = self.oracle.calls
        made, spent = {kind: calls.total(kind) for kind in KINDS}, dict(calls.seconds_in)
        wall, cpu = time.perf_counter(), _cpu_seconds()
        regret, decisions = self._evaluate(self.at, self.y_hat[self.at])
        wall, cpu = time.perf_counter() - wall, _cpu_seconds() - cpu
        seconds = {
            kind: (calls.seconds_in[kind] - spent[kind]) / max(1, calls.total(kind) - made[kind]) for kind in KINDS
        }
        return Predicted(regret, decisions, seconds, cpu / wall if self.time_limit is None and wall > 0.1 else 1.0)

    @cached_property
    def shifted(self) -> tuple[Array, Array, Array]:
        """(4,) each: regret at the prediction, half an error above it, and half an error below it."""
        few = _spread(len(self.at), SHIFTED)
        index, move = self.at[few], 0.5 * self.error
        up, down = (self._evaluate(index, self.y_hat[index] + sign * move).regret for sign in (1.0, -1.0))
        return self.predicted.regret[few], up, down

    @cached_property
    def outside(self) -> tuple[Decision, Decision]:
        """Decisions for one row at parameters below all that Y has, and above."""
        move = 0.5 * np.maximum(self.error, 1e-9)
        ends = np.stack([self.Y.min(axis=0) - move, self.Y.max(axis=0) + move])
        below, above = self._evaluate(np.repeat(self.at[:1], 2), ends).decisions
        return below, above

    @cached_property
    def moved(self) -> list[Moved]:
        """Each parameter, or each of eleven groups of them, set to the far end of its range at a row that was solved.

        With fewer than eleven, what changed no decision is moved once more, at another row.
        """
        groups = np.array_split(np.arange(self.oracle.n_y), min(GROUPS, self.oracle.n_y))
        changed, room = [False] * len(groups), GROUPS
        for k in self.solved[[0, -1]].tolist():
            still = [g for g, changes in enumerate(changed) if not changes][:room]
            room -= len(still)
            for g, changes in zip(still, self._decision_moves(k, [groups[g] for g in still]), strict=True):
                changed[g] = changes
        costs = self._cost_moves(groups)
        return [Moved(*one) for one in zip(groups, changed, costs, strict=True)]

    @cached_property
    def known(self) -> Array:
        """(k, k): cost of the decisions of other rows under the truth of each solved row; NaN where not evaluated.

        All NaN where rows have known data of their own: a decision of one row need not fit another.
        """
        k = len(self.solved)
        costs = np.full((k, k), np.nan)
        if self.oracle.problem.instances is not None or k < 2:
            return costs
        seconds = self.predicted.seconds["cost"] * k
        others = int(np.clip(COST_SECONDS / max(seconds, 1e-9), 1, k - 1))
        index, labels = self.at[self.solved], [self.labels[j] for j in self.solved]
        rows, truth = self.oracle.rows[index], self.Y[index]
        for step in range(1, others + 1):
            other_rows = np.roll(np.arange(k), step)
            others_labels = [labels[j] for j in other_rows]
            costs[np.arange(k), other_rows] = self.oracle.account.cost(rows, truth, others_labels, phase="probe")
        return costs

    @cached_property
    def beside(self) -> Beside | None:
        """Whether two processes are quicker than one; None where solves are too short for it."""
        if self.predicted.seconds["solve"] < self.shortest_solve:
            return None
        solving = SolveConfig(workers=2, time_limit=self.time_limit, on_failure="skip")
        chosen = self.solved[_spread(len(self.solved), WARM_UP)]
        try:
            with closing(Oracle(self.oracle.problem, self._table, solving=solving)) as other:
                return self._beside(other, chosen)
        except FewsolvesError as error:
            return Beside(1.0, differ=False, refused=str(error))

    def _beside(self, other: Oracle, chosen: Array) -> Beside:
        rows = self.oracle.rows[self.at]
        timed = np.resize(rows[self.solved], TIMED)
        costs = other.optimum(rows[chosen])  # starts the workers, which load the problem
        began = time.perf_counter()
        other.solve(timed, other.Y[timed], phase="probe", recompute=True)
        wall = time.perf_counter() - began
        differ = ~np.isclose(costs, self.optimum[chosen], rtol=1e-6, atol=1e-6 + 3 * self.repeated.noise)
        self.oracle.calls.add("solve", "probe", other.calls.total("solve"), 0.0)
        self.oracle.calls.add("cost", "probe", other.calls.total("cost"), 0.0)
        return Beside(TIMED * self.predicted.seconds["solve"] / wall, differ=bool(differ.any()), refused=None)

    def _decision_moves(self, k: int, groups: list[Array]) -> list[bool]:
        """Whether the decision at the truth of a row changes with a group at the far end of its range."""
        if not groups:
            return []
        truth = self.Y[self.at[k]]
        low, high = self._range
        far = np.where(high - truth > truth - low, high, low)
        points = np.stack([_with(truth, group, far) for group in groups])
        return [not _same(self.labels[k], z) for z in self._solve(np.repeat(self.at[k : k + 1], len(groups)), points)]

    def _cost_moves(self, groups: list[Array]) -> list[bool]:
        """Whether the cost of a row's best decision, or of its neighbour's, changes with a group at either end."""
        if self.oracle.problem.noisy_cost:
            return [True] * len(groups)  # it changes anyway
        seconds = self.predicted.seconds["cost"] * 4 * len(groups)
        rows = self.solved[: int(np.clip(COST_SECONDS / max(seconds, 1e-9), 1, len(self.solved)))]
        turns = (0, 1) if self.oracle.problem.instances is None else (0,)  # a neighbour's need not fit an instance
        index, changes = self.at[rows], [False] * len(groups)
        for turn in turns:
            labels = [self.labels[k] for k in np.roll(self.solved, turn)[: len(rows)]]
            decisions = [z.argument() for z in labels if not isinstance(z, Failure)]
            before = self.oracle.cost_at(index, self.Y[index], decisions)
            for g, group in enumerate(groups):
                for end in self._range:
                    after = self.oracle.cost_at(index, _with(self.Y[index], group, end), decisions)
                    changes[g] |= bool((~np.isclose(before, after, rtol=1e-9, atol=1e-12)).any())
        return changes

    @property
    def _range(self) -> tuple[Array, Array]:
        return self.Y.min(axis=0), self.Y.max(axis=0)

    def _evaluate(self, index: Array, y_hat: Array) -> Evaluation:
        return self.oracle.evaluate(index, y_hat, phase="probe")

    def _solve(self, index: Array, y_hat: Array) -> list[Decision]:
        solved, _ = self.oracle.account.solve(self.oracle.rows[index], y_hat, phase="probe")
        return solved


def _spread(n: int, most: int) -> Array:
    """At most `most` of n positions, spread evenly."""
    return np.unique(np.linspace(0, n - 1, min(n, most)).astype(int)) if n else np.empty(0, dtype=int)


def _with(points: Array, group: Array, values: Array) -> Array:
    """Points whose parameters of one group are those of `values`."""
    moved = points.copy()
    moved[..., group] = values[group]
    return moved


def _same(a: Decision, b: Decision) -> bool:
    if isinstance(a, Failure) or isinstance(b, Failure):
        return isinstance(a, Failure) and isinstance(b, Failure)
    return a.key == b.key


def _cpu_seconds() -> float:
    """Of this process, its threads, and programs that it has waited for."""
    spent = os.times()
    return spent.user + spent.system + spent.children_user + spent.children_system
