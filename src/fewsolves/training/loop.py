"""The training loop: epochs, early stopping on a monitor, the best weights kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from fewsolves.errors import BudgetSpent
from fewsolves.methods.base import Outcome, State, TrainConfig
from fewsolves.methods.loss import ArrayLoss, as_array_loss
from fewsolves.methods.reading import Reading
from fewsolves.predictors.predictor import Predictor
from fewsolves.problem import Array
from fewsolves.training.history import History, Stage, Stop
from fewsolves.training.monitor import Monitor
from fewsolves.training.steps import Steps

if TYPE_CHECKING:
    from fewsolves.methods.torch_loss import Loss


@dataclass
class Standing:
    """The state of a training loop after an epoch."""

    best: Reading
    best_state: dict[str, Array]
    best_epoch: int = 0
    epoch: int = 0

    def since_best(self) -> int:
        """Epochs without a better reading."""
        return self.epoch - self.best_epoch


class Resume(Protocol):
    """Writes and restores checkpoints of a loop; see `fitting.resume`."""

    def load(self, loss: ArrayLoss) -> State | None: ...
    def restore(self, state: State, standing: Standing, steps: Steps) -> None: ...
    def take(self, standing: Standing, steps: Steps) -> None: ...


class Ending(NamedTuple):
    """Why training ends."""

    reason: str
    stop_requested: bool = False
    interrupted: bool = False


def train(
    predictor: Predictor,
    loss: ArrayLoss | Loss,
    X: Array,
    *,
    monitor: Monitor,
    config: TrainConfig,
    rng: np.random.Generator,
    history: History | None,
    stage: Stage = "train",
    resume: Resume | None = None,
    weights: Array | None = None,
) -> Outcome:
    """Train `predictor` in place on the rows X (M, n_x); afterwards it holds the weights of the best reading.

    Ctrl-C ends training after the step under way, with the best weights so far. With `resume` it goes on from the
    newest checkpoint, and writes more. `weights` (M,) are those of the rows, 1 on average. Without a `history`, no
    epoch is recorded.
    """
    first, loss = monitor(predictor), as_array_loss(loss)
    assert first is not None
    at, refused = Standing(first, predictor.state_dict()), list[str]()
    try:
        state = resume.load(loss) if resume is not None else None
        if state is None:
            loss.start(predictor(X))
        steps = Steps(predictor, loss, X, config, rng, weights)
        refused = steps.refused
        if resume is not None and state is not None:
            resume.restore(state, at, steps)
        ending = _Epochs(at, steps, monitor, history, stage).run(resume)
    except BudgetSpent:
        ending = Ending("the budget was spent before the first epoch")
    except KeyboardInterrupt:
        ending = Ending(f"interrupted in epoch {at.epoch}", interrupted=True)
    predictor.load_state_dict(at.best_state)
    return Outcome(first, at.best, ending.reason, ending.interrupted, ending.stop_requested, tuple(refused))


class _Epochs:
    """The epochs of one training, and their common state."""

    def __init__(self, at: Standing, steps: Steps, monitor: Monitor, history: History | None, stage: Stage) -> None:
        self.at, self.steps, self.monitor, self.history, self.stage = at, steps, monitor, history, stage
        self.config = steps.config

    def run(self, resume: Resume | None) -> Ending:
        while self.at.epoch < self.config.max_epochs:
            ending = self._epoch()
            if ending is not None:
                return ending
            if resume is not None:
                resume.take(self.at, self.steps)
        return Ending("the last epoch was reached")

    def _epoch(self) -> Ending | None:
        """Train, read, record; why training ends with it, or None where it goes on."""
        self.at.epoch += 1
        train_loss, spent = self._train()
        fault = self.steps.fault(self.at.epoch)
        if fault is not None:
            return Ending(f"{fault}; a lower learning_rate may help")
        reading, stop = self._read(spent), None
        if self.history is not None:
            trusted = self.steps.loss.trusted
            rows, most = self.steps.rows_per_epoch, self.config.max_epochs
            stop = self.history.add(self.stage, self.at.epoch, train_loss, reading, trusted, rows=rows, epochs=most)
        return stopping_rule(self.at, self.config, stop=stop, spent=spent)

    def _train(self) -> tuple[float, bool]:
        """The mean loss of the epoch, and whether the budget was spent in it."""
        try:
            self.steps.loss.begin_epoch(self.steps.predict)
            return self.steps.epoch(self.at.epoch), False
        except BudgetSpent:
            return float("nan"), True

    def _read(self, spent: bool) -> Reading | None:
        """A reading, where the monitor finds it worth its price; the best one is kept with its weights."""
        at, kept = self.at, self.steps.kept
        last = spent or at.since_best() >= self.config.patience or at.epoch == self.config.max_epochs
        reading = self.monitor(kept, final=last)
        if reading is not None and reading.mean < at.best.mean:
            at.best, at.best_state, at.best_epoch = reading, kept.state_dict(), at.epoch
        return reading


def stopping_rule(at: Standing, config: TrainConfig, *, stop: Stop | None, spent: bool) -> Ending | None:
    """Why training ends after this epoch, or None where it goes on."""
    if stop is not None:
        return Ending(stop.reason, stop_requested=True)
    if spent:
        return Ending(f"the budget was spent in epoch {at.epoch}")
    if at.since_best() >= config.patience:
        return Ending(f"no better for {config.patience} epochs")
    return None
