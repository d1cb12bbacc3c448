"""The contract of a method: `Trainer.train(context) -> Outcome`.

    Trainer            a method: name, summary, settings, `train`, and its `demand` for solves
    GradientTrainer    minimises a loss by the training loop, a torch `Loss` or one in NumPy: what most methods are
    Context            the inputs of a method: oracle, rows, started predictor, validation, random numbers
    Outcome            how training ended; the predictor of the context then holds the result

A run starts a predictor by prediction-focused learning, calls `train`, and compares the result with the start on the
validation rows. A method changes `context.predictor` in place.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np

from fewsolves._internal.text import meant
from fewsolves.data import Split
from fewsolves.errors import InputError, NotApplicableError
from fewsolves.methods.config import START_EPOCHS, WARM_START, PlainConfig, StartConfig, TrainConfig
from fewsolves.methods.loss import ArrayLoss, State
from fewsolves.methods.reading import Reading
from fewsolves.oracle import Oracle, SolveConfig
from fewsolves.oracle.budget import BudgetLeft
from fewsolves.predictors.inputs import Inputs
from fewsolves.predictors.predictor import Predictor
from fewsolves.problem import Array, Problem

if TYPE_CHECKING:
    from fewsolves.methods.torch_loss import Loss

__all__ = [
    "START_EPOCHS",
    "WARM_START",
    "Checkpoints",
    "Context",
    "Demand",
    "GradientTrainer",
    "Outcome",
    "PlainConfig",
    "StartConfig",
    "State",
    "Stopped",
    "TrainConfig",
    "Trainer",
    "Validate",
]

READINGS = 8  # of a method that trains on without solves

PLAIN, START, LOOP = PlainConfig(), StartConfig(), TrainConfig()


class Stopped(Exception):  # noqa: N818 (it is no fault)
    """A callback ends a method while it trains; `Context.progress` raises it."""


@dataclass(frozen=True)
class Outcome:
    """How training ended; the predictor of the context holds the result."""

    first: Reading  #: validation reading before training
    best: Reading  #: validation reading of the result
    stopped: str  #: why training ended, in a sentence
    interrupted: bool = False  #: by Ctrl-C or a signal
    stop_requested: bool = False  #: by a callback: no further training follows
    warnings: tuple[str, ...] = ()  #: what the user should know
    report: Mapping[str, Any] = field(default_factory=dict)  #: facts of the method, for result.json
    loss: Loss | ArrayLoss | None = None  #: the loss that was minimised, where there was one

    @property
    def ends_run(self) -> bool:
        """Whether no further training follows."""
        return self.interrupted or self.stop_requested


Validate = Callable[[Predictor], Reading | None]
"""Reads the regret of a predictor on the validation rows, paid; None where the budget has no room for it."""


class Checkpoints(Protocol):
    """Named snapshots of a method in the folder of its run."""

    def save(self, name: str, arrays: Mapping[str, Array], facts: Mapping[str, Any]) -> None:
        """Write a snapshot; the counts of the run go with it.

        Args:
            name: Its name: letters, digits and hyphens. The last but one of the same name is replaced.
            arrays: By name.
            facts: What JSON can hold.
        """

    def load(self, name: str, take: Callable[[State], None]) -> bool:
        """Continue from the newest snapshot of this name that fits; whether there was one.

        `take` is called with it, and raises where it does not fit: then the one before is tried, and at last the run is
        replayed. Afterwards the counts of the run are those of the snapshot.

        Args:
            name: Its name.
            take: Takes a snapshot; where it raises, nothing has changed.
        """


@dataclass(kw_only=True)
class Context:
    """The inputs of a method, and its connection to the run.

    Rows are numbered as in the table; `oracle`, `inputs`, `weights` and `groups` cover all of them.
    """

    oracle: Oracle  #: over all rows of the table: the only way to call the user's functions
    split: Split  #: the rows to train and to validate on
    inputs: Inputs  #: what the predictor sees of each row
    predictor: Predictor  #: started; `train` changes it in place
    settings: Any  #: of the method
    rng: np.random.Generator  #: the method's own random stream
    weights: Array | None = None  #: (n,) of the rows; None: all alike
    groups: Array | None = None  #: (n,) labels of rows that stay together, or None
    validation_given: bool = False  #: the user chose the validation rows, by `validation=` or a split
    time_ordered: bool = False  #: the validation rows are the last ones
    continues: bool = False  #: the predictor comes from a former run, or is not to be started again on other rows
    started: Outcome | None = None  #: what came of the prediction-focused start
    checkpoints: Checkpoints | None = None  #: None without a folder

    @cached_property
    def train_oracle(self) -> Oracle:
        """The oracle over the training rows, by their position."""
        return self.oracle.part(self.split.train)

    @cached_property
    def train_inputs(self) -> Array:
        """(n_train, ...) The inputs of the training rows."""
        return self.inputs.take(self.split.train)

    @property
    def train_weights(self) -> Array | None:
        """(n_train,) The weights of the training rows, 1 on average; None: all alike."""
        return None if self.weights is None else mean_one(self.weights[self.split.train])

    @property
    def budget_left(self) -> BudgetLeft:
        """The unspent part of the budget."""
        return self.oracle.budget_left

    def start(self, rows: Array) -> Predictor:
        """A predictor of the same family after prediction-focused learning on these rows of the table only.

        Where a forecaster is corrected: the correction that changes nothing yet, over forecasts out of fold.

        Args:
            rows: (B,) Numbers of rows of the table.
        """
        raise NotImplementedError

    @property
    def unlabelled(self) -> Array:
        """(m,) Rows of the table that only the prediction-focused start is fitted on: no label of theirs is paid."""
        return np.empty(0, dtype=int)

    def out_of_fold(self) -> Array | None:
        """(n_train, n_y) Predictions of the training rows by models that have not seen them.

        None where the predictor cannot be fitted again: a module of the user's, a forecaster, or random weights.
        """
        return None

    def note_start(self, reading: Reading) -> None:
        """Warn of what the regrets of the start show, before more is paid; for a method that reads its start itself.

        Args:
            reading: The regrets of the start.
        """

    def validate(self, predictor: Predictor) -> Reading | None:
        """Read the regret of a predictor on the validation rows, paid; None where the budget has no room for it.

        Args:
            predictor: The predictor to read.
        """
        raise NotImplementedError

    def progress(
        self, loss: float, reading: Reading | None, *, best: float | None = None, stage: str | None = None
    ) -> None:
        """Record an epoch and call the callbacks; raises `Stopped` where one of them ends training.

        Args:
            loss: The mean loss of the epoch.
            reading: Of the validation rows, where there was one.
            best: Mean regret of the best state so far, where the method estimates it. None: the lowest reading.
            stage: The name of the stage that ends with this reading, such as "stage 2: pairs", for `fewsolves watch`.
        """

    def minimise(self, loss: Loss | ArrayLoss, config: TrainConfig) -> Outcome:
        """Minimise a loss by the training loop, with early stopping and checkpoints.

        Args:
            loss: The loss.
            config: Settings of the loop.
        """
        raise NotImplementedError


def mean_one(weights: Array) -> Array:
    """The same weights with a mean of 1."""
    scaled: Array = weights / weights.mean()
    return scaled


@dataclass(frozen=True, kw_only=True)
class Demand:
    """The demand of a method for solves: the basis of quotes and of the budget check."""

    training_rows: bool = True  #: it pays for training rows; False: for validation rows alone
    cost_calls: bool = True  #: training calls `cost`; a linear problem's objective is known without it
    points: int = 0  #: evaluations of each row before training
    common_points: bool = False  #: these are the same for all rows, so each is solved once
    readings: int | None = None  #: validation readings, where the settings determine them
    online_solves: float | None = None  #: per training row, where the settings determine them
    by_evidence: bool = False  #: it pays more where it finds that it gains
    figures: str | None = None  #: the method whose measured figures a quote takes; None: its own
    bytes_stored: int = 0  #: per number of a paid point; by `measure.quote_figures --memory` of the studies


class Trainer:
    """A method: how a started predictor is trained. Subclasses define the attributes and `train`."""

    name: str  #: by which `DecisionRegressor(method=)` finds it
    summary: str  #: one line: what it does and what it costs
    settings: Any = PLAIN  #: its own settings, an object of a `settings` class
    common: Any = START  #: settings that it shares with other methods: `StartConfig`, or `TrainConfig` for the loop
    looks_at_regret: ClassVar[bool] = True  #: whether it does more than prediction-focused learning
    cross_fits: ClassVar[bool] = False  #: whether it splits the rows and judges its result by itself
    asynchronous: bool = False  #: whether it can continue while its solves are under way

    def train(self, context: Context) -> Outcome:
        """Train `context.predictor` in place.

        Args:
            context: The inputs of the method, and its connection to the run.
        """
        raise NotImplementedError

    def refuse(self, problem: Problem) -> str | None:
        """Why the method does not fit a problem, or None where it does.

        Args:
            problem: What is decided.
        """
        return None

    def check_settings(self, problem: Problem, solving: SolveConfig) -> None:
        """Raise where the settings do not go with the problem, or with the way it is solved.

        Args:
            problem: What is decided.
            solving: How solves run.
        """

    def demand(self, n_y: int) -> Demand:
        """The demand for solves, by the settings.

        Args:
            n_y: Parameters that are predicted.
        """
        return Demand()

    def rows_to_label(
        self, split: Split, solves: int | None, groups: Array | None = None, rng: np.random.Generator | None = None
    ) -> Split:
        """The rows whose labels it pays for, all by default; a prediction-focused start is fitted on all rows.

        Args:
            split: The rows to train and to validate on.
            solves: Those of the budget. None: no limit.
            groups: (n,) Labels of rows that stay together, or None.
            rng: Draws a sample where the solves do not suffice for all rows. None: of a fixed seed.
        """
        return split

    @property
    def readings_held_back(self) -> int:
        """Upper bound of the validation readings that a budget reserves during training."""
        return 1

    def starts_warm(self) -> bool:
        """Whether it begins with prediction-focused learning where `warm_start` is None."""
        return True

    @property
    def follows_start(self) -> bool:
        """Whether training follows a prediction-focused start, which the result must then beat."""
        return bool(self.common.warm_start) and self.looks_at_regret

    @property
    def recorded(self) -> TrainConfig:
        """The common settings in the form in which all runs are on record."""
        return self.common if isinstance(self.common, TrainConfig) else TrainConfig(**vars(self.common))

    def check(self, problem: Problem, solving: SolveConfig) -> None:
        """Raise where the problem, or the way it is solved, is outside the assumptions of the method.

        Args:
            problem: What is decided.
            solving: How solves run.
        """
        reason = self.refuse(problem)
        if reason is not None:
            raise NotApplicableError(f"method {self.name!r} does not fit {problem.name!r}: {reason}")
        self.check_settings(problem, solving)

    def with_settings(self, settings: Mapping[str, Any]) -> Trainer:
        """The same method with some settings changed; raises where it has no such setting.

        Args:
            settings: New values by name.
        """
        made = copy.copy(self)
        own, common = (frozenset(one.name for one in dataclasses.fields(part)) for part in (self.settings, self.common))
        for name in settings:
            if name not in own | common:
                raise InputError(self._no_setting(name, sorted(own | common)))
        made.settings = dataclasses.replace(self.settings, **{k: v for k, v in settings.items() if k in own})
        made.common = dataclasses.replace(self.common, **{k: v for k, v in settings.items() if k in common})
        if made.common.warm_start is None:
            made.common = dataclasses.replace(made.common, warm_start=made.starts_warm())
        return made

    def _no_setting(self, name: str, known: list[str]) -> str:
        found = meant(name, known, listed=f"It has {', '.join(known)}")
        return f"method {self.name!r} has no setting {name!r}; {found}"


class GradientTrainer(Trainer):
    """Minimises a loss by the training loop: mini-batches, Adam, early stopping. Subclasses define `loss`."""

    common: TrainConfig = LOOP  #: settings of the loop

    @property
    def readings_held_back(self) -> int:
        """Several where readings wait for each other: training may then continue without a solve."""
        return 1 if self.common.validation_share is None else READINGS

    def loss(self, context: Context) -> Loss | ArrayLoss:
        """The loss that is minimised over the training rows.

        Args:
            context: The inputs of the method, and its connection to the run.
        """
        raise NotImplementedError

    def train(self, context: Context) -> Outcome:
        """Minimise the loss.

        Args:
            context: The inputs of the method, and its connection to the run.
        """
        return context.minimise(self.loss(context), self.common)
