"""Failure policy: a call that failed is tried again where the cause may pass, then the user's policy holds, and a run
that mostly fails is ended.

    retries    one more attempt, in a fresh process, after a crash, a time-out or want of memory; two after the process
               was lost to something outside (its machine, an operator); one for each row of a batch that failed, by
               itself; none where the function itself raised or returned something unusable, as it would again. Every
               attempt is counted as paid, and none is made that the budget does not cover.
    raise      the run ends with the first failure that remains
    skip       its regret is NaN, which has no weight in any loss or reading
    penalise   its regret is `penalty`, or else the largest seen so far in this run, but no less than the spread of the
               costs of the best decisions
    stop       whatever the policy, a run ends when at least five calls and more than half of all have failed
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, get_type_hints

import numpy as np

from fewsolves._internal.kinds import check_kinds
from fewsolves.errors import SolverError, reproduction
from fewsolves.execution.base import Answers, Failure, Kind, some
from fewsolves.oracle.config import SolveConfig
from fewsolves.problem import Array

RETRIES: dict[str, int] = {"crash": 1, "timeout": 1, "out-of-memory": 1, "lost": 2, "batch": 1}
MIN_FAILURES_TO_STOP, FAILED_SHARE_TO_STOP = (
    5,
    0.5,
)  # failed calls at which a run stops, and the share of all that they must exceed
LISTED_FAILURES = 20  # failures that result.json lists

STATE = {
    "failed": list[list[Any]],
    "calls": int,
    "causes": dict[str, int],
    "first": list[tuple[int, str]],
    "largest": float,
    "optima": tuple[float, float] | None,
}


class Failed(NamedTuple):
    """A call without an answer, after all attempts."""

    row: int  #: of the table
    kind: str  #: "solve" or "cost"
    status: str  #: the cause: "error", "bad-return", "timeout", "crash", "out-of-memory" or "lost"
    message: str  #: in a sentence
    attempts: int  #: how often it was tried
    y_hat: list[float] | None = None  #: of a solve: the prediction; not recorded by older versions
    call: str | None = None  #: the call in Python, to see it again


class Failures:
    """The failures of one run, and the regret of a failed call."""

    def __init__(self, config: SolveConfig) -> None:
        self.policy, self._penalty = config.on_failure, config.penalty
        self.stops = True  # whether a run that mostly fails ends
        self.failed: list[Failed] = []
        self._calls = 0  # attempts, of solve and of cost
        self._causes: Counter[str] = Counter()  # of attempts that failed
        self._first: list[tuple[int, str]] = []
        self._largest, self._optima = 0.0, (np.inf, -np.inf)

    def answered(
        self,
        run: Callable[..., Iterator[Answers]],
        rows: Array,
        columns: Sequence[Any],
        *,
        paid: Callable[[int, float], None],
        affordable: Callable[[int], int],
    ) -> Iterator[Answers]:
        """Answer each row once, after its retries; `paid` is called for each attempt, `affordable` before a retry."""
        attempts, spent, failed = np.ones(len(rows), dtype=int), np.zeros(len(rows)), Counter[tuple[int, str]]()
        left = np.arange(len(rows))
        while len(left):
            again: dict[int, Failure] = {}
            for answers in run(rows[left], *(some(column, left) for column in columns)):
                at = left[answers.at]
                paid(len(at), sum(answers.seconds))
                self._calls += len(at)
                spent[at] += answers.seconds
                for k, value in zip(at.tolist(), answers.values, strict=True):
                    if isinstance(value, Failure):
                        self._count(int(rows[k]), value)
                        failed[k, value.status] += 1
                        if failed[k, value.status] <= RETRIES.get(value.status, 0):
                            again[k] = value
                landed = [j for j, k in enumerate(at.tolist()) if k not in again]
                if landed:
                    done = at[landed]
                    values = [answers.values[j] for j in landed]
                    yield Answers(done, values, spent[done].tolist(), attempts[done].tolist())
            left = np.array(sorted(again), dtype=int)
            left, given_up = np.split(left, [affordable(len(left)) if again else 0])
            if len(given_up):
                values = [again[k] for k in given_up.tolist()]
                yield Answers(given_up, values, spent[given_up].tolist(), attempts[given_up].tolist())
            attempts[left] += 1

    def recalled(self, row: int, value: Any, attempts: int) -> None:
        """An answer from the ledger counts as it did when it was paid."""
        self._calls += attempts
        if isinstance(value, Failure):
            for _ in range(min(attempts, 1 + RETRIES.get(value.status, 0))):
                self._count(row, value)

    def settle(self, kind: Kind, row: int, failure: Failure, attempts: int, arguments: tuple[Any, ...] = ()) -> None:
        """A failure that remains: raise, or keep it on the list. `arguments` are those of the user's function."""
        if self.policy == "raise":
            raise SolverError(failure.message, row=row, kind=kind, arguments=arguments) from failure.cause
        y_hat = arguments[0].tolist() if kind == "solve" and arguments else None
        call = reproduction(kind, arguments) if arguments else None
        self.failed.append(Failed(row, kind, failure.status, failure.message, attempts, y_hat, call))

    def regret(self, cost: Array, optimum: Array) -> Array:
        """cost - optimum, by the policy where the cost is not known; NaN where the optimum is not."""
        regret = cost - optimum
        if self.policy != "penalise":
            return regret
        seen, labels = regret[~np.isnan(regret)], optimum[~np.isnan(optimum)]
        if seen.size:
            self._largest = max(self._largest, float(seen.max()))
        if labels.size:
            low, high = self._optima
            self._optima = min(low, float(labels.min())), max(high, float(labels.max()))
        missing = np.isnan(cost) & ~np.isnan(optimum)
        regret[missing] = self.penalty
        return regret

    @property
    def penalty(self) -> float:
        """The regret of a call that fails now."""
        if self._penalty is not None:
            return self._penalty
        low, high = self._optima
        return max(self._largest, high - low, 0.0)

    @property
    def summary(self) -> str | None:
        """One sentence for the user, or None where nothing failed."""
        if not self.failed:
            return None
        causes = ", ".join(f"{status}: {number}" for status, number in self._by_status().most_common())
        one = len(self.failed) == 1
        follows = "had no weight" if self.policy == "skip" else f"{'was' if one else 'were'} penalised"
        failed = f"{len(self.failed)} {'call' if one else 'calls'} failed ({causes})"
        return f"{failed} and {follows}; the first: {self.failed[0].message}"

    def state(self) -> dict[str, Any]:
        """All that a resumed run must know, as JSON."""
        failed = [list(one) for one in self.failed]
        kept = {"failed": failed, "calls": self._calls, "causes": dict(self._causes), "first": self._first}
        return kept | {"largest": self._largest, "optima": None if np.isinf(self._optima[0]) else list(self._optima)}

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from what `state` returned; ValueError if it is none."""
        check_kinds(state, STATE)
        for one in state["failed"]:
            check_kinds(dict(zip(Failed._fields, one, strict=False)), get_type_hints(Failed))
        self.failed = [Failed(*one) for one in state["failed"]]
        self._calls, self._causes = state["calls"], Counter(state["causes"])
        self._first = [(row, message) for row, message in state["first"]]
        self._largest = state["largest"]
        low, high = state["optima"] or (np.inf, -np.inf)
        self._optima = low, high

    def record(self) -> dict[str, Any]:
        """For result.json: how many of which cause, and the first of them."""
        return {
            "number": len(self.failed),
            "by_status": dict(self._by_status()),
            "first": [one._asdict() for one in self.failed[:LISTED_FAILURES]],
        }

    @property
    def every_solve(self) -> bool:
        """Whether all calls were solves, and all have failed."""
        return 0 < self._calls == self._causes.total() and all(one.kind == "solve" for one in self.failed)

    def _by_status(self) -> Counter[str]:
        return Counter(one.status for one in self.failed)

    def _count(self, row: int, failure: Failure) -> None:
        if failure.status == "batch":
            return  # the rows are called one by one next
        self._causes[failure.status] += 1
        if len(self._first) < MIN_FAILURES_TO_STOP:
            self._first.append((row, failure.message))
        failed = self._causes.total()
        if self.stops and failed >= MIN_FAILURES_TO_STOP and failed > FAILED_SHARE_TO_STOP * self._calls:
            causes = ", ".join(f"{status}: {number}" for status, number in self._causes.most_common())
            first = "\n".join(_alike(self._first))
            raise SolverError(
                f"{failed} of the first {self._calls} calls failed ({causes}), so the run stops here. The first of "
                f"them:\n{first}",
                row=self._first[0][0],
            )


def _alike(failed: Sequence[tuple[int, str]]) -> list[str]:
    """A line for each message, with the rows that it is of."""
    rows: dict[str, list[int]] = {}
    for row, message in failed:
        rows.setdefault(message.replace(f" at row {row}", ""), []).append(row)
    return [
        f"  {'row' if len(at) == 1 else 'rows'} {', '.join(map(str, sorted(at)))}: {message}"
        for message, at in rows.items()
    ]
