"""Known decisions: every decision that some solve returned is a candidate for every row that shares the problem.

k        number of a decision, N of them, each once          P   (N, d)   the last point u where a solve returned it
C_ik     regret of decision k for row i: a cost call, no solve; asked for when it is first needed

They come from the labels, from what this run pays, and from a ledger: other runs, or the history of production.

Cost calls are not free. All of them together may take as long as half of the solves that the run may pay for, or FREE
seconds where that is less; from there on `TooDear` is raised.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from fewsolves._internal.threads import product
from fewsolves.execution.base import Failure
from fewsolves.execution.encoding import Encoded
from fewsolves.ledger.decision import PackedDecision
from fewsolves.methods.staged.scene import Scene
from fewsolves.oracle import Evaluation
from fewsolves.problem import Array

LARGEST = 5e7  # entries of C
MANY = 256  # pairs are many where they are more than one in so many of C
AT_ONCE, LOOKED_UP = 100_000, 10_000_000  # cost calls, and entries of C, at a time
COPIED = 120_000  # parameters that go with cost calls at a time: with what a cost makes of them, they fit a cache
TIMED = 20  # cost calls that tell what one takes
FREE, SHARE = 10.0, 0.5  # seconds of cost calls that nobody minds; of the seconds of the solves that are allowed


class TooDear(Exception):  # noqa: N818 (it is no fault)
    """Known decisions would cost more than the solves that they save."""


class Pool:
    """The decisions known so far; each row's own best decision is among them."""

    def __init__(self, scene: Scene, allowed: float) -> None:
        """Of a run that may pay `allowed` solves per row."""
        self.scene = scene
        self.decisions: list[Array | Encoded] = []
        self._stack: Array | None = None  # the same in one array, as long as all have one form
        self._numbers: dict[bytes, int] = {}
        self._points = np.empty((64, scene.d))
        # by decision, and as large as it may become: the system gives memory only where something is written
        self._regrets = np.empty((int(LARGEST // scene.n) + 1, scene.n), dtype=np.float32)
        self._known = np.zeros(self._regrets.shape, dtype=bool)
        self._most_known = 0  # entries of C that are known are no more
        everyone = np.arange(scene.n)
        self.optimum = scene.oracle.optimum(everyone)
        self.own = self.add(scene.units(scene.oracle.Y), scene.oracle.packed_labels(everyone))
        y_hat, decisions = scene.oracle.decisions_of_others()
        self.add(scene.units(y_hat), decisions)
        took, measured = self._timed(), scene.oracle.account.measured
        self._cost_seconds = measured("seconds of a cost call", lambda: took)
        pace = measured("seconds of a solve", lambda: scene.oracle.calls.mean_seconds("solve"))
        self._seconds_left = max(FREE, SHARE * allowed * scene.n * pace)

    def __len__(self) -> int:
        return len(self.decisions)

    @property
    def points(self) -> Array:
        """P (N, d)."""
        return self._points[: len(self)]

    @property
    def full(self) -> bool:
        """Whether a decision more would make the table of regrets too large."""
        return bool(self.scene.n * (len(self) + 1) > LARGEST)

    @property
    def calls_left(self) -> float:
        """Cost calls that may still be made."""
        return float(self._seconds_left / self._cost_seconds)

    def add(self, u: Array, decisions: Sequence[PackedDecision | Failure]) -> Array:
        """The numbers (B,) of decisions that solves at u (B, d) returned; -1 for a solve that failed."""
        numbers = np.full(len(u), -1)
        for b, z in enumerate(decisions):
            if isinstance(z, Failure):
                continue
            k = self._numbers.get(z.key)
            if k is None:
                if self.full:
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
        known = (numbers >= 0) & ~np.isnan(paid.regret)
        self._regrets[numbers[known], index[known]] = paid.regret[known]
        self._known[numbers[known], index[known]] = True
        self._most_known += len(known)

    def regret(self, index: Array, numbers: Array) -> Array:
        """C, broadcast over rows and numbers of decisions; NaN where the cost call failed."""
        index, numbers = np.broadcast_arrays(index, numbers)
        if index.size > LOOKED_UP and len(index) > 1:  # their numbers alone would take gigabytes
            parts = zip(np.array_split(index, 2), np.array_split(numbers, 2), strict=True)
            return np.concatenate([self.regret(*part) for part in parts])
        missing = ~self._known[numbers, index]
        if missing.any():
            i, k = _distinct(index[missing], numbers[missing], (self.scene.n, len(self)))
            self._charge(len(i))
            self._most_known += len(i)
            step = max(1, min(AT_ONCE, COPIED // self.scene.d))  # a table's worth of copies of Y would not fit
            for first in range(0, len(i), step):
                some, which = i[first : first + step], k[first : first + step]
                cost = self.scene.oracle.cost_at(some, self.scene.oracle.Y.take(some, axis=0), self.some(which))
                self._regrets[which, some] = cost - self.optimum[some]
                self._known[which, some] = ~np.isnan(cost)
        return np.asarray(self._regrets[numbers, index], dtype=float)

    def refuse_too_many(self, pairs: int) -> None:
        """Raise where so many different pairs are too dear whichever are known: sooner than looking each of them up."""
        if pairs - self._most_known > self.calls_left:
            self._charge(pairs - self._most_known)

    def nearest(self, u: Array, most: int) -> Array:
        """(B, most): numbers of the decisions whose points are nearest to u (B, d)."""
        if most >= len(self):
            return np.broadcast_to(np.arange(len(self)), (len(u), len(self)))
        distance = (self.points**2).sum(1) - product(2 * u, self.points.T)
        return np.argpartition(distance, most - 1, axis=1)[:, :most]

    def model_cost(self, index: Array, u: Array, numbers: Array) -> Array:
        """g(y_hat, z_k) at u (B, M, d) for candidates (B, K) of each row: (B, M, K) cost calls."""
        (n_b, n_m, d), n_k = u.shape, numbers.shape[1]
        self._charge(n_b * n_m * n_k)
        cost, step = np.empty((n_b, n_m, n_k)), max(1, COPIED // max(1, n_m * n_k * d))
        for part in (slice(first, first + step) for first in range(0, n_b, step)):
            y = np.repeat(self.scene.raw(u[part].reshape(-1, d)), n_k, axis=0)
            which = np.repeat(numbers[part, None], n_m, axis=1).ravel()
            asked = self.scene.oracle.cost_at(np.repeat(index[part], n_m * n_k), y, self.some(which))
            cost[part] = asked.reshape(-1, n_m, n_k)
        return cost

    def some(self, numbers: Array) -> Sequence[Array | Encoded] | Array:
        """These decisions, as one array where all have one form."""
        return [self.decisions[k] for k in numbers] if self._stack is None else self._stack.take(numbers, axis=0)

    def _timed(self) -> float:
        """Seconds of a cost call, to a power of two: two runs of one kind should mostly find the same.

        A run that is started again makes these calls too, and so counts as one that was not interrupted.
        """
        oracle, took = self.scene.oracle, []
        few = min(TIMED, self.scene.n)
        batch = few if oracle.problem.cost_batch is None else max(few, min(10 * TIMED, self.scene.n // 4))
        for number in (few, batch):  # the first may compile something; of a batch of many each is quicker
            rows = np.arange(number)[self.own[:number] >= 0]
            before = oracle.calls.seconds_in["cost"]
            oracle.cost_at(rows, oracle.Y[rows], self.some(self.own[rows]))
            took.append((oracle.calls.seconds_in["cost"] - before) / max(1, len(rows)))
        return 2.0 ** math.ceil(math.log2(max(min(took), 1e-9)))

    def _charge(self, calls: int) -> None:
        """Raise where so many cost calls are more than they may take."""
        self._seconds_left -= calls * self._cost_seconds
        if self._seconds_left < 0:
            raise TooDear(f"cost calls take {self._cost_seconds:.2g} s each")

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


def _distinct(index: Array, numbers: Array, shape: tuple[int, int]) -> tuple[Array, Array]:
    """Each pair once, in order; many are marked in a table, which is sooner than sorting them."""
    if len(index) * MANY < shape[0] * shape[1]:
        i, k = np.divmod(np.unique(index * shape[1] + numbers), shape[1])
        return i, k
    marked = np.zeros(shape, dtype=bool)
    marked[index, numbers] = True
    i, k = np.nonzero(marked)
    return i, k
