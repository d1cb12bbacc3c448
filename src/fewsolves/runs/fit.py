"""From a problem and a table to a trained predictor: what every face of the library calls."""

from __future__ import annotations

import copy
import dataclasses
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from torch import nn

from fewsolves.data import Scale, Split, check_table
from fewsolves.errors import BudgetSpent, InputError
from fewsolves.methods.base import Ingredients, Loss, Method, TrainConfig
from fewsolves.methods.pfl import PFLLoss
from fewsolves.methods.reading import Reading
from fewsolves.methods.registry import METHODS, find_method
from fewsolves.oracle import Budget, Oracle, SolveConfig, probe
from fewsolves.oracle.probe import leave_out
from fewsolves.predictor import Predictor, linear, network
from fewsolves.pricing.price import Task, held_back, refuse_unaffordable
from fewsolves.problem import Array, Problem
from fewsolves.runs.folder import RunFolder
from fewsolves.runs.state import Resume, about_run, facts_of, fields_from, terms_of, weights_of
from fewsolves.training.history import EpochRecord
from fewsolves.training.interrupt import Interrupt
from fewsolves.training.loop import Callback, Outcome, Stop, train
from fewsolves.training.monitor import LossMonitor, RegretMonitor

FLAT = (
    "the regret is flat: all predictions that were tried are equally good, so there is nothing to learn from it, and "
    "the start is kept; check that `cost` depends on the decision"
)
BUILT_IN = {"linear": linear, "network": network}


@dataclass
class Fit:
    """A trained predictor and everything that is known about how it came to be."""

    method: Method
    predictor: Predictor
    predictor_name: str
    oracle: Oracle  # of the whole table
    split: Split
    start: Reading  # validation regret of the prediction-focused start
    best: Reading  # validation regret of the result
    X_train: Array
    loss: Loss | None  # None for prediction-focused learning
    stopped: str
    seconds: float
    history: list[EpochRecord] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    report: dict[str, Any] = field(default_factory=dict)  # what the method itself has to tell, for result.json
    interrupted: bool = False  # by Ctrl-C or SIGTERM


def fit(
    problem: Problem,
    X: Any,
    Y: Any,
    split: Split,
    *,
    method: str | Method,
    predictor: str | nn.Module = "auto",
    settings: Mapping[str, Any] | None = None,
    seed: int = 0,
    solving: SolveConfig | None = None,
    budget: Budget | None = None,
    folder: str | Path | RunFolder | None = None,
    ledger: str | Path | None = None,
    adopt: bool = False,
    callbacks: Sequence[Callback] = (),
) -> Fit:
    """Train on `split.train`, stop early and choose on `split.valid`; `split.test` is not looked at.

    With a `folder`, everything paid is on record there before it is used: after a crash the same call goes on where it
    stopped, and a finished one returns what it found. `ledger` is a folder that several runs share for what they paid;
    `adopt` takes over a ledger although the problem changed. A `RunFolder` stays open, for the caller to close.
    """
    began = time.perf_counter()
    recipe = find_method(method).with_settings(settings or {})
    X, Y = check_table(X, Y)
    recipe.check(problem)
    task = Task(problem, Y, split, starts=2 if isinstance(predictor, str) and predictor == "auto" else 1)
    if solving is not None and solving.asynchronous and not recipe.asynchronous:
        able = ", ".join(name for name, one in METHODS.items() if one.asynchronous)
        raise InputError(f"method {recipe.name!r} needs each solve at once; asynchronous=True is for {able}")
    if budget is not None:
        refuse_unaffordable(recipe, task, budget)
    if folder is None:
        if ledger is not None:
            raise InputError("ledger= is what runs share beside a folder of their own; give folder= too")
        with closing(Oracle(problem, Y, solving=solving, budget=budget)) as oracle:
            return _Fitting(recipe, task, oracle, X, seed, list(callbacks), began).run(predictor)
    place = folder if isinstance(folder, RunFolder) else RunFolder(folder, ledger=ledger, adopt=adopt)
    about = about_run(recipe.name, (recipe.config, recipe.train), seed, predictor, X, split)
    record = place.open(problem, Y, about, terms_of(budget, solving or SolveConfig()))
    try:
        paying = Oracle(problem, Y, solving=solving, budget=budget, ledger=record)
        with Interrupt() as interrupt, closing(paying) as oracle:
            oracle.after_answers = interrupt.check
            fitting = _Fitting(recipe, task, oracle, X, seed, [interrupt, *callbacks], began, place)
            return fitting.recovered(predictor) or fitting.run(predictor)
    finally:
        if place is not folder:
            place.close()


class _Fitting:
    """The steps of one fit, and what they share."""

    def __init__(
        self,
        recipe: Method,
        task: Task,
        oracle: Oracle,
        X: Array,
        seed: int,
        callbacks: list[Callback],
        began: float,
        folder: RunFolder | None = None,
    ) -> None:
        self.recipe, self.task, self.oracle, self.X, self.began = recipe, task, oracle, X, began
        self.folder, self.resume = folder, cast(Resume | None, None)
        self._use(task.split)
        self.streams = np.random.SeedSequence(seed).spawn(4)  # weights, start, loop, loss
        self.history: list[EpochRecord] = []
        self.callbacks: list[Callback] = [self._remember, *callbacks]

    def _use(self, split: Split) -> None:
        self.split = split
        self.train_oracle, self.valid_oracle = self.oracle.part(split.train), self.oracle.part(split.valid)
        self.x_train, self.x_valid = torch.as_tensor(self.X[split.train]), torch.as_tensor(self.X[split.valid])

    def run(self, predictor: str | nn.Module) -> Fit:
        trains = self.recipe.build is not None
        split, left_out = leave_out(self.oracle, self.split, train=trains, costs=self.recipe.costs)
        self._use(split)
        probe(self.train_oracle)
        name, chosen, outcome = self._start(predictor)
        start, loss = outcome.best, None
        before = copy.deepcopy(chosen)
        warnings = [*left_out, *outcome.warnings]
        goes_on = not outcome.ends_run  # else the start is what there is
        if goes_on and self.recipe.build is not None:
            loss = self.recipe.build(self._ingredients(chosen))
            self._set_aside()
            outcome = self._train(chosen, loss)
            warnings += outcome.warnings
        elif goes_on and self.recipe.adjust is not None:
            outcome = Outcome(*self.recipe.adjust(self._ingredients(chosen), self._monitor()))
        if goes_on and self.recipe.looks_at_regret and self.oracle.calls.flat:
            warnings.append(FLAT)
        warnings += filter(None, (self.oracle.purse.refused, self.oracle.failures.summary))
        if goes_on and self.recipe.follows_start and not outcome.best.clearly_below(start, self.recipe.train.guard):
            kept = f"{outcome.stopped}; kept its start, which nothing clearly beat on validation"
            chosen, outcome = before, dataclasses.replace(outcome, first=start, best=start, stopped=kept)
        with torch.no_grad():
            report = loss.finish(chosen(self.x_train)) if loss is not None and not outcome.interrupted else {}
        fitted = self._fit(
            predictor=chosen,
            predictor_name=name,
            start=start,
            best=outcome.best,
            loss=loss,
            stopped=outcome.stopped,
            seconds=time.perf_counter() - self.began + (self.resume.earlier if self.resume else 0.0),
            warnings=warnings + report.pop("warnings", []),
            report=report,
            interrupted=outcome.interrupted,
        )
        if self.folder is not None:
            self.folder.finish(weights_of(chosen), facts_of(fitted, self.oracle.calls))
        return fitted

    def recovered(self, predictor: str | nn.Module) -> Fit | None:
        """The result of this very run, where it has ended; its loss is not kept."""
        found = self.folder.finished() if self.folder is not None else None
        return (
            None if found is None else self._fit(**fields_from(*found, self._candidates(predictor), self.oracle.calls))
        )

    def _fit(self, **found: Any) -> Fit:
        known = {"method": self.recipe, "oracle": self.oracle, "split": self.split, "history": self.history}
        return Fit(**{**known, "X_train": self.X[self.split.train], **found})

    def _start(self, predictor: str | nn.Module) -> tuple[str, Predictor, Outcome]:
        """The prediction-focused start; of the built-in predictors, the one that decides better on validation."""
        started = []
        for name, candidate in self._candidates(predictor).items():
            pfl = self._pfl(candidate) if self.recipe.train.warm_start else None
            reading = self._monitor()(candidate)
            assert reading is not None
            ended = pfl or Outcome(reading, reading, "not trained")
            started.append((name, candidate, dataclasses.replace(ended, first=reading, best=reading)))
            if ended.ends_run:
                break
        name, candidate, outcome = min(started, key=lambda one: one[2].best.mean)
        if ended.ends_run:
            outcome = dataclasses.replace(ended, first=outcome.best, best=outcome.best)
        return name, candidate, outcome

    def _candidates(self, predictor: str | nn.Module) -> dict[str, Predictor]:
        scales = Scale.of(self.X[self.split.train]), Scale.of(self.train_oracle.Y)
        if isinstance(predictor, Predictor):
            return {"given": copy.deepcopy(predictor)}
        if isinstance(predictor, nn.Module):
            return {"given": Predictor(copy.deepcopy(predictor), *scales)}
        names = ("network", "linear") if predictor == "auto" else (predictor,)
        if unknown := [name for name in names if name not in BUILT_IN]:
            raise InputError(f"predictor is 'auto', 'linear', 'network' or a torch module, got {unknown[0]!r}")
        seed = int(self.streams[0].generate_state(1)[0])
        n_x, n_y = self.X.shape[1], self.oracle.n_y
        return {name: Predictor(BUILT_IN[name](n_x, n_y, seed=seed), *scales) for name in names}

    def _pfl(self, predictor: Predictor) -> Outcome:
        return train(
            predictor,
            PFLLoss(self.train_oracle.Y),
            self.x_train,
            monitor=LossMonitor(PFLLoss(self.valid_oracle.Y), self.x_valid),
            oracle=self.oracle,
            config=TrainConfig(max_epochs=self.recipe.train.start_epochs),
            rng=np.random.default_rng(self.streams[1]),
            stage="start",
            callbacks=self.callbacks,
            began=self.began,
        )

    def _set_aside(self) -> None:
        """With a budget, labels come first, and training leaves some readings to validation."""
        purse = self.oracle.purse
        if not purse.limited:
            return
        pay = self.train_oracle.optimum if self.recipe.costs else self.train_oracle.labels
        try:
            pay(np.arange(len(self.train_oracle)))
        except BudgetSpent:
            return  # training stops at its first solve
        purse.hold(held_back(self.recipe, self.task, purse.room("validation")))

    def _monitor(self, share: float | None = None, move: float = 0.0) -> RegretMonitor:
        return RegretMonitor(self.valid_oracle, self.x_valid, share=share, move=move)

    def _ingredients(self, predictor: Predictor) -> Ingredients:
        return Ingredients(
            oracle=self.train_oracle,
            X=self.X[self.split.train],
            predictor=predictor,
            config=self.recipe.config,
            rng=np.random.default_rng(self.streams[3]),
        )

    def _train(self, predictor: Predictor, loss: Loss) -> Outcome:
        config = self.recipe.train
        monitor = self._monitor(config.validation_share, config.validation_move)
        if self.folder is not None:
            self.resume = Resume(self.folder.checkpoints, self.history, self.began, monitor)
        return train(
            predictor,
            loss,
            self.x_train,
            monitor=monitor,
            oracle=self.oracle,
            config=config,
            rng=np.random.default_rng(self.streams[2]),
            callbacks=self.callbacks,
            began=self.began,
            resume=self.resume,
        )

    def _remember(self, record: EpochRecord) -> Stop | None:
        self.history.append(record)
        return None
