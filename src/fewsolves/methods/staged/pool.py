"""Known decisions: every decision that some solve returned is a candidate for every row that can price it.

k        number of a decision, N of them, each once          P   (N, d)   the last point u where a solve returned it
C_ik     regret of decision k for row i, under the known data of row i: a cost call, made when it is first needed

Decisions come from the labels, from what this run pays, and from a ledger: other runs, or the history of production.
A decision that a row cannot price (its cost fails) is no candidate for that row.

A row of a table of up to 3,000 rows looks at all decisions, and every C_ik is kept. A row of a larger table looks at
its own decision and at the last 4,000, and C_ik is priced whenever it is needed: then neither the memory nor the time
of a row grows with the table. Labels enter in a random order, so that the last of them are a sample.

Cost calls are bounded by a count, never by the clock, so that a run is a function of data, settings and seed.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any

import numpy as np

from fewsolves._internal.dense import fitting
from fewsolves._internal.threads import product
from fewsolves.errors import FewsolvesWarning
from fewsolves.execution.base import Failure
from fewsolves.execution.encoding import Encoded
from fewsolves.ledger.decision import PackedDecision, pack_list, unpack_list
from fewsolves.methods.staged.rows import TrainingRows
from fewsolves.oracle import Evaluation
from fewsolves.problem import Array

SLOW_SECONDS = 300.0  # of all cost calls, from which on the user is warned
WHOLE_ROWS = 3000  # rows of a table up to which all decisions are searched, and C is kept
SEARCHED = 4000  # decisions that each row of a larger table looks at beside its own
TABLE_ENTRIES = 5e7  # entries of C
CALLS_AT_ONCE = 100_000  # cost calls in one request
NUMBERS_AT_ONCE = 120_000  # parameters in one request: with what a cost function makes of them they fit a cache
ENTRIES_AT_ONCE = 10_000_000  # entries of C that are looked up at a time: their numbers alone would take gigabytes


class CostCallsTooExpensive(Exception):  # noqa: N818 (not an error)
    """The allowed number of cost calls is used up."""


def warn_of_slow_costs(rows: TrainingRows, calls: float, solves: int) -> None:
    """Warn where this many cost calls would take minutes and longer than the solves, by the times of the labels.

    The clock decides about the warning alone, and never about the number of calls.
    """
    spent, paid = rows.oracle.account.calls.seconds_in, rows.oracle.account.calls.total
    cost, solve = (spent[kind] / max(1, paid(kind)) for kind in ("cost", "solve"))
    if calls * cost > max(SLOW_SECONDS, solves * solve):
        warnings.warn(
            f"A call of `cost` takes about {1000 * cost:.2g} ms, and up to {calls:,.0f} of them are allowed at known "
            f"decisions: up to {calls * cost / 60:,.0f} minutes, where the solves take {solves * solve / 60:.2g}. "
            "Give `cost_batch`, or fewer calls per solve: settings={'cost_calls': 20}; 0 trains by pairs alone.",
            FewsolvesWarning,
            stacklevel=2,
        )


class Pool:
    """The decisions known so far; `cost_calls` bounds the calls of `cost` at known decisions."""

    def __init__(self, rows: TrainingRows, cost_calls: float) -> None:
        self.rows, self.calls_left = rows, cost_calls
        self.decisions: list[Array | Encoded] = []
        self._stack: Array | None = None  # the same in one array, as long as all have one form
        self._numbers: dict[bytes, int] = {}
        self._points = np.empty((64, rows.d))
        self.whole = rows.n <= WHOLE_ROWS
        # by decision, and as large as it may become: the system gives memory only where something is written
        self._regrets = np.empty((int(TABLE_ENTRIES // rows.n) + 1 if self.whole else 0, rows.n), dtype=np.float32)
        self._known = np.zeros(self._regrets.shape, dtype=bool)
        everyone = np.arange(rows.n)
        self.optimum, self.units = rows.oracle.optimum(everyone), rows.oracle.regret_units(everyone)
        # of a fixed seed: a run that continues numbers them likewise
        order = everyone if self.whole else np.random.default_rng(0).permutation(rows.n)
        self.own = np.empty(rows.n, dtype=int)
        self.own[order] = self.add(rows.units(rows.oracle.Y[order]), rows.oracle.packed_labels(order))
        y_hat, decisions = rows.oracle.decisions_of_others()
        self.add(rows.units(y_hat), decisions)
        self._given = len(self)  # decisions that this run has not paid for after its labels

    def __len__(self) -> int:
        return len(self.decisions)

    @property
    def points(self) -> Array:
        """P (N, d)."""
        return self._points[: len(self)]

    @property
    def first(self) -> int:
        """The first of the decisions that every row looks at."""
        return 0 if self.whole else max(0, len(self) - SEARCHED)

    def add(self, u: Array, decisions: Sequence[PackedDecision | Failure]) -> Array:
        """The numbers (B,) of decisions that solves at u (B, d) returned; -1 for a solve that failed."""
        numbers = np.full(len(u), -1)
        for b, z in enumerate(decisions):
            if isinstance(z, Failure):
                continue
            k = self._numbers.get(z.key)
            if k is None:
                if self.whole and len(self) + 1 >= len(self._regrets):  # the table of regrets is full
                    continue
                k = self._numbers[z.key] = len(self)
                self.decisions.append(z.argument())
                self._make_room(self.decisions[-1])
            self._points[k] = u[b]
            numbers[b] = k
        return numbers

    def learn(self, index: Array, u: Array, paid: Evaluation) -> None:
        """Take in what these rows paid for."""
        numbers = self.add(u, paid.decisions)
        if not self.whole:
            return
        known = (numbers >= 0) & ~np.isnan(paid.regret)
        self._regrets[numbers[known], index[known]] = paid.regret[known]
        self._known[numbers[known], index[known]] = True

    def regret(self, index: Array, numbers: Array) -> Array:
        """C, broadcast over rows and numbers of decisions; NaN where the row cannot price the decision."""
        index, numbers = np.broadcast_arrays(index, numbers)
        if index.size > ENTRIES_AT_ONCE and len(index) > 1:
            parts = zip(np.array_split(index, 2), np.array_split(numbers, 2), strict=True)
            return np.concatenate([self.regret(*part) for part in parts])
        if not self.whole:
            return self._price(index.ravel(), numbers.ravel()).reshape(index.shape)
        missing = ~self._known[numbers, index]
        if missing.any():
            pairs = np.unique(index[missing].astype(np.int64) * len(self) + numbers[missing])
            i, k = np.divmod(pairs, len(self))
            self._regrets[k, i] = self._price(i, k)
            self._known[k, i] = True
        return np.asarray(self._regrets[numbers, index], dtype=float)

    def _price(self, i: Array, k: Array) -> Array:
        """C of these pairs, by a cost call each."""
        self.charge(len(i))
        regret, step = np.empty(len(i)), max(1, min(CALLS_AT_ONCE, NUMBERS_AT_ONCE // self.rows.d))
        for part in (slice(first, first + step) for first in range(0, len(i), step)):
            rows = i[part]
            cost = self.rows.oracle.cost_at(rows, self.rows.oracle.Y.take(rows, axis=0), self.some(k[part]))
            regret[part] = (cost - self.optimum[rows]) / self.units[rows]
        return regret

    def nearest(self, u: Array, most: int) -> Array:
        """(B, most): numbers of the decisions, of those that are searched, whose points are nearest to u (B, d)."""
        if most >= len(self):
            return np.broadcast_to(np.arange(len(self)), (len(u), len(self)))
        points = self.points[self.first :]
        distance = (points**2).sum(1) - product(2 * u, points.T)
        return self.first + np.argpartition(distance, most - 1, axis=1)[:, :most]

    def model_cost(self, index: Array, u: Array, numbers: Array) -> Array:
        """g(y_hat, z_k) at u (B, M, d) for candidates (B, K) of each row: (B, M, K), infinite where a call fails."""
        (n_b, n_m, d), n_k = u.shape, numbers.shape[1]
        self.charge(n_b * n_m * n_k)
        cost, step = np.empty((n_b, n_m, n_k)), max(1, NUMBERS_AT_ONCE // max(1, n_m * n_k * d))
        for part in (slice(first, first + step) for first in range(0, n_b, step)):
            y = np.repeat(self.rows.raw(u[part].reshape(-1, d)), n_k, axis=0)
            which = np.repeat(numbers[part, None], n_m, axis=1).ravel()
            values = self.rows.oracle.cost_at(np.repeat(index[part], n_m * n_k), y, self.some(which))
            cost[part] = values.reshape(-1, n_m, n_k)
        return np.where(np.isnan(cost), np.inf, cost)

    def some(self, numbers: Array) -> Sequence[Array | Encoded] | Array:
        """These decisions, as one array where all have one form."""
        return [self.decisions[k] for k in numbers] if self._stack is None else self._stack.take(numbers, axis=0)

    def charge(self, calls: int) -> None:
        """Raise where this many more cost calls are not allowed."""
        if calls > self.calls_left:
            raise CostCallsTooExpensive
        self.calls_left -= calls

    def state(self) -> dict[str, Any]:
        """What a pool over the same rows lacks."""
        n = len(self) if self.whole else 0
        known = self._known[:n]
        return {
            "given": self._digest(),
            "decisions": pack_list(self.decisions[self._given :]),
            "points": self.points.copy(),
            "known": np.packbits(known),
            "regrets": self._regrets[:n][known],
            "calls_left": self.calls_left,
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take what `state` returned; ValueError where this pool began with other decisions."""
        if state["given"] != self._digest():
            raise ValueError("the run began with other known decisions")
        for z in unpack_list(state["decisions"]):
            self._numbers[z.key] = len(self)
            self.decisions.append(z.argument())
            self._make_room(self.decisions[-1])
        self.points[:] = fitting("points", state["points"], (len(self), self.rows.d))
        n = len(self) if self.whole else 0
        self._known[:n] = np.unpackbits(state["known"], count=n * self.rows.n).reshape(n, self.rows.n)
        self._regrets[:n][self._known[:n]] = state["regrets"]
        self.calls_left = state["calls_left"]

    def _digest(self) -> str:
        """Of the decisions that it began with."""
        return sha256(b"".join(list(self._numbers)[: self._given])).hexdigest()

    def _make_room(self, new: Array | Encoded) -> None:
        if not isinstance(new, np.ndarray):
            self._stack = None
        elif len(self) == 1:
            self._stack = np.empty((len(self._points), *new.shape), dtype=new.dtype)
        elif self._stack is not None and (self._stack.shape[1:] != new.shape or self._stack.dtype != new.dtype):
            self._stack = None
        if len(self) > len(self._points):
            self._points = np.concatenate([self._points, np.empty_like(self._points)])
            if self._stack is not None:
                self._stack = np.concatenate([self._stack, np.empty_like(self._stack)])
        if self._stack is not None:
            self._stack[len(self) - 1] = new
