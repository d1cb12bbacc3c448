"""Epochs, early stopping on a monitor, the best weights kept."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from fewsolves.errors import BudgetSpent
from fewsolves.methods.base import Loss, State, TrainConfig
from fewsolves.methods.reading import Reading
from fewsolves.oracle import Oracle
from fewsolves.predictor import Predictor
from fewsolves.training.history import EpochRecord, Stage
from fewsolves.training.monitor import Monitor
from fewsolves.training.steps import Steps, usable


@dataclass(frozen=True)
class Stop:
    """A callback's answer that ends training."""

    reason: str


Callback = Callable[[EpochRecord], Stop | None]


@dataclass(frozen=True)
class Outcome:
    """How training ended; the predictor holds the best weights."""

    first: Reading
    best: Reading
    stopped: str
    interrupted: bool = False  # by Ctrl-C
    asked: bool = False  # by a callback
    warnings: tuple[str, ...] = ()

    @property
    def ends_run(self) -> bool:
        """Whether nothing shall come after this training."""
        return self.interrupted or self.asked


@dataclass
class Standing:
    """Where a training loop stands after an epoch."""

    best: Reading
    best_state: dict[str, Tensor]
    best_epoch: int = 0
    epoch: int = 0


class Resume(Protocol):
    """What takes checkpoints of a loop and puts one back; see `runs.state`."""

    earlier: float  # seconds that processes before this one spent

    def load(self, loss: Loss) -> State | None: ...
    def restore(self, state: State, standing: Standing, steps: Steps, oracle: Oracle) -> None: ...
    def take(self, standing: Standing, steps: Steps, oracle: Oracle) -> None: ...


def train(
    predictor: Predictor,
    loss: Loss,
    X: Tensor,
    *,
    monitor: Monitor,
    oracle: Oracle,
    config: TrainConfig,
    rng: np.random.Generator,
    stage: Stage = "train",
    callbacks: Sequence[Callback] = (),
    began: float | None = None,
    resume: Resume | None = None,
) -> Outcome:
    """Train `predictor` in place on the rows X (M, n_x); afterwards it holds the weights of the best reading.

    Ctrl-C ends training after the step under way, with the best weights so far. With `resume` it goes on from the
    newest checkpoint, and writes more.
    """
    began = time.perf_counter() if began is None else began
    first = monitor(predictor)
    assert first is not None
    interrupted, asked = False, None
    warnings: list[str] = []
    at, stopped = Standing(first, _copy(predictor)), "the last epoch was reached"
    kept = copy.deepcopy(predictor) if config.averaging else predictor

    def predict() -> Tensor:
        with torch.no_grad():
            y_hat: Tensor = predictor(X)
        return y_hat

    try:
        state = resume.load(loss) if resume is not None else None
        if state is None:
            loss.start(predict())
        steps = Steps(predictor, kept, loss, X, config, rng)
        if resume is not None and state is not None:
            resume.restore(state, at, steps, oracle)
            began -= resume.earlier
        while at.epoch < config.max_epochs:
            at.epoch = epoch = at.epoch + 1
            train_loss, spent = float("nan"), False
            try:
                loss.begin_epoch(predict)
                train_loss = steps.epoch(epoch)
            except BudgetSpent:
                spent = True
            warnings = steps.refused
            if len(warnings) > 1 or not usable(predict()):
                fault = warnings[-1] if len(warnings) > 1 else f"predictions were no usable numbers after epoch {epoch}"
                stopped = f"{fault}; a lower learning_rate may help"
                break
            out_of_patience = epoch - at.best_epoch >= config.patience
            reading = monitor(kept, final=out_of_patience or spent or epoch == config.max_epochs)
            if reading is not None and reading.mean < at.best.mean:
                at.best, at.best_state, at.best_epoch = reading, _copy(kept), epoch
            record = _record(stage, epoch, train_loss, reading, loss, oracle, began)
            answers = [callback(record) for callback in callbacks]
            asked = next((answer.reason for answer in answers if answer is not None), None)
            if asked is not None:
                stopped = asked
                break
            if spent:
                stopped = f"the budget was spent in epoch {epoch}"
                break
            if epoch - at.best_epoch >= config.patience:
                stopped = f"no better for {config.patience} epochs"
                break
            if resume is not None:
                resume.take(at, steps, oracle)
    except BudgetSpent:
        stopped = "the budget was spent before the first epoch"
    except KeyboardInterrupt:
        stopped, interrupted = f"interrupted in epoch {at.epoch}", True
    predictor.load_state_dict(at.best_state)
    return Outcome(first, at.best, stopped, interrupted, asked is not None, tuple(warnings))


def _copy(predictor: Predictor) -> dict[str, Tensor]:
    return copy.deepcopy(predictor.state_dict())


def _record(
    stage: Stage, epoch: int, train_loss: float, reading: Reading | None, loss: Loss, oracle: Oracle, began: float
) -> EpochRecord:
    read = reading if reading is not None and stage == "train" else None  # a start reads its prediction loss
    return EpochRecord(
        stage=stage,
        epoch=epoch,
        train_loss=train_loss,
        validation_regret=read.mean if read else None,
        validation_error=read.error if read else None,
        trusted=loss.trusted,
        solves=oracle.calls.by_phase("solve"),
        cost_calls=oracle.calls.by_phase("cost"),
        seconds=time.perf_counter() - began,
        solver_seconds=oracle.calls.seconds,
    )
