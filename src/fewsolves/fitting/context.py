"""The context of a method in a run: the implementation of the contract in `methods.base`."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from fewsolves._internal.text import number
from fewsolves.errors import InputError
from fewsolves.fitting.checkpoint import Checkpoints
from fewsolves.fitting.resume import Resume
from fewsolves.fitting.starts import Starts
from fewsolves.methods.base import Context, Outcome, Stopped, TrainConfig, mean_one
from fewsolves.methods.loss import ArrayLoss
from fewsolves.methods.reading import CLEAR, FEW, Reading
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
        note_start(self.history, reading)

    def validate(self, predictor: Predictor) -> Reading | None:
        return self._read(predictor, final=self.last_readings)

    def progress(
        self, loss: float, reading: Reading | None, *, best: float | None = None, stage: str | None = None
    ) -> None:
        records = [record for record in self.history.records if record.stage == "train"]
        if stage is None and best is not None and reading is not None and records:
            stage = ""  # a method that estimates its best state judges a change by each reading after the first
        stop = self.history.add("train", 1 + len(records), loss, reading, None, best=best, judged=stage)
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


def note_start(history: History, start: Reading) -> None:
    """Record the regrets of the start; raise where they are clearly below 0, before more solves are paid for."""
    history.note_start(start.mean)
    share = _below(start)
    if not share:
        return
    raise InputError(
        f"regrets at the start are below 0 ({number(start.mean)} on average, {share:.0%} of {len(start.known)} rows): "
        f"decisions at predictions cost less than decisions at the truth, so there is no regret to reduce. Either "
        f"`cost` is a profit: it is minimised, so return its negative. Or `solve` is not optimal for this cost (a "
        f"heuristic, a gap, another objective): let it solve for the cost that `cost` returns, or give it more time. "
        f"fs.doctor(problem, X, Y) shows which"
    )


def notes_of_result(result: Reading) -> list[str]:
    """A warning where the regrets of the result are clearly below 0, which training can lead to."""
    share, rows = _below(result), len(result.known)
    if not share:
        return []
    return [
        f"regrets of the result are below 0 ({number(result.mean)} on average, {share:.0%} of {rows} rows): "
        f"its decisions cost less than those at the truth. A heuristic may do that. Where `solve` is exact, check "
        f"`cost`: its first argument is the truth, its second the decision, and it is minimised"
    ]


def _below(found: Reading) -> float:
    """The share of regrets below 0, where their mean is clearly below 0; else 0."""
    known = found.known
    share = float((known < 0).mean()) if known.size else 0.0
    most = 0.5 if len(known) >= FEW else 0.99  # of a few rows, all must be below 0
    return share if len(known) > 1 and share > most and found.mean < -CLEAR * found.error else 0.0
