"""Mini-batches, Adam, early stopping on a monitor, the best weights kept."""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Callable, Iterator, Sequence
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

    warm_start: bool | None = None  # from prediction-focused learning, else random weights; None: as the method does
    learning_rate: float = 1e-3
    batch_size: int = 32
    max_epochs: int = 500
    start_epochs: int = 500  # at most so many for the prediction-focused start
    steps_per_epoch: int | None = None  # mini-batches in an epoch; None: as many as see every row once
    averaging: float = 0.0  # what is kept and validated is the mean of the weights over about so many epochs
    patience: int = 40  # epochs without a better reading before training ends
    validation_share: float | None = None  # validation solves per training solve at the most; None: read each epoch
    validation_move: float = 0.0  # a reading waits until predictions moved so far, in standard deviations of Y
    guard: float = 1.0  # standard errors by which the result must beat a warm start on validation, else that is kept


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
    interrupted = False
    best_state, best_epoch, epoch, stopped = _copy(predictor), 0, 0, "the last epoch was reached"
    kept = copy.deepcopy(predictor) if config.averaging else predictor

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
            train_loss = _epoch(predictor, kept, loss, X, optimiser, config, rng)
            if not math.isfinite(train_loss):
                stopped = f"the loss became {train_loss} in epoch {epoch}; a lower learning_rate may help"
                break
            out_of_patience = epoch - best_epoch >= config.patience
            reading = monitor(kept, final=out_of_patience or epoch == config.max_epochs)
            if reading is not None and reading.mean < best.mean:
                best, best_state, best_epoch = reading, _copy(kept), epoch
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
        stopped, interrupted = f"interrupted in epoch {epoch}", True
    predictor.load_state_dict(best_state)
    return Outcome(first, best, stopped, interrupted)


def _epoch(
    predictor: Predictor,
    kept: Predictor,
    loss: Loss,
    X: Tensor,
    optimiser: torch.optim.Optimizer,
    config: TrainConfig,
    rng: np.random.Generator,
) -> float:
    total, seen = 0.0, 0
    for index in _batches(len(X), config, rng):
        optimiser.zero_grad()
        value = loss(predictor(X[index]), index)
        if not torch.isfinite(value):
            return float(value.detach())
        value.backward()
        optimiser.step()
        if kept is not predictor:
            weight = 1.0 / (config.averaging * -(-len(X) // config.batch_size) + 1.0)
            with torch.no_grad():
                torch._foreach_lerp_(list(kept.parameters()), list(predictor.parameters()), weight)
        total, seen = total + float(value.detach()) * len(index), seen + len(index)
    return total / seen


def _batches(n: int, config: TrainConfig, rng: np.random.Generator) -> Iterator[Tensor]:
    """The rows of one epoch: in a random order, which is drawn anew where an epoch is longer than a pass."""
    in_a_pass = -(-n // config.batch_size)
    left = config.steps_per_epoch or in_a_pass
    while left > 0:
        order = torch.as_tensor(rng.permutation(n))
        yield from order.split(config.batch_size)[:left]
        left -= in_a_pass


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
