"""Background solves: evaluations that are paid for by a thread while training goes on.

One thread pays, through `Oracle.regret` as everyone does, and shares a fair lock with whoever else asks the
oracle. So counts, budget, memory and ledger see one caller at a time, and what lands is on record before it is handed
on.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from fewsolves.errors import BudgetSpent
from fewsolves.oracle.view import Oracle
from fewsolves.problem import Array

GROUP = 4  # points per worker that are paid at a time: few, for whoever waits for the lock; enough to keep all busy


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
        """Have them paid for; returns at once."""
        with self._news:
            self._sent.extend(points)
            self._news.notify_all()
        if self._thread is None and points:
            self._thread = threading.Thread(target=self._pay, name="background solves", daemon=True)
            self._thread.start()

    def landed(self) -> list[tuple[SentPoint, float]]:
        """Points with their regrets, each once; NaN where nothing came of it. Raises what the solver raised."""
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
            self.oracle.account.check()  # somebody may have asked to stop

    def close(self) -> None:
        """What was sent and not begun is dropped, unpaid; what is under way lands first, if it does in time."""
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
                pass  # nothing came of it
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
            most = GROUP * self.oracle.solving.workers
            self._under_way = [self._sent.popleft() for _ in range(min(most, len(self._sent)))]
            return self._under_way
