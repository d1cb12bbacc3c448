"""From a problem and a table to a trained predictor: what every face of the library calls."""

from __future__ import annotations

import copy
import dataclasses
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import nn

from fewsolves.data import Scale, Split, check_table
from fewsolves.errors import InputError
from fewsolves.losses.base import Loss
from fewsolves.losses.pfl import PFLLoss
from fewsolves.methods import Ingredients, Method, find_method
from fewsolves.oracle import Oracle, SolveConfig, probe
from fewsolves.predictor import Predictor, linear, network
from fewsolves.problem import Array, Problem
from fewsolves.training.history import EpochRecord
from fewsolves.training.loop import Callback, Outcome, Stop, TrainConfig, train
from fewsolves.training.monitor import LossMonitor, Reading, RegretMonitor

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
    callbacks: Sequence[Callback] = (),
) -> Fit:
    """Train on `split.train`, stop early and choose on `split.valid`; `split.test` is not looked at."""
    began = time.perf_counter()
    recipe = find_method(method).with_settings(settings or {})
    X, Y = check_table(X, Y)
    recipe.check(problem)
    oracle = Oracle(problem, Y, solving=solving)
    try:
        return _Fitting(recipe, oracle, X, split, seed, list(callbacks), began).run(predictor)
    finally:
        oracle.close()


class _Fitting:
    """The steps of one fit, and what they share."""

    def __init__(
        self,
        recipe: Method,
        oracle: Oracle,
        X: Array,
        split: Split,
        seed: int,
        callbacks: list[Callback],
        began: float,
    ) -> None:
        self.recipe, self.oracle, self.X, self.split, self.began = recipe, oracle, X, split, began
        self.train_oracle, self.valid_oracle = oracle.part(split.train), oracle.part(split.valid)
        self.x_train, self.x_valid = torch.as_tensor(X[split.train]), torch.as_tensor(X[split.valid])
        self.streams = np.random.SeedSequence(seed).spawn(4)  # weights, start, loop, loss
        self.history: list[EpochRecord] = []
        self.callbacks: list[Callback] = [self._remember, *callbacks]

    def run(self, predictor: str | nn.Module) -> Fit:
        probe(self.train_oracle)
        name, chosen, outcome = self._start(predictor)
        start, loss = outcome.best, None
        before = copy.deepcopy(chosen)
        if outcome.interrupted:
            pass  # the start is what there is
        elif self.recipe.build is not None:
            loss = self.recipe.build(self._ingredients(chosen))
            outcome = self._train(chosen, loss)
        elif self.recipe.adjust is not None:
            outcome = self.recipe.adjust(self._ingredients(chosen), self._monitor())
        if self.recipe.follows_start and not outcome.best.clearly_below(start, self.recipe.train.guard):
            kept = f"{outcome.stopped}; kept its start, which nothing clearly beat on validation"
            chosen, outcome = before, Outcome(start, start, kept, outcome.interrupted)
        with torch.no_grad():
            report = loss.finish(chosen(self.x_train)) if loss is not None and not outcome.interrupted else {}
        return Fit(
            method=self.recipe,
            predictor=chosen,
            predictor_name=name,
            oracle=self.oracle,
            split=self.split,
            start=start,
            best=outcome.best,
            X_train=self.X[self.split.train],
            loss=loss,
            stopped=outcome.stopped,
            seconds=time.perf_counter() - self.began,
            history=self.history,
            warnings=report.pop("warnings", []),
            report=report,
        )

    def _start(self, predictor: str | nn.Module) -> tuple[str, Predictor, Outcome]:
        """The prediction-focused start; of the built-in predictors, the one that decides better on validation."""
        started = []
        for name, candidate in self._candidates(predictor).items():
            pfl = self._pfl(candidate) if self.recipe.train.warm_start else None
            reading = self._monitor()(candidate)
            assert reading is not None
            stopped, interrupted = (pfl.stopped, pfl.interrupted) if pfl else ("not trained", False)
            started.append((name, candidate, Outcome(reading, reading, stopped, interrupted)))
            if interrupted:
                break
        name, candidate, outcome = min(started, key=lambda one: one[2].best.mean)
        if interrupted:
            outcome = dataclasses.replace(outcome, stopped=stopped, interrupted=True)
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
        return train(
            predictor,
            loss,
            self.x_train,
            monitor=self._monitor(config.validation_share, config.validation_move),
            oracle=self.oracle,
            config=config,
            rng=np.random.default_rng(self.streams[2]),
            callbacks=self.callbacks,
            began=self.began,
        )

    def _remember(self, record: EpochRecord) -> Stop | None:
        self.history.append(record)
        return None
