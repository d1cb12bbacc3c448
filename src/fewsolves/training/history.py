"""The history of a run: one plain record per epoch, passed to the callbacks, and the clock of the run."""

from __future__ import annotations

import csv
import dataclasses
import io
import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from fewsolves._internal.text import csv_cell
from fewsolves.methods.reading import Reading
from fewsolves.oracle import PHASES, Budget, Calls
from fewsolves.training.reached import Reached, reached

Stage = Literal["start", "train"]
DERIVED = ("epochs", "start_regret", "best_regret", "judged")  # follow from the settings and the other columns


@dataclass(frozen=True, kw_only=True)
class EpochRecord:
    """One epoch; counts and seconds are totals since the run began."""

    stage: Stage  #: "start": the prediction-focused warm start
    epoch: int  #: counted from 1 in each stage
    train_loss: float  #: mean of the loss over the epoch, in the units of the method
    validation_regret: float | None  #: None where this epoch was not validated
    validation_error: float | None  #: its standard error
    trusted: float | None  #: share of examples whose surrogate was trusted
    solves: Mapping[str, int] = field(default_factory=dict)  #: by phase
    cost_calls: Mapping[str, int] = field(default_factory=dict)  #: by phase
    seconds: float  #: since the run began
    solver_seconds: float  #: inside `solve` and `cost`, added up over the workers
    saved: int = 0  #: evaluations without a solve: by a surrogate, or reused
    left: float | None = None  #: upper bound in seconds, by epochs and budget; None without either
    epochs: int | None = None  #: the most of this stage, where that is known
    start_regret: float | None = None  #: of the prediction-focused start, once it has been read
    best_regret: float | None = None  #: the lowest so far, the start included
    judged: str | None = None  #: the stage that this reading judges; "" has no name, None: the reading ends no stage

    def row(self) -> dict[str, Any]:
        """Flat, for a CSV file."""
        apart = ("solves", "cost_calls", "seconds", "solver_seconds", "saved", "left", *DERIVED)
        flat = {k: v for k, v in vars(self).items() if k not in apart} | {"saved": self.saved}
        flat |= {f"solves_{phase}": self.solves.get(phase, 0) for phase in PHASES}
        flat |= {f"cost_calls_{phase}": self.cost_calls.get(phase, 0) for phase in PHASES}
        return flat | {"seconds": round(self.seconds, 4), "solver_seconds": round(self.solver_seconds, 4)}


@dataclass(frozen=True)
class Stop:
    """A callback's answer that ends training."""

    reason: str  #: in a sentence; the model's `stopped_` has it


Callback = Callable[[EpochRecord], Stop | None]


class History:
    """The records of a run so far; each is passed to all callbacks, and any of them may end training."""

    def __init__(
        self,
        calls: Calls,
        callbacks: Sequence[Callback] = (),
        *,
        began: float | None = None,
        budget: Budget | None = None,
    ) -> None:
        """`calls` counts the calls of the run; it `began` at that time of `time.perf_counter`, else now."""
        self.records: list[EpochRecord] = []
        self._calls, self._callbacks, self._budget = calls, callbacks, budget or Budget()
        self._began = time.perf_counter() if began is None else began
        self._earlier = 0.0  # seconds that processes before this one spent
        self._start: float | None = None

    def note_start(self, regret: float) -> None:
        """Record the regret of the prediction-focused start."""
        self._start = regret if math.isfinite(regret) else None

    @property
    def reached(self) -> Reached:
        """Start and best so far; once the run has a result, those of its summary."""
        if self.records and self.records[-1].best_regret is not None:
            return Reached(self._start, self.records[-1].best_regret)
        return reached(self._start, (record.validation_regret for record in self.records))

    @property
    def seconds(self) -> float:
        """How long the run has taken, over all processes that had a part in it."""
        return time.perf_counter() - self._began + self._earlier

    def conclude(self, result: Reached) -> None:
        """The run has a result: the last record has its figures, which no reading of some of the rows has to equal."""
        if self.records:
            last = dataclasses.replace(self.records[-1], start_regret=result.start, best_regret=result.best)
            self._start, self.records[-1] = result.start, last

    def go_on_from(self, records: Sequence[EpochRecord], seconds: float) -> None:
        """Prepend the records that another process made in `seconds`."""
        self.records[:] = records
        self._earlier += seconds - self.seconds

    def add(
        self,
        stage: Stage,
        epoch: int,
        train_loss: float,
        reading: Reading | None,
        trusted: float | None,
        *,
        rows: int = 0,
        epochs: int | None = None,
        best: float | None = None,
        judged: str | None = None,
    ) -> Stop | None:
        """Record an epoch over `rows` rows, of at most `epochs`; return the first `Stop` of a callback.

        `best` is the regret of the best state so far by the method's own estimate; None: the lowest reading. `judged`
        names the stage that the reading ends.
        """
        calls, shares = self._calls, [*(record.trusted for record in self.records), trusted]
        known = calls.training_evaluations() - calls.training("solve") + calls.shared["solve"]
        read = _regrets(stage, reading)
        so_far = self._reached_with(read, best)
        record = EpochRecord(
            stage=stage,
            epoch=epoch,
            train_loss=train_loss,
            validation_regret=None if read is None else read.mean,
            validation_error=None if read is None else read.error,
            trusted=trusted,
            solves=self._calls.by_phase("solve"),
            cost_calls=self._calls.by_phase("cost"),
            seconds=self.seconds,
            solver_seconds=self._calls.seconds,
            saved=max(0, known) + sum(round(share * rows) for share in shares if share is not None),
            left=self._left(stage, epoch, epochs),
            epochs=epochs,
            start_regret=so_far.start,
            best_regret=so_far.best,
            judged=None if read is None else judged,
        )
        self.records.append(record)
        answers = [callback(record) for callback in self._callbacks]
        return next((answer for answer in answers if answer is not None), None)

    def _reached_with(self, read: Reading | None, best: float | None) -> Reached:
        """Start and best with this reading of regrets; `best` as in `add`."""
        if self._start is None and read is not None:
            self.note_start(read.mean)  # a method that judges its start itself reads it first
        so_far = Reached(self._start, self.reached.best if best is None else best)
        if best is None and (read is not None or so_far.best is None):
            so_far = reached(self._start, (so_far.best, None if read is None else read.mean))
        return so_far

    def _left(self, stage: Stage, epoch: int, epochs: int | None) -> float | None:
        """Seconds until the last epoch, or until the budget is spent, at the pace so far: whichever comes first."""
        if stage == "start":  # hardly anything was paid yet: there is no pace to go by
            return None
        now, calls, budget = self.seconds, self._calls, self._budget
        before = [record.seconds for record in self.records if record.stage == "start"]
        shares: list[tuple[float, float, float]] = []  # what there may be, what was used of it, in how many seconds
        if epochs is not None:
            shares.append((epochs, epoch, now - max(before, default=0.0)))
        if budget.solves is not None:
            shares.append((budget.solves, calls.total("solve") - calls.shared["solve"], now))
        if budget.cost_calls is not None:
            shares.append((budget.cost_calls, calls.total("cost") - calls.shared["cost"], now))
        if budget.seconds is not None:
            shares.append((budget.seconds, calls.seconds, now))
        left = [max(0.0, (most - used) / used * seconds) for most, used, seconds in shares if used > 0]
        return min(left, default=None)


def _regrets(stage: Stage, reading: Reading | None) -> Reading | None:
    """A reading of regrets; None of a start, which reads its prediction loss, and where every solve has failed."""
    return reading if stage == "train" and reading is not None and reading.known.size else None


def csv_text(records: Iterable[EpochRecord]) -> str:
    """One line per epoch, and a header."""
    rows = [record.row() for record in records]
    file = io.StringIO(newline="")
    writer = csv.DictWriter(file, fieldnames=list(rows[0]) if rows else ["stage", "epoch"])
    writer.writeheader()
    writer.writerows({name: csv_cell(value) for name, value in row.items()} for row in rows)
    return file.getvalue()
