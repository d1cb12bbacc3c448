"""The context of a method in a run: the implementation of the contract in `methods.base`."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from fewsolves.fitting.checkpoint import Checkpoints
from fewsolves.fitting.resume import Resume
from fewsolves.fitting.starts import Starts
from fewsolves.methods.base import Context, Outcome, Stopped, TrainConfig, mean_one
from fewsolves.methods.loss import ArrayLoss
from fewsolves.methods.reading import Reading
from fewsolves.oracle import Oracle
from fewsolves.predictors.families import named
from fewsolves.predictors.predictor import Predictor
from fewsolves.problem import Array
from fewsolves.training.history import History
from fewsolves.training.loop import train
from fewsolves.training.monitor import RegretMonitor

if TYPE_CHECKING:
    from fewsolves.methods.torch_loss import Loss


@dataclass(kw_only=True)
class RunContext(Context):
    """The context of a run, with its history, its starts, and the random stream of its loop."""

    name: str  #: of the predictor
    starts: Starts
    history: History
    valid_oracle: Oracle
    loop_stream: np.random.SeedSequence
    loop_checkpoints: Checkpoints | None
    on_start: Callable[[Reading], None]
    last_readings: bool  #: whether room was set aside for readings, which may then be used to the last

    @cached_property
    def _read(self) -> RegretMonitor:
        return self.monitor()

    def monitor(self, share: float | None = None, move: float = 0.0) -> RegretMonitor:
        """A reader of the validation rows."""
        valid = self.split.valid
        weights = None if self.weights is None else mean_one(self.weights[valid])
        inputs = self.inputs.take(valid)
        return RegretMonitor(self.valid_oracle, inputs, share=share, move=move, weights=weights)

    @cached_property
    def unlabelled(self) -> Array:
        every, labelled = (np.concatenate([of.train, of.valid]) for of in (self.starts.split, self.split))
        return np.setdiff1d(every, labelled)

    def start(self, rows: Array) -> Predictor:
        return self.starts.fitted_on(self.name, rows)

    def out_of_fold(self) -> Array | None:
        family = named(self.name)
        if family is None or not family.refits or not self.starts.method.common.warm_start:
            return None
        return self.starts.out_of_fold(self.name)

    def note_start(self, reading: Reading) -> None:
        self.on_start(reading)

    def validate(self, predictor: Predictor) -> Reading | None:
        return self._read(predictor, final=self.last_readings)

    def progress(self, loss: float, reading: Reading | None, *, best: float | None = None) -> None:
        epoch = 1 + sum(record.stage == "train" for record in self.history.records)
        stop = self.history.add("train", epoch, loss, reading, None, best=best)
        if stop is not None:
            raise Stopped(stop.reason)

    def minimise(self, loss: Loss | ArrayLoss, config: TrainConfig) -> Outcome:
        monitor, resume = self.monitor(config.validation_share, config.validation_move), None
        if self.loop_checkpoints is not None:
            resume = Resume(self.loop_checkpoints, self.history, monitor, self.oracle)
        ended = train(
            self.predictor,
            loss,
            self.train_inputs,
            monitor=monitor,
            config=config,
            rng=np.random.default_rng(self.loop_stream),
            history=self.history,
            resume=resume,
            weights=self.train_weights,
        )
        return dataclasses.replace(ended, loss=loss)
