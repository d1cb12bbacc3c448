"""Background solves: evaluations that are paid for by a thread while training goes on.

One thread pays, through `Oracle.regret` as all callers do, and shares a fair lock with the other callers. So counts,
budget, memory and ledger see one caller at a time, and an answer is recorded before it is returned.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from fewsolves.errors import BudgetSpent, NotSupportedError
from fewsolves.oracle.view import Oracle
from fewsolves.problem import Array

POINTS_PER_WORKER = 4  # paid at a time: few enough to release the lock soon, enough to keep all workers busy


class SentPoint(NamedTuple):
    """One point to evaluate."""

    row: int  # position in the oracle's rows
    y_hat: Array  # (n_y,)
    mark: int  # for `wait`: points with lower marks are older
    centre: Array  # (n_y,) of the Normal that y_hat was drawn from
    sigma: Array  # (n_y,) its standard deviation


class BackgroundSolves:
    """Points that were sent, in the order of sending."""

    def __init__(self, oracle: Oracle) -> None:
        self.oracle = oracle
        self._sent: deque[SentPoint] = deque()
        self._under_way: list[SentPoint] = []
        self._landed: list[tuple[SentPoint, float]] = []
        self._fault: BaseException | None = None
        self._closed = False
        self._news = threading.Condition()
        self._thread: threading.Thread | None = None
        oracle.account.before_close(self.close)

    def send(self, points: Sequence[SentPoint]) -> None:
        """Queue points for payment; returns at once."""
        with self._news:
            self._sent.extend(points)
            self._news.notify_all()
        if self._thread is None and points:
            self._thread = threading.Thread(target=self._pay, name="background solves", daemon=True)
            try:
                self._thread.start()
            except RuntimeError as error:
                self._thread = None
                raise NotSupportedError(
                    f"solves beside the training need a thread, and none can be started ({error}): give this program "
                    f"more memory or more threads (`ulimit -v`, `ulimit -u`), or leave asynchronous=True out"
                ) from error

    def landed(self) -> list[tuple[SentPoint, float]]:
        """Points with their regrets, each once; NaN if there is no answer. Raises what the solver raised."""
        with self._news:
            if self._fault is not None:
                raise self._fault
            landed, self._landed = self._landed, []
        return landed

    def wait(self, mark: float = float("inf")) -> None:
        """Until all points with a lower mark have landed."""
        while True:
            with self._news:
                if self._fault is not None or not any(point.mark < mark for point in self._open()):
                    return
                self._news.wait(timeout=1.0)
            self.oracle.account.check()  # the user may have stopped the run

    def close(self) -> None:
        """Drop the points that have not begun, unpaid; wait for those under way, within the grace period."""
        with self._news:
            self._closed = True
            self._sent.clear()
            self._news.notify_all()
        if self._thread is not None:
            finish = getattr(self.oracle.account.execution, "finish", None)
            if finish is not None:
                finish(self.oracle.solving.grace)
            self._thread.join(self.oracle.solving.grace)

    def _open(self) -> list[SentPoint]:
        return [*self._under_way, *self._sent]

    def _pay(self) -> None:
        while (group := self._next()) is not None:
            regret = np.full(len(group), np.nan)
            try:
                index, y_hat, _, centre, sigma = (np.stack(column) for column in zip(*group, strict=True))
                regret = self.oracle.regret(index, y_hat, phase="online", drawn=(centre, sigma))
            except BudgetSpent:
                pass  # no answer
            except BaseException as error:
                self._fault = error
            with self._news:
                self._under_way = []
                self._landed.extend(zip(group, map(float, regret), strict=True))
                self._news.notify_all()

    def _next(self) -> list[SentPoint] | None:
        with self._news:
            self._news.wait_for(lambda: self._sent or self._closed)
            if self._closed or self._fault is not None:
                return None
            most = POINTS_PER_WORKER * self.oracle.solving.workers
            self._under_way = [self._sent.popleft() for _ in range(min(most, len(self._sent)))]
            return self._under_way
