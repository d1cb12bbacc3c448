"""From a plan to a trained predictor: what every face of the library calls."""

from __future__ import annotations

import copy
import dataclasses
import time
import warnings
from collections.abc import Sequence
from contextlib import closing
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import nn

from fewsolves.data import Scale, Split
from fewsolves.errors import BudgetSpent
from fewsolves.fitting.folder import RunFolder, folder_of
from fewsolves.fitting.growth import table_facts
from fewsolves.fitting.plan import Plan
from fewsolves.fitting.result import Fit, facts_of, recovered_fit, result_of, weights_of, write_result
from fewsolves.fitting.resume import Resume
from fewsolves.methods.base import Ingredients, Loss, Stopped
from fewsolves.methods.reading import Reading
from fewsolves.oracle import Oracle
from fewsolves.oracle.probe import leave_out, probe
from fewsolves.oracle.recheck import check_paid
from fewsolves.predictors.correction import corrected
from fewsolves.predictors.predictor import BUILT_IN, Predictor
from fewsolves.problem import Array
from fewsolves.quoting.price import held_back
from fewsolves.training.cross_validation import out_of_fold
from fewsolves.training.history import Callback, History
from fewsolves.training.interrupt import Interrupt
from fewsolves.training.loop import Outcome, train
from fewsolves.training.monitor import RegretMonitor
from fewsolves.training.start import Rows, start

CLEARLY = 2.0  # standard errors
FLAT = (
    "the regret is flat: all predictions that were tried are equally good, so there is nothing to learn from it, and "
    "the start is kept; check that `cost` depends on the decision"
)
FOLDS_STREAM = 5  # of random numbers, apart from the four of a fit
OTHERWISE = 2.0  # standard errors by which regrets must be lower to overrule the prediction loss


def _below_zero(start: Reading) -> str | None:
    """What it means that decisions at predictions cost clearly less than those at the truth; None where they do not."""
    known = start.known
    share = float((known < 0).mean()) if known.size else 0.0
    if len(known) < 2 or share <= 0.5 or start.mean >= -CLEARLY * start.error:
        return None
    return (
        f"regrets at the start are below 0 ({start.mean:.4g} on average, {share:.0%} of {len(known)} validation rows): "
        f"decisions at predictions cost less than decisions at the truth. Either `cost` is a profit, and it is "
        f"minimised, so return its negative; or `solve` is not optimal for this cost (a heuristic, a gap, another "
        f"objective), and then only differences of regret tell anything"
    )


def fit(plan: Plan, *, callbacks: Sequence[Callback] = ()) -> Fit:
    """Train on `split.train`, stop early and choose on `split.valid`; `split.test` is not looked at.

    With a `folder`, everything paid is on record there before it is used: after a crash the same plan goes on where it
    stopped, and a finished one returns what it found. history.csv and result.json are written there at the end.

    Args:
        plan: What to train, on what, and at what price.
        callbacks: Functions that get a record of each epoch, and may end the training (`fewsolves.callbacks`).

    Returns:
        The trained predictor, and everything that is known about how it came to be.
    """
    with folder_of(plan) as folder:
        fitted = fit_in(folder, plan, callbacks=callbacks)
    if plan.folder is not None:
        write_result(plan.folder, result_of(fitted), fitted.history)
    return fitted


def fit_in(folder: RunFolder | None, plan: Plan, *, callbacks: Sequence[Callback] = ()) -> Fit:
    """The same in the plan's folder, which the caller has entered, for what comes after the training."""
    began = time.perf_counter()
    ledger = None if folder is None else folder.ledger
    former = None if plan.former is None else plan.former.run
    paying = Oracle(plan.problem, plan.Y, solving=plan.solving, budget=plan.limits, ledger=ledger, former=former)
    for callback in callbacks:
        if (told := getattr(callback, "on_answer", None)) is not None:
            paying.account.on_answer(partial(told, paying.calls))
    if folder is None:
        with closing(paying) as oracle:
            return _Fitting(plan, oracle, History(oracle.calls, callbacks, began=began, budget=plan.limits)).run()
    with Interrupt() as interrupt, closing(paying) as oracle:
        oracle.account.on_answer(interrupt.check)
        if not plan.adopt:
            check_paid(oracle)
        history = History(oracle.calls, [interrupt, *callbacks], began=began, budget=plan.limits)
        fitting = _Fitting(plan, oracle, history, folder)
        fitted = fitting.recovered() or fitting.run()
        folder.ledger.note_end(str(fitted.summary))
        return fitted


class _Fitting:
    """The steps of one fit, and what they share."""

    def __init__(self, plan: Plan, oracle: Oracle, history: History, folder: RunFolder | None = None) -> None:
        self.plan, self.method, self.oracle, self.history, self.folder = plan, plan.method, oracle, history, folder
        self._use(plan.split)
        self.streams = np.random.SeedSequence(plan.seed).spawn(4)  # weights, start, loop, loss
        self.adjusted_report: dict[str, Any] = {}
        self._predicted: dict[str, Array] = {}  # out of fold

    def _use(self, split: Split) -> None:
        self.split, X = split, self.plan.inputs
        self.train_oracle, self.valid_oracle = self.oracle.part(split.train), self.oracle.part(split.valid)
        self.x_train, self.x_valid = torch.as_tensor(X[split.train]), torch.as_tensor(X[split.valid])
        self.train_weights, self.valid_weights = self._weights(split.train), self._weights(split.valid)

    def _weights(self, rows: Array) -> Array | None:
        """Of these rows, 1 on average."""
        weights = None if self.plan.sample_weight is None else self.plan.sample_weight[rows]
        return None if weights is None else weights / weights.mean()

    def run(self) -> Fit:
        split, told = leave_out(self.oracle, self.split, train=self.method.trains, costs=self.method.costs)
        self._use(split)
        probe(self.train_oracle)
        name, chosen, start = self._start()
        said = _below_zero(start.best) if self.method.looks_at_regret else None
        if said is not None:  # now, and not when all is paid for
            warnings.warn(said, stacklevel=3)
            told.append(said)
        before, goes_on = copy.deepcopy(chosen), not start.ends_run  # else the start is what there is
        loss, outcome = self._learn(name, chosen, start) if goes_on else (None, start)
        told += [*start.warnings, *(outcome.warnings if loss is not None else ()), *self._told(goes_on)]
        kept_start, tried = goes_on and self._misses(outcome, start), None
        if kept_start:
            what = "its start" if self.plan.former is None else "the former predictor"
            kept = f"{outcome.stopped}; kept {what}, which nothing clearly beat on validation"
            tried = outcome.best
            chosen, outcome = before, dataclasses.replace(outcome, best=start.best, stopped=kept)
        report = self._report(loss, chosen, outcome)
        if self.plan.problem.noisy_cost:
            report["label_draws"] = self.oracle.account.label_draws
        if self.plan.former is not None:
            report["new_rows"] = len(self.plan.Y) - self.plan.former.run.n_rows
        fitted = Fit(
            method=self.method,
            predictor=chosen,
            predictor_name=name,
            oracle=self.oracle,
            split=self.split,
            start=start.best,
            best=outcome.best,
            X_train=self.plan.inputs[self.split.train],
            loss=loss,
            stopped=outcome.stopped,
            seconds=self.history.seconds,
            seed=self.plan.seed,
            history=self.history.records,
            warnings=told + report.pop("warnings", []),
            report=report,
            said=() if said is None else (said,),
            interrupted=outcome.interrupted,
            kept_start=kept_start,
            tried=tried,
            surrogate=None if loss is None else loss.export(),
            forecaster=self.plan.forecaster,
        )
        if self.folder is not None:
            if fitted.surrogate is not None:
                fitted.surrogate.save(self.folder.path)
            paid = self.oracle.calls.total("solve") - self.oracle.calls.shared["solve"]
            self.folder.finish(weights_of(fitted), facts_of(fitted) | {"table": table_facts(self.plan, paid)})
        return fitted

    def recovered(self) -> Fit | None:
        """The result of this very run, where it has ended; its loss is not kept."""
        found = self.folder.finished() if self.folder is not None else None
        if found is None:
            return None
        return recovered_fit(
            *found,
            candidates=self._candidates(),
            method=self.method,
            oracle=self.oracle,
            split=self.split,
            X=self.plan.inputs,
            seed=self.plan.seed,
            surrogate=self.folder.surrogate(found[1]) if self.folder is not None else None,
            forecaster=self.plan.forecaster,
        )

    def _start(self) -> tuple[str, Predictor, Outcome]:
        """The prediction-focused start; of the built-in predictors, the one that is the better start."""
        started = []
        for name, candidate in self._candidates().items():
            pfl = self._pfl(name, candidate) if self._pretrains else None
            reading = self._monitor()(candidate)
            assert reading is not None
            ended = pfl or Outcome(reading, reading, "not trained")
            started.append((name, candidate, dataclasses.replace(ended, first=reading, best=reading)))
            if ended.ends_run:
                break
        name, candidate, outcome = self._better(started)
        if ended.ends_run:
            outcome = dataclasses.replace(ended, first=outcome.best, best=outcome.best)
        return name, candidate, outcome

    @property
    def _pretrains(self) -> bool:
        """Whether prediction-focused learning comes first: not on what a run goes on from, nor on forecasts."""
        goes_on = self.plan.former is not None and self.method.looks_at_regret
        return bool(self.method.train.warm_start) and not goes_on and self.plan.forecaster is None

    def _better(self, started: list[tuple[str, Predictor, Outcome]]) -> tuple[str, Predictor, Outcome]:
        """By cross-validated prediction loss, which has all rows behind it, unless the regrets clearly disagree."""
        if len(started) == 1 or not self.method.train.warm_start:
            return min(started, key=lambda one: one[2].best.mean)
        scale = Scale.of(self.train_oracle.Y).std
        losses = {
            name: np.square((self._out_of_fold(name) - self.train_oracle.Y) / scale).mean() for name, *_ in started
        }
        best = min(started, key=lambda one: losses[one[0]])
        for other in started:
            if other[2].best.clearly_below(best[2].best, OTHERWISE):
                best = other
        return best

    def _out_of_fold(self, name: str) -> Array:
        """(M, n_y): of the training rows by the built-in predictor of this name, made once."""
        if name not in self._predicted:
            self._predicted[name] = out_of_fold(
                name,
                self._candidates()[name],
                self.x_train,
                self.train_oracle.Y,
                config=self.method.train,
                rng=np.random.default_rng([self.plan.seed, FOLDS_STREAM]),
                in_time=self.split.in_time,
            )
        return self._predicted[name]

    def _candidates(self) -> dict[str, Predictor]:
        """The predictors to start, untrained, or that of a former run; one of the user's own is copied."""
        X, given = self.plan.inputs, self.plan.predictor
        if self.plan.former is not None:
            return {self.plan.former.predictor_name: copy.deepcopy(self.plan.former.predictor)}
        if isinstance(given, Predictor):
            return {"given": copy.deepcopy(given)}
        seed = int(self.streams[0].generate_state(1)[0])
        if self.plan.forecaster is not None:
            base, train = self.plan.forecaster, self.split.train
            return {base.name: corrected(X[train], self.train_oracle.Y, seed=seed, library=base.library)}
        problem = self.plan.problem
        bounds = problem.bounds() if problem.bounded else None
        scales = Scale.of(X[self.split.train]), Scale.of(self.train_oracle.Y), bounds
        if isinstance(given, nn.Module):
            return {"given": Predictor(copy.deepcopy(given), *scales)}
        nets = {name: BUILT_IN[name](X.shape[1], self.oracle.n_y, seed=seed) for name in self.plan.starts}
        return {name: Predictor(net, *scales) for name, net in nets.items()}

    def _pfl(self, name: str, predictor: Predictor) -> Outcome:
        return start(
            name,
            predictor,
            Rows(self.x_train, self.train_oracle.Y, self.train_weights),
            Rows(self.x_valid, self.valid_oracle.Y, self.valid_weights),
            config=self.method.train,
            rng=np.random.default_rng(self.streams[1]),
            history=self.history,
        )

    def _learn(self, name: str, predictor: Predictor, start: Outcome) -> tuple[Loss | None, Outcome]:
        """Train or adjust the started `predictor` in place, as the method does."""
        if self.method.build is not None:
            loss = self.method.build(self._ingredients(name, predictor))
            self._set_aside()
            return loss, self._train(predictor, loss)
        if self.method.adjust is not None:
            if self.method.trains:
                self._set_aside()
            # what training set aside is there to be read, to the last reading
            validate = partial(self._monitor(), final=self.method.trains)
            adjusted = self.method.adjust(self._ingredients(name, predictor), validate)
            self.adjusted_report = dict(adjusted.report)
            return None, Outcome(adjusted.first, adjusted.best, adjusted.told, adjusted.interrupted)
        return None, start

    def _set_aside(self) -> None:
        """With a budget, labels come first, and training leaves some readings to validation."""
        budget_left = self.oracle.budget_left
        if not budget_left.limited:
            return
        pay = self.train_oracle.optimum if self.method.costs else self.train_oracle.labels
        try:
            pay(np.arange(len(self.train_oracle)))
        except BudgetSpent:
            return  # training stops at its first solve
        budget_left.hold(held_back(self.method, self.plan.workload, budget_left.room("validation")))

    def _train(self, predictor: Predictor, loss: Loss) -> Outcome:
        config = self.method.train
        monitor = self._monitor(config.validation_share, config.validation_move)
        resume = None
        if self.folder is not None:
            resume = Resume(self.folder.checkpoints, self.history, monitor, self.oracle)
        return train(
            predictor,
            loss,
            self.x_train,
            monitor=monitor,
            config=config,
            rng=np.random.default_rng(self.streams[2]),
            history=self.history,
            resume=resume,
            weights=self.train_weights,
        )

    def _monitor(self, share: float | None = None, move: float = 0.0) -> RegretMonitor:
        return RegretMonitor(self.valid_oracle, self.x_valid, share=share, move=move, weights=self.valid_weights)

    def _ingredients(self, name: str, predictor: Predictor) -> Ingredients:
        known = name in BUILT_IN and self.method.train.warm_start
        return Ingredients(
            out_of_fold=(lambda: self._out_of_fold(name)) if known else None,
            oracle=self.train_oracle,
            X=self.plan.inputs[self.split.train],
            predictor=predictor,
            config=self.method.config,
            rng=np.random.default_rng(self.streams[3]),
            tell=self._tell,
            weights=self.train_weights,
        )

    def _tell(self, loss: float, reading: Reading | None) -> None:
        epoch = 1 + sum(record.stage == "train" for record in self.history.records)
        asked = self.history.add("train", epoch, loss, reading, None)
        if asked is not None:
            raise Stopped(asked.reason)

    def _told(self, goes_on: bool) -> list[str]:
        """What the user should know of the problem, the budget and the solves that failed."""
        flat = FLAT if goes_on and self.method.looks_at_regret and self.oracle.calls.flat else None
        own_budget = self.plan.budget == self.plan.limits  # else what a grown table is worth is spent, as it should be
        refused = self.oracle.budget_left.refused if own_budget else None
        return [told for told in (flat, refused, self.oracle.failures.summary) if told]

    def _misses(self, outcome: Outcome, start: Outcome) -> bool:
        """Whether a result does not clearly beat the prediction-focused start that it followed."""
        guard, follows = self.method.train.guard, self.method.follows_start
        if self.plan.former is not None:
            follows = self.method.looks_at_regret
        return follows and not outcome.best.clearly_below(start.best, guard)

    def _report(self, loss: Loss | None, predictor: Predictor, outcome: Outcome) -> dict[str, Any]:
        """What the method itself has to tell of the predictor that is handed back."""
        if loss is None or outcome.interrupted:
            return dict(self.adjusted_report)
        with torch.no_grad():
            return loss.finish(predictor(self.x_train))
