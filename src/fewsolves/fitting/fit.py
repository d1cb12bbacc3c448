"""From a plan to a trained predictor: the one entry point of estimator, commands and benchmarks."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import time
from collections.abc import Sequence
from contextlib import closing
from functools import partial
from typing import Any

import numpy as np

from fewsolves.data import Split
from fewsolves.errors import BudgetSpent, SolverError
from fewsolves.execution.base import KINDS
from fewsolves.fitting.checkpoint import refuse_misfits
from fewsolves.fitting.context import RunContext, note_start, notes_of_result
from fewsolves.fitting.folder import RunFolder, folder_of
from fewsolves.fitting.growth import table_facts
from fewsolves.fitting.plan import Plan
from fewsolves.fitting.prepare import Prepared, prepare
from fewsolves.fitting.progress_file import ProgressFile
from fewsolves.fitting.result import Fit, facts_of, recovered_fit, result_of, write_result
from fewsolves.fitting.resume import NamedCheckpoints
from fewsolves.fitting.starts import Started, Starts
from fewsolves.methods.base import Outcome
from fewsolves.methods.loss import as_array_loss
from fewsolves.methods.reading import Reading
from fewsolves.oracle import Oracle
from fewsolves.oracle.account import Account
from fewsolves.oracle.probe import leave_out, probe
from fewsolves.oracle.recheck import check_paid
from fewsolves.oracle.swapped import with_swap_hint
from fewsolves.predictors.families import named
from fewsolves.predictors.predictor import Predictor
from fewsolves.problem import Array
from fewsolves.quoting.price import held_back
from fewsolves.training.guarded import Guarded
from fewsolves.training.history import Callback, History
from fewsolves.training.interrupt import Interrupt
from fewsolves.training.monitor import RegretMonitor
from fewsolves.training.start import KEPT

FLAT = (
    "the regret is flat: all predictions that were tried are equally good, so there is nothing to learn from it, and "
    "the start is kept; check that `cost` depends on the decision"
)


def fit(plan: Plan | Prepared, *, callbacks: Sequence[Callback] = ()) -> Fit:
    """Train on `split.train`, stop early and choose on `split.valid`; `split.test` is not used.

    With a `folder`, everything paid is on record there before it is used: after a crash the same plan goes on where it
    stopped, and a finished one returns what it found. history.csv and result.json are written there at the end.

    Args:
        plan: What to train, on what, and at what price; or the same, prepared.
        callbacks: Functions that get a record of each epoch, and may end the training (`fewsolves.callbacks`).

    Returns:
        The trained predictor, with the record of its training.
    """
    prepared = prepare(plan) if isinstance(plan, Plan) else plan
    with folder_of(prepared) as folder:
        fitted = fit_in(folder, prepared, callbacks=callbacks)
    if prepared.plan.folder is not None:
        write_result(prepared.plan.folder, result_of(fitted), fitted.history)
    return fitted


def fit_in(folder: RunFolder | None, prepared: Prepared, *, callbacks: Sequence[Callback] = ()) -> Fit:
    """Fit in the folder of the plan, which the caller has opened and may go on writing to afterwards."""
    began, plan, limits = time.perf_counter(), prepared.plan, prepared.limits
    ledger = None if folder is None else folder.ledger
    former = None if prepared.former is None else prepared.former.run
    account = Account(
        plan.problem, solving=plan.solving, budget=limits, ledger=ledger, n_rows=len(plan.Y), former=former
    )
    paying = Oracle(plan.problem, plan.Y, account=account)
    guarded = [Guarded(callback) for callback in callbacks]
    for one in guarded:
        paying.account.on_answer(partial(one.on_answer, paying.calls))
    if folder is None:
        with closing(paying) as oracle:
            return _Fitting(prepared, oracle, History(oracle.calls, guarded, began=began, budget=limits)).run()
    with Interrupt(folder.path) as interrupt, closing(paying) as oracle:
        oracle.account.on_answer(interrupt.check)
        if not plan.adopt:
            check_paid(oracle)
        progress = ProgressFile(folder.path, prepared.expected)
        oracle.account.on_answer(partial(progress.on_answer, oracle.calls))
        history = History(oracle.calls, [interrupt, progress, *guarded], began=began, budget=limits)
        progress.begin(history)
        fitting = _Fitting(prepared, oracle, history, folder)
        fitted = fitting.recovered() or fitting.run()
        progress.end(fitted)
        folder.ledger.note_end(str(fitted.summary))
        return fitted


class _Fitting:
    """The steps of one fit, and their common state."""

    def __init__(self, prepared: Prepared, oracle: Oracle, history: History, folder: RunFolder | None = None) -> None:
        self.prepared, self.oracle, self.history, self.folder = prepared, oracle, history, folder
        self.plan, self.method = prepared.plan, prepared.plan.method
        self.demand = self.method.demand(oracle.n_y)
        self.streams = np.random.SeedSequence(self.plan.seed).spawn(4)  # weights, start, loop, loss
        self._use(prepared.split)

    def _use(self, split: Split) -> None:
        self.split = split
        self.starts = Starts(self.prepared, self.prepared.rows_of_start(split), self.history, tuple(self.streams[:2]))
        self.train_oracle, self.valid_oracle = self.oracle.part(split.train), self.oracle.part(split.valid)

    def run(self) -> Fit:
        """Check, start, train, compare with the start, and keep the result."""
        notes = self._checked()
        started = self.starts.best(self._unread if self.method.cross_fits else self._read)
        note_start(self.history, started.outcome.best)
        before, goes_on = copy.deepcopy(started.predictor), not started.outcome.ends_run  # else it is the result
        outcome = self._train(started) if goes_on else started.outcome
        if self.method.cross_fits:
            started = started._replace(outcome=dataclasses.replace(started.outcome, best=outcome.first))
        notes += [
            *started.outcome.warnings,
            *(outcome.warnings if outcome is not started.outcome else ()),
        ]
        notes += self._notes(goes_on)
        chosen, kept_start, tried = started.predictor, goes_on and self._misses(outcome, started.outcome), None
        if kept_start:
            what = "its start" if self.prepared.former is None else "the former predictor"
            where = "the evidence rows" if self.method.cross_fits else "validation"
            kept = f"{outcome.stopped}; kept {what}, which nothing clearly beat on {where}"
            if not started.outcome.best.known.size:
                kept = f"{outcome.stopped} before anything was judged; kept {what}"
            tried = outcome.best
            chosen = started.predictor if self.method.cross_fits else before
            outcome = dataclasses.replace(outcome, best=started.outcome.best, stopped=kept)
        notes += notes_of_result(outcome.best)  # not of one that is not kept
        report = self._report(chosen, outcome)
        if len(self.prepared.starts) > 1:
            report["chosen"] = started.name
        fitted = Fit(
            method=self.method,
            predictor=chosen,
            predictor_name=started.name,
            oracle=self.oracle,
            split=self.split,
            start=started.outcome.best,
            best=outcome.best,
            X_train=self.prepared.inputs.take(self.split.train),
            loss=outcome.loss,
            stopped=outcome.stopped,
            seconds=self.history.seconds,
            seed=self.plan.seed,
            history=self.history.records,
            warnings=notes + report.pop("warnings", []),
            report=report,
            start_predictions=self._start_predictions(started.name, before),
            interrupted=outcome.interrupted,
            kept_start=kept_start,
            tried=tried,
            surrogate=None if outcome.loss is None else outcome.loss.export(),
            forecaster=self.prepared.forecaster,
        )
        self.history.conclude(fitted.reached)
        self._keep(fitted)
        return fitted

    def _label_all(self) -> None:
        """Pay for the labels of a relative regret first: rows that it cannot be computed for are refused together."""
        rows = np.union1d(self.split.train, self.split.valid) if self.demand.training_rows else self.split.valid
        with contextlib.suppress(BudgetSpent):  # then training ends at its first solve
            self.oracle.optimum(rows)

    def _checked(self) -> list[str]:
        """Leave out rows without a label, and try the problem on some; the notes about that."""
        rows, notes = {"train": self.demand.training_rows, "costs": self.demand.cost_calls}, list[str]()
        try:
            split, notes = leave_out(self.oracle, self.split, **rows)
            self._use(split)
            if self.oracle.relative:
                self._label_all()
            probe(self.train_oracle)
        except BudgetSpent:
            pass  # seconds cannot be checked in advance: what follows ends at its first call
        except SolverError as error:
            plan, first = self.plan, self.oracle.calls.total() <= 2 * self.plan.solving.workers
            if error.kind == "cost" or not (first if error.kind else self.oracle.failures.every_solve):
                raise
            raise with_swap_hint(error, plan.problem, plan.context, plan.Y, plan.solving) from error.__cause__
        return notes

    def _start_predictions(self, name: str, before: Predictor) -> Array:
        """Of the training rows, by the start; one in closed form is that of all rows where the result is, too."""
        family, split = named(name), self.starts.split
        if self.method.cross_fits and self.starts.refittable and family is not None and family.closed_form:
            before = self.starts.fitted_on(name, np.sort(np.concatenate([split.train, split.valid])))
        y_hat: Array = before(self.prepared.inputs.take(self.split.train))
        return y_hat

    def _keep(self, fitted: Fit) -> None:
        """Write the result to the folder, where there is one."""
        if self.folder is None:
            return
        if fitted.surrogate is not None:
            fitted.surrogate.save(self.folder.path)
        paid = self.oracle.calls.total("solve") - self.oracle.calls.shared["solve"]
        facts = facts_of(fitted) | {"table": table_facts(self.prepared, paid)}
        self.folder.finish(fitted.predictor.state_dict(), facts)

    def recovered(self) -> Fit | None:
        """The result of this very run, where it has ended; its loss is not kept."""
        if self.folder is None or (found := self.folder.finished()) is None:
            return None
        with refuse_misfits(self.folder.path, "fit.json"):
            fitted = recovered_fit(
                *found,
                candidates=self.starts.candidates(),
                method=self.method,
                oracle=self.oracle,
                split=self.split,
                X=self.prepared.inputs.array,
                seed=self.plan.seed,
                surrogate=self.folder.surrogate(found[1]),
                forecaster=self.prepared.forecaster,
            )
        self.folder.ledger.count_again(self.oracle.calls.unanswered)
        self.oracle.account.charging.count_unanswered(KINDS)  # of the check of a few answers, in this start and others
        return fitted

    @staticmethod
    def _unread(predictor: Predictor) -> Reading:
        """A placeholder for a reading, for a method that reads its start itself."""
        return Reading(np.full(1, np.nan))

    def _read(self, predictor: Predictor) -> Reading:
        """The validation regret of a start."""
        valid = self.starts.rows(self.split.valid)
        try:
            reading = RegretMonitor(self.valid_oracle, valid.X, share=None, move=0.0, weights=valid.weights)(predictor)
        except BudgetSpent as error:
            raise BudgetSpent(
                f"{error}. The start has not been judged, so there is no result: raise the budget"
            ) from error
        assert reading is not None
        return reading

    def _train(self, started: Started) -> Outcome:
        """Train the started predictor in place, as the method does."""
        if self.demand.training_rows and not self.method.cross_fits:  # else it pays labels and readings itself
            self._set_aside()
        outcome: Outcome = self.method.train(self._context(started))
        return outcome

    def _context(self, started: Started) -> RunContext:
        folder, plan = self.folder, self.plan
        return RunContext(
            oracle=self.oracle,
            split=self.split,
            inputs=self.prepared.inputs,
            predictor=started.predictor,
            settings=self.method.settings,
            rng=np.random.default_rng(self.streams[3]),
            weights=plan.sample_weight,
            groups=None if plan.groups is None else np.asarray(plan.groups),
            validation_given=plan.validation_given,
            time_ordered=self.split.in_time,
            continues=self.prepared.former is not None or not self.starts.refittable,
            started=started.outcome,
            checkpoints=None if folder is None else NamedCheckpoints(folder.checkpoints, self.history, self.oracle),
            name=started.name,
            starts=self.starts,
            history=self.history,
            valid_oracle=self.valid_oracle,
            loop_stream=self.streams[2],
            loop_checkpoints=None if folder is None else folder.checkpoints,
            last_readings=self.demand.training_rows,
        )

    def _set_aside(self) -> None:
        """With a budget, labels come first, and training leaves some readings to validation."""
        budget_left = self.oracle.budget_left
        if not budget_left.limited:
            return
        pay = self.train_oracle.optimum if self.demand.cost_calls else self.train_oracle.labels
        try:
            pay(np.arange(len(self.train_oracle)))
        except BudgetSpent:
            return  # training stops at its first solve
        budget_left.hold(held_back(self.method, self.prepared.workload, budget_left.room("validation")))

    def _notes(self, goes_on: bool) -> list[str]:
        """Warnings about the problem, the budget and failed solves."""
        flat = FLAT if goes_on and self.method.looks_at_regret and self.oracle.calls.flat else None
        own_budget = (
            self.plan.budget == self.prepared.limits
        )  # else the allowance of a grown table is spent, as it should
        refused = self.oracle.budget_left.refused if own_budget else None
        return [note for note in (flat, refused, self.oracle.failures.summary) if note]

    def _misses(self, outcome: Outcome, start: Outcome) -> bool:
        """Whether a result does not clearly beat the predictor that it followed."""
        if self.method.cross_fits:
            return outcome.best.values is outcome.first.values
        follows = self.method.follows_start if self.prepared.former is None else self.method.looks_at_regret
        return follows and not outcome.best.clearly_below(start.best, self.method.common.guard)

    def _report(self, predictor: Predictor, outcome: Outcome) -> dict[str, Any]:
        """Facts of the method about the predictor that is returned."""
        report = dict(outcome.report)
        if outcome.loss is not None and not outcome.interrupted:
            report |= as_array_loss(outcome.loss).finish(predictor(self.starts.rows(self.split.train).X))
        if self.starts.kept_given:
            report["module"] = KEPT
        if self.plan.problem.noisy_cost:
            report["label_draws"] = self.oracle.account.label_draws
        if self.prepared.former is not None:
            report["new_rows"] = len(self.plan.Y) - self.prepared.former.run.n_rows
        return report
