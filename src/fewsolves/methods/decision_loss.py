"""The default's estimator as a loss for a torch loop of one's own.

    u (B, d)     predictions, in the units of `TrainingRows`
    slope        rho dS/du + w ((R+ - R-) / 2 - rho (S+ - S-) / 2) e / sigma             see `methods.staged.descent`
    loss         mean_B of S_i(u_i), with the slope above

S is a stand-in for the solver over known decisions; R is paid, for some of the rows of a step, until the allowance is
used. Then the stand-in trains alone.
"""

from __future__ import annotations

import dataclasses
import json
import math
import weakref
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor

from fewsolves.data import check_matrix
from fewsolves.errors import BudgetSpent, InputError
from fewsolves.ledger.ledger import open_ledger
from fewsolves.methods.staged.cross_fitting import BATCHED, FREE_CALLS, PLAIN
from fewsolves.methods.staged.descent import Descent, pairs_plan
from fewsolves.methods.staged.pilot import predicting, run_pilot
from fewsolves.methods.staged.pool import CostCallsTooExpensive, Pool
from fewsolves.methods.staged.replicas import Shifts
from fewsolves.methods.staged.rows import TrainingRows
from fewsolves.methods.staged.stand_ins import StandIn, applicable
from fewsolves.methods.staged.tuning import Tuning
from fewsolves.methods.torch_loss import OracleLoss
from fewsolves.oracle import Budget, Calls, Oracle, SolveConfig
from fewsolves.oracle.account import Account
from fewsolves.oracle.config import RegretKind
from fewsolves.predictors.torch_net import by_output
from fewsolves.problem import Array, Problem


class DecisionLoss(OracleLoss):
    """A loss for any torch loop: known decisions, a stand-in for the solver, and paid solves that correct its slope.

    >>> import numpy as np, torch, fewsolves as fs
    >>> X = torch.randn(40, 3, dtype=torch.float64)
    >>> Y = (10 + X @ torch.ones(3, 2).double()).numpy()
    >>> def cost(y, z):
    ...     return float((z + 9 * np.maximum(y - z, 0)).sum())
    >>> problem = fs.Problem(solve=lambda y_hat: y_hat, cost=cost)
    >>> net = torch.nn.Linear(3, 2).double()
    >>> loss = fs.DecisionLoss(problem, Y, solves=4)
    >>> index = torch.arange(8)
    >>> loss(net(X[index]), index).backward()

    Train the network for small prediction errors first: the loss looks around its predictions. It is a torch module
    without parameters, for a plain loop, a `DataLoader` that yields row numbers, or a Lightning module. Predictions may
    be of any float type and on any device; the solves run where they always run. Without gradients (`torch.no_grad`)
    it estimates the regret and pays for nothing.

    Args:
        problem: The problem, or an `Oracle` that has its rows, budget, ledger and workers already.
        Y: (n, n_y) True parameters of the training rows; left out with an oracle.
        instances: Known data of each row, where the problem has any.
        solves: Solves per row of Y that training may pay, after the labels (one per row).
        epochs: Epochs over which these solves are spread. Later epochs pay for nothing.
        seed: The seed of all random numbers.
        budget: The most that may be paid, labels included. When it is spent, the stand-in trains alone. None: no limit
            but `solves`.
        folder: Where everything paid is recorded before it is used. The same loop, started again, pays for nothing on
            record (docs/ledger.md). None: nothing is written. `close` releases the folder.
        solving: How solves run, such as ``fs.SolveConfig(workers=4)``. None: in this process, without limits.
        regret: What is minimised: "absolute", in units of the cost, or "relative": the regret of each row divided by
            the absolute cost of its best decision (docs/problem.md). None: what `solving` says, else "absolute".
    """

    def __init__(
        self,
        problem: Problem | Oracle,
        Y: Any = None,
        *,
        instances: Sequence[Any] | None = None,
        solves: float = 8.0,
        epochs: float = 20.0,
        seed: Any = 0,
        budget: Budget | None = None,
        folder: str | Path | None = None,
        solving: SolveConfig | None = None,
        regret: RegretKind | None = None,
    ) -> None:
        if not solves >= 0 or not epochs > 0:
            raise InputError(f"solves must be at least 0 and epochs above 0, got {solves!r} and {epochs!r}")
        if isinstance(problem, Oracle):
            parts = {"Y": Y, "instances": instances, "budget": budget, "folder": folder, "solving": solving}
            parts["regret"] = regret
            if given := [f"{name}=" for name, value in parts.items() if value is not None]:
                raise InputError(f"an oracle has its rows, budget, ledger and workers: leave {', '.join(given)} out")
            oracle, own = problem, None
        else:
            about = {"method": "decision-loss", "solves": solves, "epochs": epochs, "seed": seed}
            if regret is not None and (solving is None or isinstance(solving, SolveConfig)):
                solving = dataclasses.replace(solving or SolveConfig(), regret=regret)
            oracle = own = _oracle(problem, Y, instances, budget, folder, solving, about)
        super().__init__(oracle)
        # a loop that ends without `close` ends the workers and releases the folder all the same
        self._end = weakref.finalize(self, _closed, own)
        self.rows = TrainingRows(self.oracle, np.random.default_rng(seed))
        self.solves, self.epochs, self.tuning = solves, epochs, Tuning()
        self.pool: Pool | None = None
        self.stand_in: StandIn | None = None
        self._descent: Descent | None = None
        self._visits = 0
        self._last = float("nan")  # mean regret that was paid last

    @property
    def calls(self) -> Calls:
        """The paid calls, by phase."""
        return self.oracle.calls

    def close(self) -> None:
        """End the worker processes and release the folder; an oracle that was given stays open."""
        self._end()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def start(self, y_hat: Tensor) -> None:
        """Pay for the labels, and for some pairs that show which stand-in predicts the regret.

        The first call of the loss does the same with its own rows, if `start` was not called.

        Args:
            y_hat: (n, n_y) Predictions of all rows.
        """
        rows = np.arange(self.rows.n)
        self._begin(rows, self._points(self._by_output(y_hat, len(rows)), rows))

    def forward(self, y_hat: Tensor, index: Tensor) -> Tensor:
        """The loss of some rows, a scalar on the device of the predictions.

        Args:
            y_hat: (B, n_y) Predictions, differentiable; (B,) for one parameter.
            index: (B,) Numbers of these rows in Y, from 0 on.
        """
        rows = self._row_numbers(index)
        y_hat = self._by_output(y_hat, len(rows))
        points = self._points(y_hat, rows)
        if self._descent is None:
            self._begin(rows, points)
        u = self.rows.units(points)
        if not (torch.is_grad_enabled() and y_hat.requires_grad):
            return torch.as_tensor(self._value(rows, u)).to(y_hat)
        self._refresh(len(rows))
        value = self._value(rows, u)
        slope = np.nan_to_num(self._slope(rows, u)) / self.rows.scale.std / len(rows)
        g = torch.as_tensor(slope).to(y_hat)
        return (g * (y_hat - y_hat.detach())).sum() + value

    def _begin(self, index: Array, y_hat: Array) -> None:
        """Labels, the pool, and the stand-in that predicts best around these predictions."""
        rows = self.rows
        rows.oracle.optimum(np.arange(rows.n))  # labels come first
        known = np.full(rows.oracle.Y.shape, np.nan)
        known[index] = y_hat
        rows.shrink_units(known)
        allowed = int(min(self.solves * rows.n, rows.oracle.budget_left.room("online")))
        candidates = self._candidates(allowed)
        pairs = min(len(index), max(self.tuning.pilot_pairs, int(self.tuning.pilot * rows.n)), allowed // 8)
        if len(candidates) > 1 and pairs >= 3 and self.pool is not None:
            some = rows.rng.choice(len(index), pairs, replace=False)
            u = rows.units(y_hat[some])
            signals = run_pilot(rows, self.pool, candidates, index[some], u, self.tuning)
            candidates = predicting(candidates, signals, pairs, self.tuning.behind)
        self._set_out(candidates[0] if candidates else None, max(0, allowed - rows.paid))

    def _candidates(self, allowed: int) -> list[StandIn]:
        problem, left = self.oracle.problem, self.oracle.budget_left
        limit = max(FREE_CALLS, (PLAIN if problem.cost_batch is None else BATCHED) * (self.rows.n + allowed))
        limit = min(limit, left.calls_left("cost", "online") - allowed)
        try:
            self.pool = Pool(self.rows, limit)
            return applicable(self.pool, self.tuning, self.tuning.affordable(limit, 2 * self.epochs, self.rows.n))
        except CostCallsTooExpensive:
            return []

    def _set_out(self, stand_in: StandIn | None, solves: int) -> None:
        rows, self.stand_in = self.rows, stand_in
        tuning = self.tuning if stand_in is None else stand_in.tuning
        plan = pairs_plan(solves, rows, tuning) if stand_in is None else stand_in.plan(solves, rows.paid)
        no_models = Shifts(np.empty((0, rows.d)), [])
        self._descent = Descent(rows, no_models, self.pool, stand_in, tuning)
        self._descent.begin(dataclasses.replace(plan, solves=solves), 0.0)
        self._each = solves / (self.epochs * rows.n)  # solves per visit of a row
        if stand_in is not None:
            stand_in.refresh()

    def _refresh(self, visits: int) -> None:
        """Once per epoch the stand-in takes in what the pool has learned."""
        self._visits += visits
        if self._visits >= self.rows.n:
            self._visits = 0
            if self.stand_in is not None and self._descent is not None and self._descent.plan.grow:
                self.stand_in.refresh()

    def _slope(self, rows: Array, u: Array) -> Array:
        """(B, d): dR/du; where the budget or the cost calls are used up, by what is left."""
        assert self._descent is not None
        self._descent.per_step = self._each * len(rows)
        try:
            return self._descent.gradient(rows, u)
        except BudgetSpent:
            self._set_out(self.stand_in, 0)
        except CostCallsTooExpensive:
            self._set_out(None, max(0, int(self.solves * self.rows.n) - self.rows.paid))
        return self._descent.gradient(rows, u)

    def _value(self, rows: Array, u: Array) -> float:
        """The mean regret of these rows, as the stand-in estimates it; NaN where nothing is known."""
        if self.stand_in is None:
            return self._last
        try:
            found = self.stand_in.value(rows, u, u[:, None])[:, 0]
        except (CostCallsTooExpensive, BudgetSpent):
            return self._last
        known = found[~np.isnan(found)]
        self._last = float(known.mean()) if len(known) else math.nan
        return self._last

    def _row_numbers(self, index: Any) -> Array:
        """(B,) Numbers of rows of Y, in this process."""
        rows: Array = torch.as_tensor(index).detach().cpu().numpy()
        if rows.ndim != 1 or not len(rows) or rows.dtype.kind not in "iu":
            raise InputError(
                f"index must be the numbers of at least one row of Y, a vector of integers; got {rows.dtype} of shape "
                f"{rows.shape}"
            )
        if len(odd := np.flatnonzero((rows < 0) | (rows >= self.rows.n))):
            raise InputError(
                f"index has {rows[odd[0]]} at position {odd[0]}; Y has {self.rows.n} rows, numbered from 0: give the "
                f"number that each row has in Y"
            )
        return rows

    def _by_output(self, y_hat: Any, n: int) -> Tensor:
        """Predictions (n, n_y), differentiable where they were."""
        if not isinstance(y_hat, Tensor) or not y_hat.is_floating_point():
            kind = y_hat.dtype if isinstance(y_hat, Tensor) else type(y_hat).__name__
            raise InputError(f"predictions must be a torch tensor of floating-point numbers, got {kind}")
        if y_hat.is_meta:
            raise InputError("predictions on the device 'meta' have no values; move the network to another device")
        found = by_output(y_hat)
        if found.shape != (n, self.rows.d):
            raise InputError(f"expected predictions of shape {(n, self.rows.d)}, got {tuple(y_hat.shape)}")
        return found

    def _points(self, y_hat: Tensor, rows: Array) -> Array:
        """The same as float64 in this process, within the bounds."""
        points: Array = y_hat.detach().cpu().double().numpy()
        if not (finite := np.isfinite(points).all(axis=1)).all():
            raise InputError(f"the prediction of row {rows[np.argmin(finite)]} is not finite; lower the learning rate")
        return self.oracle.problem.within_bounds(points)


def _oracle(
    problem: Problem,
    Y: Any,
    instances: Sequence[Any] | None,
    budget: Budget | None,
    folder: str | Path | None,
    solving: SolveConfig | None,
    about: Mapping[str, Any],
) -> Oracle:
    """An oracle of these rows; `about` identifies the run in its ledger."""
    if not isinstance(problem, Problem):
        raise InputError(f"problem must be a Problem or an Oracle, got {problem!r:.80}")
    if Y is None:
        raise InputError("Y is missing: give the true parameters of the training rows, (n, n_y)")
    for name, given, kind in (("budget", budget, Budget), ("solving", solving, SolveConfig)):
        if given is not None and not isinstance(given, kind):
            raise InputError(f"{name} must be an fs.{kind.__name__}, got {given!r:.80}")
    matrix = check_matrix("Y", np.reshape(Y, (-1, 1)) if np.ndim(Y) == 1 else Y)
    problem, solving = problem if instances is None else problem.with_instances(instances), solving or SolveConfig()
    problem.check_instances(len(matrix))
    problem.check_bounds(matrix)
    ledger = None
    if folder is not None:
        about = {**about, "regret": solving.regret}
        identity = sha256(json.dumps(about, sort_keys=True, default=repr).encode()).hexdigest()[:32]
        failures = solving.on_failure != "raise"
        ledger = open_ledger(Path(folder), problem, matrix, identity=identity, about=about, replays_failures=failures)
    try:
        account = Account(problem, solving=solving, budget=budget, ledger=ledger, n_rows=len(matrix))
        return Oracle(problem, matrix, account=account)
    except BaseException:
        if ledger is not None:
            ledger.close()
        raise


def _closed(oracle: Oracle | None) -> None:
    """Close an oracle, and its ledger."""
    if oracle is None:
        return
    oracle.close()
    if oracle.ledger is not None:
        oracle.ledger.close()
