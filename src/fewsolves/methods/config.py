"""Settings that methods share: those of the start, and those of the training loop."""

from __future__ import annotations

from fewsolves.settings import setting, settings

WARM_START = "begin with prediction-focused learning, else with random weights; None: as the method does"

START_EPOCHS = (
    "maximum epochs of the prediction-focused start; None: closed-form ridge for a linear predictor, 500 for others"
)

GUARD = "standard errors by which the result must beat a warm start on validation, else that is kept"


@settings
class PlainConfig:
    """A method without settings of its own."""


@settings
class StartConfig:
    """Settings of every method that follows a prediction-focused start."""

    warm_start: bool | None = setting(WARM_START, default=None)
    start_epochs: int | None = setting(START_EPOCHS, default=None, least=0)
    guard: float = setting(GUARD, default=1.0)


@settings
class TrainConfig:
    """Settings of the training loop; learning rate and stopping rule are the paper's, which leaves the others open."""

    warm_start: bool | None = setting(WARM_START, default=None)
    learning_rate: float = setting("learning rate of Adam", default=1e-3, above=0)
    batch_size: int = setting("rows in a mini-batch", default=32, least=1)
    max_epochs: int = setting("maximum epochs of training", default=500, least=0)
    start_epochs: int | None = setting(START_EPOCHS, default=None, least=0)
    steps_per_epoch: int | None = setting(
        "mini-batches in an epoch; None: as many as see every row once", default=None, least=1
    )
    averaging: float = setting(
        "the weights that are kept and validated are the mean over about this many epochs", default=0.0, least=0
    )
    patience: int = setting("epochs without a better reading before training ends", default=40, least=1)
    validation_share: float | None = setting(
        "maximum validation solves per training solve; None: read each epoch", default=None, least=0
    )
    validation_move: float = setting(
        "with validation_share: a reading waits until predictions moved this far, in standard deviations of Y",
        default=0.0,
        least=0,
    )
    guard: float = setting(GUARD, default=1.0)
