"""What every method is: (y_hat, index) -> a scalar whose backward() trains the predictor.

y_hat  (B, n_y)  predictions in the units of Y, differentiable        index (B,)  positions in the training rows
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from fewsolves.data import Scale
from fewsolves.errors import InputError, NotApplicableError
from fewsolves.methods.reading import Reading
from fewsolves.oracle import Oracle, SolveConfig
from fewsolves.oracle.former import PaidPoints
from fewsolves.predictors.predictor import Predictor
from fewsolves.problem import Array, Problem
from fewsolves.settings import setting, settings

if TYPE_CHECKING:
    from fewsolves.methods.gp_surrogate.surrogate.export import ExportedSurrogate


class State(NamedTuple):
    """What a part of training knows, as arrays and as plain JSON."""

    arrays: dict[str, Array]  #: by name
    facts: dict[str, Any]  #: what JSON can hold


class Loss(nn.Module):
    """Base of all methods; a plain prediction loss needs `forward` only."""

    def start(self, y_hat: Tensor) -> None:
        """Once, before the first step, with the predictions (M, n_y) for all training rows.

        Args:
            y_hat: (M, n_y) Predictions.
        """

    def begin_epoch(self, predict: Callable[[], Tensor]) -> None:
        """Before each epoch; `predict()` gives the predictions for all training rows, without gradient.

        Args:
            predict: Gives the predictions (M, n_y).
        """

    def with_slope(self, y_hat: Tensor, index: Tensor) -> tuple[float, Tensor] | None:
        """What `forward` gives, and its slope by y_hat (B, n_y), without autograd; None where that cannot be told.

        The loop then asks `forward`, so None must change nothing. A class with a `forward` of its own needs its own.

        Args:
            y_hat: (B, n_y) Predictions.
            index: (B,) Positions in the training rows.
        """
        return None

    def trained_parameters(self) -> Iterable[nn.Parameter]:
        """What the loop trains beside the predictor."""
        return self.parameters()

    @property
    def trusted(self) -> float | None:
        """Share of this epoch's examples that needed no solve thanks to a surrogate; None without one."""
        return None

    def state(self) -> State | None:
        """All that training changed, for a checkpoint; None where it cannot be told: training is then replayed."""
        return None

    def restore(self, state: State) -> None:
        """Go on from what `state` told, in place of `start`.

        Args:
            state: What `state` told.
        """
        raise ValueError(f"{type(self).__name__} tells no state, so there is none to go on from")

    def export(self) -> ExportedSurrogate | None:
        """What was learned of the regret, for use without a solver; None where nothing was."""
        return None

    def paid_points(self) -> PaidPoints | None:
        """What was paid for, by position in the training rows; None: nothing that could be used again.

        A later run over more rows goes on with it, where there is no ledger.
        """
        return None

    def finish(self, y_hat: Tensor) -> dict[str, Any]:
        """Once, after training, with the final predictions: what this method has to tell, for result.json.

        Args:
            y_hat: (M, n_y) Predictions.
        """
        return {}


class OracleLoss(Loss):
    """A loss that pays: it knows the oracle of its training rows and the scale of Y."""

    scale: Tensor

    def __init__(self, oracle: Oracle) -> None:
        super().__init__()
        self.oracle = oracle
        self.register_buffer("scale", torch.as_tensor(Scale.of(oracle.Y).std))

    def _module_state(self, rng: np.random.Generator | None, **facts: Any) -> State:
        """Parameters and buffers, the random stream, and what else is told."""
        arrays = {name: values.detach().numpy().copy() for name, values in self.state_dict().items()}
        return State(arrays, {"rng": rng.bit_generator.state if rng is not None else None, **facts})

    def _restore_module(self, state: State, rng: np.random.Generator | None) -> None:
        with torch.no_grad():
            for name, values in self.state_dict().items():
                values.copy_(torch.as_tensor(state.arrays[name]))
        if rng is not None:
            rng.bit_generator.state = state.facts["rng"]


@settings
class TrainConfig:
    """Settings of the loop; the learning rate and the stopping rule are the paper's, it leaves the others open."""

    warm_start: bool | None = setting(
        "begin with prediction-focused learning, else with random weights; None: as the method does", default=None
    )
    learning_rate: float = setting("learning rate of Adam", default=1e-3, above=0)
    batch_size: int = setting("rows in a mini-batch", default=32, least=1)
    max_epochs: int = setting("epochs of training at the most", default=500, least=0)
    start_epochs: int | None = setting(
        "epochs of the prediction-focused start at the most; None: a linear predictor is solved for, others get 500",
        default=None,
        least=0,
    )
    steps_per_epoch: int | None = setting(
        "mini-batches in an epoch; None: as many as see every row once", default=None, least=1
    )
    averaging: float = setting(
        "what is kept and validated is the mean of the weights over about so many epochs", default=0.0, least=0
    )
    patience: int = setting("epochs without a better reading before training ends", default=40, least=1)
    validation_share: float | None = setting(
        "validation solves per training solve at the most; None: read each epoch", default=None, least=0
    )
    validation_move: float = setting(
        "a reading waits until predictions moved so far, in standard deviations of Y", default=0.0, least=0
    )
    guard: float = setting(
        "standard errors by which the result must beat a warm start on validation, else that is kept", default=1.0
    )


@settings
class PlainConfig:
    """A method without settings of its own."""


PLAIN, LOOP = PlainConfig(), TrainConfig()


@dataclass(frozen=True, kw_only=True)
class Ingredients:
    """What a recipe may use: the training rows, and its own random stream."""

    oracle: Oracle  #: of the training rows
    X: Array  #: (n, n_x) context of these rows
    predictor: Predictor  #: that will be trained
    config: Any  #: settings of the loss
    rng: np.random.Generator  #: random numbers of its own
    out_of_fold: Callable[[], Array] | None = None
    """Predictions (n, n_y) of the training rows by models that have not seen them; None for a module of the user's."""
    tell: Callable[[float, Reading | None], None] = lambda loss, reading: None
    """For `adjust`: an epoch is over, with this loss and reading; raises `Stopped` where a callback asks for it."""
    weights: Array | None = None
    """For `adjust`: of the training rows, 1 on average; None: all alike. The loop weighs the slope of a loss itself."""


class Stopped(Exception):  # noqa: N818 (it is no fault)
    """A callback ends a method that trains by itself."""


Validate = Callable[[Predictor], Reading | None]
"""Reads the regret of a predictor on validation rows, paid; None where the budget has no room for it."""


class Adjusted(NamedTuple):
    """What came of a start that was changed in place."""

    first: Reading
    best: Reading
    told: str  #: in a sentence
    interrupted: bool = False
    report: Mapping[str, Any] = {}  #: for result.json


@dataclass(frozen=True, kw_only=True)
class Method:
    """A named recipe that turns (y_hat, example) into a loss."""

    name: str  #: by which `DecisionRegressor(method=)` finds it
    summary: str  #: one line: what it does and what it costs
    build: Callable[[Ingredients], Loss] | None = None  #: the loss that is trained on; None: only the start is trained
    adjust: Callable[[Ingredients, Validate], Adjusted] | None = None  #: instead: changes the start by itself
    adjusts_on_training_rows: bool = False  #: and then pays for these too, not for validation rows alone
    config: Any = PLAIN  #: settings of the loss
    train: TrainConfig = LOOP  #: settings of the training loop
    warm_start: Callable[[Any], bool] = lambda config: True  #: what it does by default, by its settings
    refuse: Callable[[Problem], str | None] = lambda problem: None  #: why it does not fit, or None
    check_settings: Callable[[Any, Problem, SolveConfig], None] = lambda config, problem, solving: None
    """Raises where settings do not go with the problem, or with the way it is solved."""
    points: Callable[[Any, int], int] = lambda config, n_y: 0  #: evaluations of each example before training
    common_points: Callable[[Any], bool] = lambda config: False  #: the same for all examples, so solved once
    readings: Callable[[Any, int], int | None] = lambda config, n_y: None  #: of validation, where settings tell them
    online_solves: Callable[[Any], float | None] = lambda config: None  #: per training row, where settings tell them
    cost_share: float | None = None  #: of the seconds of its solves that cost calls may take; None: whatever they take
    asynchronous: bool = False  #: can go on while its solves are under way
    costs: bool = True  #: training calls `cost`; a linear problem's objective is known without it
    figures: str | None = None  #: the method whose measured figures a quote takes; None: its own
    bytes_stored: int = 0  #: for each number of a paid point; by `measure.quote_figures --memory` of the studies

    @property
    def looks_at_regret(self) -> bool:
        """Whether it does more than prediction-focused learning."""
        return self.build is not None or self.adjust is not None

    @property
    def trains(self) -> bool:
        """Whether it pays for training rows."""
        return self.build is not None or self.adjusts_on_training_rows

    @property
    def follows_start(self) -> bool:
        """Whether something comes after a prediction-focused start, which it must then beat."""
        return bool(self.train.warm_start) and self.looks_at_regret

    def check(self, problem: Problem, solving: SolveConfig) -> None:
        """Raise where the problem, or the way it is solved, is outside this method's assumptions.

        Args:
            problem: What is decided.
            solving: How solves run.
        """
        reason = self.refuse(problem)
        if reason is not None:
            raise NotApplicableError(f"method {self.name!r} does not fit {problem.name!r}: {reason}")
        self.check_settings(self.config, problem, solving)

    def with_settings(self, settings: Mapping[str, Any]) -> Method:
        """The same recipe with some settings changed, of the loss or of the training loop.

        Args:
            settings: New values by name.
        """
        parts = {"config": self.config, "train": self.train}
        owner = {f.name: part for part, values in parts.items() for f in dataclasses.fields(values)}
        for name in settings:
            if name not in owner:
                raise InputError(f"method {self.name!r} has no setting {name!r}; it has {', '.join(sorted(owner))}")
        changed = {
            part: dataclasses.replace(values, **{k: v for k, v in settings.items() if owner[k] == part})
            for part, values in parts.items()
        }
        if changed["train"].warm_start is None:
            warm = self.warm_start(changed["config"])
            changed["train"] = dataclasses.replace(changed["train"], warm_start=warm)
        return dataclasses.replace(self, **changed)
