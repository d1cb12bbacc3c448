"""What other runs, or a production system, have paid for: free samples of the regret.

The only door to the user's functions: evaluates regret, counts, remembers.

    r_i(y_hat) = g(y_i, z*(y_hat)) - g(y_i, z*(y_i))

index  (B,)      positions in this oracle's rows       y_hat (B, n_y)  predictions for them
Rows keep their number in the user's table (`rows`), so that errors name them and parts share what was paid.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from fewsolves.errors import InputError
from fewsolves.execution.base import Failure, Kind, Phase, some
from fewsolves.ledger.keys import cost_keys, solve_keys
from fewsolves.ledger.ledger import Ledger
from fewsolves.ledger.reading import known_to
from fewsolves.ledger.rows import Found, Request
from fewsolves.oracle.account import look_up
from fewsolves.oracle.budget import Budget, Purse
from fewsolves.oracle.calls import Calls
from fewsolves.oracle.config import SolveConfig
from fewsolves.oracle.failures import Failures
from fewsolves.oracle.lock import FairLock
from fewsolves.oracle.memory import Memory, first_of_each
from fewsolves.problem import Array, Problem


@dataclass(frozen=True)
class Known:
    """N evaluations of the rows of an oracle, in the order of payment."""

    index: Array  # (N,) positions in the oracle's rows
    y_hat: Array  # (N, n_y)
    regret: Array  # (N,)
    number: Array  # (M,) how many of each row

    def nearest(self, to: Array, most: int | None = None) -> Known:
        """At most so many of each row, sorted by row and then by their distance from `to` (M, n_y)."""
        distance = np.linalg.norm(self.y_hat - to[self.index], axis=1)
        order = np.lexsort((distance, self.index))
        sorted_index = self.index[order]
        first = np.searchsorted(sorted_index, sorted_index)  # where the row of each begins
        kept = order if most is None else order[np.arange(len(order)) - first < most]
        return known_of(self.index[kept], self.y_hat[kept], self.regret[kept], len(self.number))


def known_of(index: Array, y_hat: Array, regret: Array, n_rows: int) -> Known:
    """With their numbers."""
    return Known(index, y_hat, regret, np.bincount(index, minlength=n_rows))


Keep = Callable[[int, Any], None]
Drawn = tuple[Array, Array]  # centre (B, n_y) and standard deviation (n_y,) or (B, n_y) of a Normal, in the units of y


class Evaluation(NamedTuple):
    """Regret (B,) and true cost (B,) of B predictions, and the decisions they led to."""

    regret: Array
    cost: Array
    decisions: list[Array]


class Oracle:
    """Regret of predictions for the rows of a table of true parameters Y (n, n_y)."""

    def __init__(
        self,
        problem: Problem,
        Y: Array,
        *,
        solving: SolveConfig | None = None,
        budget: Budget | None = None,
        ledger: Ledger | None = None,
    ) -> None:
        if problem.instances is not None and len(problem.instances) != len(Y):
            raise InputError(f"instances has {len(problem.instances)} entries, Y has {len(Y)} rows; give one per row")
        self.problem = problem
        self.Y = np.ascontiguousarray(Y, dtype=float)
        self.rows = np.arange(len(Y))
        self.calls = Calls()
        self.purse = Purse(budget or Budget(), self.calls)
        self.memory = Memory()
        self.ledger = ledger
        self.solving = solving or SolveConfig()
        self.execution = self.solving.start(problem)
        self.failures = Failures(self.solving)
        self.turns: FairLock | nullcontext[None] = FairLock() if self.solving.asynchronous else nullcontext()
        self.after_answers: Callable[[], None] = lambda: None  # may raise, once what landed is on record
        self.before_close: list[Callable[[], None]] = []

    def part(self, index: Array) -> Oracle:
        """The same oracle over some of its rows; calls and memory are shared."""
        part = object.__new__(Oracle)
        part.__dict__.update(self.__dict__, Y=self.Y[index], rows=self.rows[index])
        return part

    @property
    def _ledger(self) -> Ledger | None:
        """The ledger, as long as it is open: an oracle may be asked after its run."""
        return None if self.ledger is None or self.ledger.closed else self.ledger

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def n_y(self) -> int:
        return int(self.Y.shape[1])

    def evaluate(self, index: Array, y_hat: Array, *, phase: Phase, drawn: Drawn | None = None) -> Evaluation:
        """Solve at y_hat, pay the true cost, compare with the best that could have been done.

        `drawn` goes into the ledger: the distribution that y_hat was drawn from.
        """
        with self.turns:
            optimum = self.optimum(index, phase="test" if phase == "test" else "labels")
            self.calls.evaluations[phase] += len(index)
            decisions = self.solve(index, y_hat, phase=phase, drawn=drawn, wait=False)
            cost = self.cost(index, decisions, phase=phase, y_hat=y_hat)
            if self._ledger is not None:
                self._ledger.barrier()  # of solves that no cost call had to wait for
            regret = self.failures.regret(cost, optimum)
            if phase != "test":
                paid = ~np.isnan(cost - optimum)
                self.calls.saw(regret[paid], cost[paid])
            return Evaluation(regret, cost, decisions)

    def regret(self, index: Array, y_hat: Array, *, phase: Phase, drawn: Drawn | None = None) -> Array:
        """r_i(y_hat), (B,)."""
        return self.evaluate(index, y_hat, phase=phase, drawn=drawn).regret

    def labels(self, index: Array, *, phase: Phase = "labels") -> list[Array]:
        """z*(y_i), solved once."""
        return self.solve(index, self.Y[index], phase=phase)

    def optimum(self, index: Array, *, phase: Phase = "labels") -> Array:
        """g(y_i, z*(y_i)), paid once."""
        rows, known = self.rows[index], self.memory.optima
        if new := [k for k, row in enumerate(rows.tolist()) if row not in known]:
            cost = self.cost(index[new], self.labels(index[new], phase=phase), phase=phase)
            known.update(zip(rows[new].tolist(), cost.tolist(), strict=True))
        return np.array([known[row] for row in rows.tolist()])

    def known(self) -> Known:
        """What others had paid for when this run began, without labels and tests; empty without a ledger."""
        found = None
        if self._ledger is not None and self.problem.deterministic:
            found = known_to(self._ledger)
        if found is None or not (mine := np.isin(found[0], self.rows)).any():
            return known_of(np.empty(0, dtype=int), np.empty((0, self.n_y)), np.empty(0), len(self))
        rows, y_hat, cost = (part[mine] for part in found)
        order = np.argsort(self.rows)
        index = order[np.searchsorted(self.rows, rows, sorter=order)]
        regret = cost - self.optimum(index)
        whole = ~np.isnan(regret)
        return known_of(index[whole], y_hat[whole], regret[whole], len(self))

    def solve(
        self, index: Array, y_hat: Array, *, phase: Phase, drawn: Drawn | None = None, wait: bool = True
    ) -> list[Array]:
        """z*(y_hat); a point that was solved before is not paid again."""
        rows = self.rows[index]
        y_hat = np.asarray(y_hat, dtype=float)
        bad = ~np.isfinite(y_hat).all(axis=1)
        if bad.any():
            raise InputError(f"the prediction for row {rows[bad][0]} is not finite; lower the learning rate")
        if not self.problem.deterministic and phase != "labels":
            return self.pay("solve", phase, rows, y_hat, drawn=drawn, wait=wait)
        keys = solve_keys(rows, y_hat, own=self.problem.instances is not None)
        known = self.memory.decisions
        new = self._new("solve", keys, known)
        if new:
            how = None if drawn is None else (drawn[0][new], np.broadcast_to(drawn[1], drawn[0].shape)[new])
            self.pay(
                "solve",
                phase,
                rows[new],
                y_hat[new],
                keep=lambda k, z: known.update({keys[new[k]]: z}),
                drawn=how,
                wait=wait,
            )
        return [known[key] for key in keys]

    def cost(self, index: Array, decisions: Sequence[Array], *, phase: Phase, y_hat: Array | None = None) -> Array:
        """g(y_i, z), (B,); the same decision for the same row is not paid again. `y_hat` led to the decisions.

        NaN where this call failed, or the solve before it.
        """
        solved = np.array([not isinstance(z, Failure) for z in decisions])
        if not solved.all():
            costs, at = np.full(len(solved), np.nan), None if y_hat is None else y_hat[solved]
            if solved.any():
                costs[solved] = self.cost(index[solved], some(decisions, solved.nonzero()[0]), phase=phase, y_hat=at)
            return costs
        rows = self.rows[index]
        keys = cost_keys(rows, decisions)
        known = self.memory.costs
        new = self._new("cost", keys, known)
        if new:
            columns = self.Y[index][new], [decisions[k] for k in new]
            solved_at = None if y_hat is None else y_hat[new]
            keep = lambda k, g: known.update({keys[new[k]]: g})  # noqa: E731
            self.pay("cost", phase, rows[new], *columns, keep=keep, solved_at=solved_at)
        return np.array([np.nan if isinstance(g := known[key], Failure) else g for key in keys])

    def pay(
        self,
        kind: Kind,
        phase: Phase,
        rows: Array,
        *columns: Any,
        keep: Keep | None = None,
        drawn: Drawn | None = None,
        solved_at: Array | None = None,
        wait: bool = True,
    ) -> list[Any]:
        """Call the user's function for these rows; `keep` gets the position and value of each answer as it lands.

        What the ledger knows is taken from there, and the rest is on record before it is used, with how the points of a
        solve were `drawn` and where the decisions of a cost call were `solved_at`. Without `wait`, the caller waits.
        """
        requests: list[Request] = []
        found: dict[int, Found] = {}
        if self._ledger is not None:
            requests, found = look_up(self._ledger, self.problem, kind, phase, rows, columns, drawn, solved_at)
        self.purse.admit(kind, phase, len(rows) - sum(not one.own for one in found.values()))
        if self._ledger is not None:
            self._ledger.made(requests)
        values: list[Any] = [None] * len(rows)

        def take(k: int, value: Any, attempts: int) -> None:
            if isinstance(value, Failure):
                self.failures.settle(kind, int(rows[k]), value, attempts)
            values[k] = value
            if keep is not None:
                keep(k, value)

        to_pay, ask_for = np.arange(len(rows)), rows
        if found:
            for k, one in found.items():
                attempts = one.attempts if one.own else 1
                self.calls.recall(kind, phase, one.seconds, own=one.own, attempts=attempts)
                self.failures.recalled(int(rows[k]), one.value, attempts)
                take(k, one.value, attempts)
            to_pay = np.array([k for k in range(len(rows)) if k not in found], dtype=int)
            if len(to_pay) == 0:
                return values
            self.purse.go_on(phase)
            ask_for, columns = rows[to_pay], tuple(some(column, to_pay) for column in columns)
        left = len(to_pay)
        try:
            for answers in self.failures.answered(
                getattr(self.execution, kind),
                ask_for,
                columns,
                paid=lambda number, seconds: self.calls.add(kind, phase, number, seconds),
                affordable=lambda number: self.purse.affords(kind, phase, number),
            ):
                if self._ledger is not None:
                    landed = [requests[k] for k in to_pay[answers.at]]
                    self._ledger.record(landed, answers.values, answers.seconds, answers.attempts)
                at = to_pay[answers.at].tolist()
                for k, value, attempts in zip(at, answers.values, answers.attempts, strict=True):
                    take(k, value, attempts)
                self.after_answers()
                left -= len(answers.at)
                if left:
                    self.purse.go_on(phase)
        finally:
            if self._ledger is not None and wait:
                self._ledger.barrier()
        return values

    def _new(self, kind: Kind, keys: Sequence[bytes], known: dict[bytes, Any]) -> list[int]:
        """Positions of what is to be paid for; what a run before this one remembers is no news."""
        if self._ledger is not None:
            known.update(self._ledger.recall(kind, [key for key in keys if key not in known]))
        return first_of_each(keys, known)

    def close(self) -> None:
        """Ends the worker processes, if any."""
        for close in self.before_close:
            close()
        self.execution.close()
