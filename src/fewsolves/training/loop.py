"""Mini-batches, Adam, early stopping on a monitor, the best weights kept."""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from fewsolves.losses.base import Loss
from fewsolves.oracle import Oracle
from fewsolves.predictor import Predictor
from fewsolves.training.history import EpochRecord, Stage
from fewsolves.training.monitor import Monitor, Reading


@dataclass(frozen=True, kw_only=True)
class TrainConfig:
    """Settings of the loop; the learning rate and the stopping rule are the paper's, it leaves the others open."""

    learning_rate: float = 1e-3
    batch_size: int = 32
    max_epochs: int = 500
    patience: int = 40  # epochs without a better reading before training ends
    validation_share: float | None = None  # validation solves per training solve at the most; None: read each epoch
    validation_move: float = 0.0  # a reading waits until predictions moved so far, in standard deviations of Y
    guard: float = 1.0  # standard errors by which the result must beat its own start on validation, else the start is kept


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
) -> Outcome:
    """Train `predictor` in place on the rows X (M, n_x); afterwards it holds the weights of the best reading.

    Ctrl-C ends training after the step under way, with the best weights so far.
    """
    began = time.perf_counter() if began is None else began
    first = best = monitor(predictor)
    assert first is not None and best is not None
    best_state, best_epoch, epoch, stopped = _copy(predictor), 0, 0, "the last epoch was reached"

    def predict() -> Tensor:
        with torch.no_grad():
            y_hat: Tensor = predictor(X)
        return y_hat

    try:
        loss.start(predict())
        parameters = [p for p in (*predictor.parameters(), *loss.trained_parameters()) if p.requires_grad]
        optimiser = torch.optim.Adam(parameters, lr=config.learning_rate, fused=True)
        for epoch in range(1, config.max_epochs + 1):
            loss.begin_epoch(predict)
            train_loss = _epoch(predictor, loss, X, optimiser, config, rng)
            if not math.isfinite(train_loss):
                stopped = f"the loss became {train_loss} in epoch {epoch}; a lower learning_rate may help"
                break
            out_of_patience = epoch - best_epoch >= config.patience
            reading = monitor(predictor, final=out_of_patience or epoch == config.max_epochs)
            if reading is not None and reading.mean < best.mean:
                best, best_state, best_epoch = reading, _copy(predictor), epoch
            answers = [
                callback(_record(stage, epoch, train_loss, reading, loss, oracle, began)) for callback in callbacks
            ]
            asked = next((answer.reason for answer in answers if answer is not None), None)
            if asked is not None:
                stopped = asked
                break
            if epoch - best_epoch >= config.patience:
                stopped = f"no better for {config.patience} epochs"
                break
    except KeyboardInterrupt:
        stopped = f"interrupted in epoch {epoch}"
    predictor.load_state_dict(best_state)
    return Outcome(first, best, stopped)


def _epoch(
    predictor: Predictor,
    loss: Loss,
    X: Tensor,
    optimiser: torch.optim.Optimizer,
    config: TrainConfig,
    rng: np.random.Generator,
) -> float:
    total = 0.0
    order = torch.as_tensor(rng.permutation(len(X)))
    for index in order.split(config.batch_size):
        optimiser.zero_grad()
        value = loss(predictor(X[index]), index)
        if not torch.isfinite(value):
            return float(value.detach())
        value.backward()
        optimiser.step()
        total += float(value.detach()) * len(index)
    return total / len(X)


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
