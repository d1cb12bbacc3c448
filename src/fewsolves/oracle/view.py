"""The oracle: regret of predictions for some rows of a table, a view over the account of a run.

    r_i(y_hat) = g(y_i, z*(y_hat)) - g(y_i, z*(y_i))         divided by |g(y_i, z*(y_i))| where regret is relative

index  (B,)      positions in this oracle's rows       y_hat (B, n_y)  predictions for them
Rows keep their number in the user's table (`rows`), so that errors name them and parts share paid answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from fewsolves._internal.renamed import renamed_argument
from fewsolves.errors import InputError
from fewsolves.execution.base import Failure, Phase
from fewsolves.ledger.decision import PackedDecision, pack_decision
from fewsolves.ledger.ledger import Ledger
from fewsolves.ledger.reading import decisions_of_others, paid_by_others
from fewsolves.oracle.account import Account
from fewsolves.oracle.batch import Drawn
from fewsolves.oracle.budget import Budget
from fewsolves.oracle.config import SolveConfig
from fewsolves.oracle.former import FormerRun
from fewsolves.oracle.free_samples import FreeSamples
from fewsolves.problem import Array, Problem


class Evaluation(NamedTuple):
    """Paid evaluations: regret (B,), and the decisions that it came from."""

    regret: Array
    decisions: list[PackedDecision | Failure]


class Oracle:
    """Regret of predictions for the rows of a table of true parameters Y (n, n_y).

    It is the only way to a solver: its calls are counted, charged to the budget, and their answers reused.

    Args:
        problem: The problem whose functions are called.
        Y: (n, n_y) True parameters.
        solving: How solves run. None: in this process, without limits.
        budget: The most that may be paid. None: no limit.
        ledger: Where everything paid is recorded. None: in memory alone.
        former: What a run over the first rows of the table has paid for.
        account: The account that calls are charged to, for rows that were checked with it. None: a new one, as above.
        rows: Numbers of these rows in the whole table.

    Attributes:
        n_y: Parameters that are predicted.
        calls: The calls that were paid.
        budget_left: The rest of the budget.
        failures: Failed calls.
        relative: Whether regrets are divided by the cost of the best decision of their row.
    """

    def __init__(
        self,
        problem: Problem,
        Y: Array,
        *,
        solving: SolveConfig | None = None,
        budget: Budget | None = None,
        ledger: Ledger | None = None,
        former: FormerRun | None = None,
        account: Account | None = None,
        rows: Array | None = None,
    ) -> None:
        if account is None:
            problem.check_instances(len(Y))
            problem.check_bounds(np.asarray(Y, dtype=float))
        self.problem = problem
        self.Y = np.ascontiguousarray(Y, dtype=float)
        self.n_y = int(self.Y.shape[1])
        self.rows = np.arange(len(Y)) if rows is None else rows
        self.account = account or Account(
            problem, solving=solving, budget=budget, ledger=ledger, n_rows=len(Y), former=former
        )
        self.calls, self.budget_left, self.failures = (
            self.account.calls,
            self.account.budget_left,
            self.account.failures,
        )
        self.ledger, self.solving = self.account.ledger, self.account.solving
        self.relative = self.solving.regret == "relative"

    def part(self, index: Array) -> Oracle:
        """The same oracle over some of its rows; the account is shared.

        Args:
            index: (B,) Positions in its rows.
        """
        return Oracle(self.problem, self.Y[index], account=self.account, rows=self.rows[index])

    def __len__(self) -> int:
        return len(self.rows)

    def evaluate(self, index: Array, y_hat: Array, *, phase: Phase, drawn: Drawn | None = None) -> Evaluation:
        """Solve at y_hat, evaluate the true cost, and subtract the cost of the best decision.

        Args:
            index: (B,) Positions in the rows.
            y_hat: (B, n_y) Predictions for them.
            phase: Purpose of the calls, by which they are counted (docs/counting.md).
            drawn: The distribution that y_hat was drawn from, for the ledger.
        """
        account, rows = self.account, self.rows[index]
        with account.lock:
            optimum = self.optimum(index, phase="test" if phase == "test" else "labels")
            account.calls.evaluations[phase] += len(index)
            y_hat = self._checked(rows, y_hat)
            decisions, keys = account.solve(rows, y_hat, phase=phase, drawn=drawn, wait=False)
            same_noise = phase in ("validation", "test") and self.problem.takes_seed
            draws = np.zeros(len(rows), dtype=int) if same_noise else None
            cost = account.cost(rows, self.Y[index], decisions, phase=phase, solved_by=keys, draws=draws)
            account.barrier()  # of solves that no cost call had to wait for
            divisor = self._divisor(optimum)
            regret = account.failures.regret(cost, optimum) / divisor
            if phase != "test":
                paid = ~np.isnan(cost - optimum)
                account.calls.saw(regret[paid], (cost / divisor)[paid])
            return Evaluation(regret, decisions)

    def regret(self, index: Array, y_hat: Array, *, phase: Phase, drawn: Drawn | None = None) -> Array:
        """r_i(y_hat), (B,), paid.

        Args:
            index: (B,) Positions in the rows.
            y_hat: (B, n_y) Predictions for them.
            phase: Purpose of the calls, by which they are counted (docs/counting.md).
            drawn: The distribution that y_hat was drawn from, for the ledger.
        """
        return self.evaluate(index, y_hat, phase=phase, drawn=drawn).regret

    def cost_at(self, index: Array, y: Array, decisions: Sequence[Any] | Array) -> Array:
        """g(y, z), (B,), for any y, with the known data of the rows; NaN where it failed. Counted, and not kept.

        A decision that is not feasible for its row has no cost: NaN, without a call.

        Args:
            index: (B,) Positions in the rows.
            y: (B, n_y) Parameters.
            decisions: B decisions.
        """
        rows, y = self.rows[index], self.problem.within_bounds(y)
        allowed = np.flatnonzero(self.account.feasible(rows, decisions))
        if len(allowed) == len(rows):
            return self.account.cost_at(rows, y, decisions)
        costs = np.full(len(rows), np.nan)
        if len(allowed):
            some = decisions[allowed] if isinstance(decisions, np.ndarray) else [decisions[k] for k in allowed.tolist()]
            costs[allowed] = self.account.cost_at(rows[allowed], y[allowed], some)
        return costs

    def packed_labels(self, index: Array) -> list[PackedDecision | Failure]:
        """`labels` in packed form.

        Args:
            index: (B,) Positions in the rows.
        """
        return self._solve(self.rows[index], self.Y[index], phase="labels")

    def labels(self, index: Array, *, phase: Phase = "labels") -> list[Any]:
        """Decisions at the truth, z*(y_i), solved once.

        Args:
            index: (B,) Positions in the rows.
            phase: Purpose of the calls, by which they are counted.
        """
        return self.solve(index, self.Y[index], phase=phase)

    def optimum(self, index: Array, *, phase: Phase = "labels") -> Array:
        """Cost of the decisions at the truth, g(y_i, z*(y_i)), paid once; of a noisy cost the mean of several draws.

        Args:
            index: (B,) Positions in the rows.
            phase: Purpose of the calls, by which they are counted.
        """
        rows, optima = self.rows[index], self.account.memory.optima
        if new := [k for k, row in enumerate(rows.tolist()) if row not in optima]:
            truth = self.Y[index[new]]
            decisions = self._solve(rows[new], truth, phase=phase)
            cost = self._label_costs(rows[new], truth, decisions, phase)
            optima.update(zip(rows[new].tolist(), cost.tolist(), strict=True))
        found = np.array([optima[row] for row in rows.tolist()])
        if self.relative:
            _refuse_near_zero(rows, found)
        return found

    def regret_units(self, index: Array) -> Array:
        """(B,) The unit of the regrets of these rows: 1, or the absolute cost of the best decision, which is paid.

        Args:
            index: (B,) Positions in the rows.
        """
        return np.asarray(self._divisor(self.optimum(index))) if self.relative else np.ones(len(index))

    def _divisor(self, optimum: Array) -> Array | float:
        return np.abs(optimum) if self.relative else 1.0

    def free_samples(self) -> FreeSamples:
        """Evaluations that other runs had paid when this run began, without labels and tests.

        Empty without a ledger, unless this run continues a former one.
        """
        ledger, found = self.account.charging.ledger, None
        former = None if self.account.former is None else self.account.former.points
        if self.account.former is not None and self.account.former.relative != self.relative:
            former = None  # those regrets are of the other kind
        if former is not None:
            found = tuple(former)
        elif ledger is not None and (self.problem.deterministic or self.account.former is not None):
            found = paid_by_others(ledger)
        if found is None or not (mine := np.isin(found[0], self.rows)).any():
            return FreeSamples(np.empty(0, dtype=int), np.empty((0, self.n_y)), np.empty(0), len(self))
        rows, y_hat, regret = (part[mine] for part in found)
        order = np.argsort(self.rows)
        index = order[np.searchsorted(self.rows, rows, sorter=order)]
        if former is None:  # the ledger has costs
            regret = (regret - self.optimum(index)) / self.regret_units(index)
        whole = ~np.isnan(regret)
        return FreeSamples(index[whole], y_hat[whole], regret[whole], len(self))

    def first_points(self, points: Array) -> tuple[Array, Array, Array]:
        """Points (K, n, n_y) before training and their regrets (K, n), paid; and a mask (n,) of rows that cost nothing.

        A row for which a former run has paid K points reuses the nearest of these instead of the given points.

        Args:
            points: (K, n, n_y) K predictions for each row.
        """
        regret, known = np.full(points.shape[:2], np.nan), np.zeros(len(self), dtype=bool)
        if self.account.former is not None:
            points, samples = points.copy(), self.free_samples()
            known = samples.number >= len(points)
            kept = samples.nearest(points.mean(axis=0), most=len(points))
            of_known = known[kept.index]
            points[:, known] = kept.y_hat[of_known].reshape(-1, len(points), self.n_y).transpose(1, 0, 2)
            regret[:, known] = kept.regret[of_known].reshape(-1, len(points)).T
        new = np.flatnonzero(~known)
        for k, drawn in enumerate(points):
            if len(new):
                regret[k, new] = self.regret(new, drawn[new], phase="pre-training")
        return points, regret, known

    def decisions_of_others(self) -> tuple[Array, list[PackedDecision]]:
        """y_hat (N, n_y) and the decisions that other runs, or production, had there when this run began."""
        ledger = self.account.charging.ledger
        return (np.empty((0, self.n_y)), []) if ledger is None else decisions_of_others(ledger)

    @renamed_argument("anew", "recompute")
    def solve(self, index: Array, y_hat: Array, *, phase: Phase, recompute: bool = False) -> list[Any]:
        """z*(y_hat), each in memory of its own, or a Failure.

        Args:
            index: (B,) Positions in the rows.
            y_hat: (B, n_y) Predictions for them.
            phase: Purpose of the calls, by which they are counted.
            recompute: Call the solver even if the answer is known.
        """
        decisions = self._solve(self.rows[index], y_hat, phase=phase, recompute=recompute)
        return [z.value() if isinstance(z, PackedDecision) else z for z in decisions]

    @renamed_argument("anew", "recompute")
    def cost(self, index: Array, decisions: Sequence[Any], *, phase: Phase, recompute: bool = False) -> Array:
        """g(y_i, z), (B,); NaN where this call failed, or the solve before it.

        Args:
            index: (B,) Positions in the rows.
            decisions: B decisions.
            phase: Purpose of the calls, by which they are counted.
            recompute: Call `cost` even if the answer is known.
        """
        packed = [z if isinstance(z, Failure) else pack_decision(z) for z in decisions]
        return self.account.cost(self.rows[index], self.Y[index], packed, phase=phase, recompute=recompute)

    def _label_costs(
        self, rows: Array, truth: Array, decisions: Sequence[PackedDecision | Failure], phase: Phase
    ) -> Array:
        each = self.account.label_draws
        if each == 1:
            return self.account.cost(rows, truth, decisions, phase=phase, draws=np.zeros(len(rows), dtype=int))
        again, draws = np.repeat(np.arange(len(rows)), each), np.tile(np.arange(each), len(rows))
        several = [decisions[k] for k in again.tolist()]
        cost = self.account.cost(rows[again], truth[again], several, phase=phase, draws=draws).reshape(-1, each)
        known = ~np.isnan(cost)
        found = known.any(axis=1)
        mean = np.full(len(rows), np.nan)
        mean[found] = np.where(known, cost, 0.0)[found].sum(axis=1) / known[found].sum(axis=1)
        return mean

    def close(self) -> None:
        """Ends the worker processes, if any."""
        self.account.close()

    def _solve(
        self, rows: Array, y_hat: Array, *, phase: Phase, recompute: bool = False
    ) -> list[PackedDecision | Failure]:
        y_hat = self._checked(rows, y_hat)
        return self.account.solve(rows, y_hat, phase=phase, recompute=recompute)[0]

    def _checked(self, rows: Array, y_hat: Array) -> Array:
        """The predictions as the solver gets them: finite, and within the bounds."""
        y_hat = np.asarray(y_hat, dtype=float)
        bad = ~np.isfinite(y_hat).all(axis=1)
        if bad.any():
            raise InputError(f"the prediction for row {rows[bad][0]} is not finite; lower the learning rate")
        return self.problem.within_bounds(y_hat)


NEAR_ZERO = 1e-6  # of the mean cost: nothing is divided by less


def _refuse_near_zero(rows: Array, optimum: Array) -> None:
    """Raise where the best decision of a row costs so little that its relative regret has no meaning."""
    size = np.abs(optimum)
    known = ~np.isnan(size)
    if not known.any() or not len(small := rows[known & (size <= NEAR_ZERO * size[known].mean())]):
        return
    listed = ", ".join(map(str, small[:20].tolist())) + (", ..." if len(small) > 20 else "")
    raise InputError(
        f"regret='relative' divides by the cost of the best decision, which is near 0 for {len(small)} of {len(rows)} "
        f"rows: {listed}. Leave these rows out, add a constant to `cost`, or use regret='absolute'"
    )
