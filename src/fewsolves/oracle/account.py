"""The account of a run: pays for calls of the user's functions, counts them, keeps to the budget, remembers, and writes
the ledger.

Every call takes the same path: an answer in memory costs nothing; an answer in the ledger is recalled and counts as if
it were paid now; all others are computed, and recorded before they are used. Views (`oracle.view`) share one account.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, nullcontext
from typing import Any

import numpy as np

from fewsolves.errors import BudgetSpent
from fewsolves.execution.base import KINDS, Answers, Failure, Kind, Phase, some
from fewsolves.execution.serial import Serial
from fewsolves.ledger.decision import PackedDecision, pack_decision
from fewsolves.ledger.keys import cost_key, solve_keys
from fewsolves.ledger.ledger import Ledger
from fewsolves.ledger.shared import SharedAnswers
from fewsolves.ledger.sqlite.rows import PendingCall, RecordedAnswer
from fewsolves.oracle.batch import Batch, Drawn
from fewsolves.oracle.budget import Budget, BudgetLeft
from fewsolves.oracle.calls import Calls
from fewsolves.oracle.charging import Charge, Charging
from fewsolves.oracle.config import SolveConfig
from fewsolves.oracle.draws import label_draws, seeds_of_calls, seeds_of_draws
from fewsolves.oracle.failures import Failures
from fewsolves.oracle.fair_lock import FairLock
from fewsolves.oracle.former import FormerRun
from fewsolves.oracle.grad_mode import keeping_grad_mode
from fewsolves.oracle.hints import Hints
from fewsolves.oracle.memory import Answer, Memory
from fewsolves.oracle.stop import Stop, without_failures
from fewsolves.problem import Array, Problem

Landed = Generator[tuple[int, Answer, int]]  # position in the batch, answer, attempts


class Account:
    """The account that the views of one run share."""

    def __init__(
        self,
        problem: Problem,
        *,
        solving: SolveConfig | None = None,
        budget: Budget | None = None,
        ledger: Ledger | None = None,
        n_rows: int = 1,
        former: FormerRun | None = None,
    ) -> None:
        """For a table of `n_rows`, of which a `former` run may have paid for the first ones."""
        self.former = former
        self.problem = problem
        self.calls = Calls()
        self.budget_left = BudgetLeft(budget or Budget(), self.calls)
        self.label_draws = label_draws(problem, n_rows, budget or Budget())
        self._seeded = problem.noisy_cost and (problem.takes_seed or problem.factory is not None)
        self.memory = Memory() if former is None or former.memory is None else former.memory
        self.ledger = ledger
        self._shared = None if problem.remember is None else SharedAnswers(problem)
        self.solving = solving or SolveConfig()
        self.execution = self.solving.start(problem)
        self._hints = Hints(problem, self.execution)
        self._here = Serial(problem)
        self.failures = Failures(self.solving)
        self.lock: FairLock | nullcontext[None] = FairLock() if self.solving.asynchronous else nullcontext()
        self._on_answer: list[Callable[[], None]] = []
        self._before_close: list[Callable[[], None]] = []
        self.charging = Charging(self.calls, self.budget_left, ledger)
        self._here.on_send = self.charging.sent
        if hasattr(self.execution, "on_send"):
            self.execution.on_send = self.charging.sent

    @property
    def knows_more_than_ledger(self) -> bool:
        """Whether answers depend on what no ledger has: hints of earlier solves, or answers of other problems' runs."""
        return self._shared is not None or self._hints.wanted

    def on_answer(self, check: Callable[[], None]) -> None:
        """Call `check` whenever answers have landed and are on record; it may raise."""
        self._on_answer.append(check)

    def before_close(self, close: Callable[[], None]) -> None:
        """Call `close` before the execution ends."""
        self._before_close.append(close)

    def check(self) -> None:
        """Call the functions given to `on_answer`; waiting code calls this too, since the user may want to stop."""
        for check in self._on_answer:
            check()

    def close(self) -> None:
        """Ends the worker processes, if any."""
        for close in self._before_close:
            close()
        self.execution.close()
        if self._shared is not None:
            self._shared.close()
            self._shared = None

    def solve(
        self,
        rows: Array,
        y_hat: Array,
        *,
        phase: Phase,
        drawn: Drawn | None = None,
        recompute: bool = False,
        wait: bool = True,
    ) -> tuple[list[Any], list[bytes]]:
        """z*(y_hat) as PackedDecision, or a Failure, and the keys of these solves.

        A point that was solved before is reused, unless `recompute`. Without `wait`, the caller must call `barrier`.
        """
        keys = solve_keys(rows, y_hat, own=self.problem.instances is not None)
        repeats = phase == "labels" or not self.problem.noisy_solve
        batch = Batch("solve", phase, rows, keys, y_hat, drawn=drawn, repeats=repeats)
        pay = self._pay if recompute or not repeats else self._remembered
        return [answer for part in self._hints.split(batch) for answer in pay(part, wait=wait)], keys

    def cost(
        self,
        rows: Array,
        y: Array,
        decisions: Sequence[PackedDecision | Failure],
        *,
        phase: Phase,
        solved_by: Sequence[bytes] | None = None,
        draws: Array | None = None,
        recompute: bool = False,
    ) -> Array:
        """g(y, z), (B,); the cost of the same decision for the same row is reused, unless `recompute` or it is noisy.

        NaN where this call failed, or the solve before it. `solved_by` are the keys of those solves; `draws` (B,) are
        numbers of draws of a noisy cost: the same one is not paid again.
        """
        costs = np.full(len(rows), np.nan)
        usable = {k: z for k, z in enumerate(decisions) if isinstance(z, PackedDecision)}
        if not usable:
            return costs
        solved, packed = np.array(list(usable)), list(usable.values())
        rows, y, solved_by = rows[solved], y[solved], None if solved_by is None else some(solved_by, solved)
        numbers = None if draws is None or not self.problem.noisy_cost else draws[solved]
        each = [None] * len(packed) if numbers is None else numbers.tolist()
        keys = [cost_key(z.key, row, draw) for z, row, draw in zip(packed, rows.tolist(), each, strict=True)]
        repeats = numbers is not None or not self.problem.noisy_cost
        seeds = self._seeds(rows, numbers)
        batch = Batch("cost", phase, rows, keys, y, None, packed, solved_by, seeds, repeats)
        answers = self._pay(batch) if recompute or not repeats else self._remembered(batch)
        costs[solved] = [np.nan if isinstance(g, Failure) else g for g in answers]
        return costs

    def call_again(self, kind: Kind, rows: Array, *columns: Any) -> list[Any]:
        """Answers that bypass memory and ledger, and that count for the budget only."""
        self.charging.charge = Charge(kind, "test")  # charged here, under its own kind
        if self.charging.ledger is not None:
            self.charging.ledger.charge_unrecorded(kind, len(rows))
        answers: list[Any] = [None] * len(rows)
        for landed in self._executed(kind)(rows, *columns):
            for at, value in zip(landed.at.tolist(), landed.values, strict=True):
                answers[at] = value
        return answers

    def measured(self, name: str, measure: Callable[[], float]) -> float:
        """A measured time: that of the first start of this run, if a ledger has it."""
        ledger = self.charging.ledger
        return measure() if ledger is None else ledger.measured(name, measure)

    def feasible(self, rows: Array, decisions: Sequence[Array] | Array) -> Array:
        """(B,): whether the decisions are allowed for these rows, by the user's `feasible`."""
        return self._here.feasible(rows, decisions)

    def cost_at(self, rows: Array, y: Array, decisions: Sequence[Array] | Array) -> Array:
        """g(y, z), (B,), of known decisions at any y; NaN where it failed.

        There are hundreds of thousands of such calls, to save solves. So `cost` is called in this process, and neither
        memory nor ledger keeps the answers; the calls are counted, and within the budget.
        """
        self.charging.count_unanswered(["cost"])
        self.budget_left.admit("cost", "online", len(rows))
        charge, began, written = Charge("cost", "online"), time.perf_counter(), self.charging.seconds
        seeds = self._seeds(rows, None)
        with self.charging.during(charge):
            costs = self._here.costs(rows, y, decisions, seeds, again=lambda n: self.charging.may_repeat(charge, n))
            seconds = time.perf_counter() - began - (self.charging.seconds - written)
            self.calls.add("cost", "online", charge.begun, seconds)
            charge.answered = charge.begun
        return costs

    def _seeds(self, rows: Array, draws: Array | None) -> Array | None:
        """For a cost that takes them."""
        if not self._seeded:
            return None
        if draws is None:  # numbered in order: a replay draws the same
            return seeds_of_calls(sum(self.calls.counts["cost"].values()), len(rows))
        return seeds_of_draws(rows, draws)

    def barrier(self) -> None:
        """Returns when everything that landed is on disk."""
        if self.charging.ledger is not None:
            self.charging.ledger.barrier()

    def _remembered(self, batch: Batch, *, wait: bool = True) -> list[Any]:
        """Answers from memory; missing ones are paid, once for each key."""
        memory, kind = self.memory, batch.kind
        new = memory.missing(kind, batch.keys)
        if new and self.charging.ledger is not None:  # answers from before a checkpoint are reused
            for key, answer in self.charging.ledger.recall(kind, [batch.keys[k] for k in new]).items():
                memory.keep(kind, key, answer)
            new = memory.missing(kind, batch.keys)
        if new:
            paid = self._pay(batch.part(np.array(new)), remember=True, wait=wait)
            if len(new) == len(batch):
                return paid
        return [memory.get(kind, key) for key in batch.keys]

    def _pay(self, batch: Batch, *, remember: bool = False, wait: bool = True) -> list[Any]:
        """An answer to each call, from the ledger or from the user's function."""
        pending, recorded = self._look_up(batch)
        self.charging.count_unanswered(KINDS if len(recorded) < len(batch) else ())
        try:
            self._admit(batch, recorded)
        except BudgetSpent:
            self._count_refused(batch, pending, recorded, remember=remember)
            raise
        if self.charging.ledger is not None:
            self.charging.ledger.made(pending, recorded)
        answers: list[Any] = [None] * len(batch)

        def take(landed: Landed) -> None:
            for k, answer, attempts in landed:
                if isinstance(answer, Failure):
                    row = int(batch.rows[k])
                    self.failures.settle(batch.kind, row, answer, attempts, self._arguments(batch, k, row))
                answers[k] = answer
                if remember:
                    self.memory.keep(batch.kind, batch.keys[k], answer)

        take(self._recall(batch, recorded))
        self.charging.count_unanswered(())
        if len(recorded) < len(batch):
            charge = Charge(batch.kind, batch.phase)
            try:
                with self.charging.during(charge), closing(self._call(charge, batch, pending, recorded)) as landed:
                    take(landed)
            finally:
                if wait:
                    self.barrier()
        self._hints.learn(batch, answers)
        return answers

    def _admit(self, batch: Batch, recorded: dict[int, RecordedAnswer]) -> None:
        """Raise if the budget has no room: for the calls that are not recorded, and for those that this run paid."""
        paid = sum(one.attempts for one in recorded.values() if one.own)  # answers that others paid are free
        for calls in (False, True) if len(recorded) < len(batch) and batch.phase != "test" else (False,):
            self.charging.count_passed_by(batch.kind, paid, calls=calls)
            self.budget_left.admit(batch.kind, batch.phase, len(batch) - len(recorded) + paid)

    def _count_refused(
        self, batch: Batch, pending: Sequence[PendingCall], recorded: dict[int, RecordedAnswer], *, remember: bool
    ) -> None:
        """Count the paid part of an earlier start's request that no longer fits because a kill has cost calls."""
        own = {k: one for k, one in recorded.items() if one.own and one.by_position}
        if not own or self.charging.ledger is None:
            return
        self.charging.ledger.made(pending, own)
        for k, one in own.items():
            self.calls.recall(batch.kind, batch.phase, one.seconds, own=True, attempts=one.attempts)
            if remember:
                self.memory.keep(batch.kind, batch.keys[k], one.value)

    def _arguments(self, batch: Batch, k: int, row: int) -> tuple[Any, ...]:
        """Arguments of one call, as the user's function gets them, without the seed."""
        decision = () if batch.decisions is None else (batch.decisions[k].value(),)
        known = () if self.problem.instances is None else (self.problem.instance(row),)
        return batch.y[k].copy(), *decision, *known

    def _look_up(self, batch: Batch) -> tuple[list[PendingCall], dict[int, RecordedAnswer]]:
        """The calls with their positions in the run, and the known answers by number, also those of others."""
        ledger, pending = self.charging.ledger, list[PendingCall]()
        found: dict[int, RecordedAnswer] = {}
        content = batch.repeats and batch.phase != "probe"  # a probe calls the function itself
        if ledger is not None:
            pending = ledger.pending(
                batch.kind,
                batch.phase,
                batch.rows,
                batch.keys,
                y_hat=batch.y if batch.kind == "solve" else None,
                drawn=batch.drawn,
                decision_keys=None if batch.decisions is None else [z.key for z in batch.decisions],
                solved_by=batch.solved_by,
            )
            answers = {k: ledger.find(call, content=content) for k, call in enumerate(pending)}
            found = {k: one for k, one in answers.items() if one is not None}
        if content and self._shared is not None and self._shares(batch.kind) and len(found) < len(batch):
            others = self._shared.find(batch.kind, self._shared.keys(batch.rows, batch.y, batch.decisions))
            found = others | found
        return pending, found

    def _shares(self, kind: Kind) -> bool:
        """Whether answers of this kind are the same in all runs."""
        return not (self.problem.noisy_solve if kind == "solve" else self.problem.noisy_cost)

    def _recall(self, batch: Batch, recorded: dict[int, RecordedAnswer]) -> Landed:
        """Answers from the ledger, counted as when they were paid."""
        for k, one in recorded.items():
            attempts = one.attempts if one.own else 1
            self.calls.recall(batch.kind, batch.phase, one.seconds, own=one.own, attempts=attempts)
            self.failures.recalled(int(batch.rows[k]), one.value, attempts)
            yield k, one.value, attempts

    def _call(
        self, charge: Charge, batch: Batch, pending: Sequence[PendingCall], recorded: dict[int, RecordedAnswer]
    ) -> Landed:
        """Call the user's function for the rest; each answer goes on record as it lands."""
        kind, phase = batch.kind, batch.phase
        at = np.array([k for k in range(len(batch)) if k not in recorded])
        if recorded:
            self.budget_left.go_on(phase)
        rest, left, stop = batch.part(at), len(at), Stop(self, phase)
        for answers in self.failures.answered(
            self._executed(kind),
            rest.rows,
            rest.arguments() + self._hints.columns(rest),
            paid=lambda number, seconds: self.charging.answered(charge, number, seconds),
            affordable=lambda number: 0 if stop.why else self.budget_left.affords(kind, phase, number),
        ):
            if stop.why is not None:  # a failure after the stop is no answer: the next start tries again
                answers = without_failures(answers)
            landed = at[answers.at].tolist()
            values = [_kept(kind, value) for value in answers.values]
            if (ledger := self.charging.ledger) is not None:
                ledger.record([pending[k] for k in landed], values, answers.seconds, answers.attempts)
            self._share(batch, landed, values, answers.seconds)
            yield from zip(landed, values, answers.attempts, strict=True)
            left -= len(landed)
            stop.look(more=left > 0)
        if left:  # a stop was requested, or the background solves were closed
            raise stop.why or KeyboardInterrupt

    def _share(self, batch: Batch, landed: list[int], values: Sequence[Answer], seconds: Sequence[float]) -> None:
        """Keep answers that hold in all runs, where the problem remembers them."""
        if self._shared is not None and self._shares(batch.kind):
            decisions = None if batch.decisions is None else [batch.decisions[k] for k in landed]
            keys = self._shared.keys(batch.rows[landed], batch.y[landed], decisions)
            self._shared.keep(batch.kind, keys, values, seconds)

    def _executed(self, kind: Kind) -> Callable[..., Iterator[Answers]]:
        """The execution, of which each call is charged before it begins."""
        run = keeping_grad_mode(getattr(self.execution, kind))
        if hasattr(self.execution, "on_send"):
            return run

        def charged(rows: Array, *columns: Any) -> Iterator[Answers]:
            self.charging.sent(len(rows))
            return run(rows, *columns)

        return charged


def _kept(kind: Kind, value: Any) -> Answer:
    """An answer as it is remembered: the solver may use its buffer again."""
    if isinstance(value, Failure):
        return value
    return pack_decision(value) if kind == "solve" else float(value)
