"""Antithetic pairs: the black-box gradient of the regret without a surrogate, two solves per row and step.

    u = y_hat / s,  e ~ N(0, I)        s (d,)  standard deviation of each parameter         sigma   width of the draws

    slope_i = (r_i(u + sigma e) - r_i(u - sigma e)) / 2 * e / sigma

What the two draws have in common cancels, which a single draw with a baseline leaves in. The rate falls linearly, and
what is handed back is the mean of the weights over the last half. The yardstick of whatever wants to save solves.
"""

from __future__ import annotations

import dataclasses
import math

import torch

from fewsolves.errors import BudgetSpent
from fewsolves.methods.base import Adjusted, Ingredients, Method, Stopped, TrainConfig, Validate
from fewsolves.methods.staged.courses import of_pairs, pace
from fewsolves.methods.staged.descent import Descent
from fewsolves.methods.staged.scene import Scene
from fewsolves.predictors.boosted.trees import rounds_of
from fewsolves.settings import setting, settings


@settings
class PairsConfig:
    """Settings of pairs."""

    solves: float = setting("training solves per row; less where the budget says so", default=64.0, least=2)


def train_by_pairs(given: Ingredients, validate: Validate) -> Adjusted:
    """Train the predictor in place; the guard of the run compares it with its start."""
    scene, left = Scene(given.oracle, torch.as_tensor(given.X), given.rng, given.weights), given.oracle.budget_left
    start = validate(given.predictor)
    assert start is not None
    solves = min(given.config.solves, left.room("online") / scene.n if left.limited else math.inf)
    if solves < 2:
        return Adjusted(start, start, "no solves to train with")
    scene.measure(scene.raw(scene.predictions(given.predictor)))
    course = of_pairs(scene.d, solves, pace=pace(given.predictor.net))
    parameters = [p for p in given.predictor.parameters() if p.requires_grad]
    course = dataclasses.replace(course, rate=scene.narrow * course.rate)
    rounds = rounds_of(given.predictor, scene.X)
    descent = Descent(scene, lambda i: given.predictor(scene.X[i]), parameters, rounds=rounds)
    told, interrupted = "the solves that were allowed are used", False
    try:
        if not descent.run(
            course, after_epoch=lambda loss: given.tell(loss if math.isfinite(loss) else start.mean, None)
        ):
            told = "the budget was spent"
    except Stopped as stopped:
        told = str(stopped)
    except KeyboardInterrupt:
        told, interrupted = "interrupted", True
    try:
        reading = validate(given.predictor)
    except BudgetSpent:
        reading = None
    if reading is not None:
        given.tell(reading.mean, reading)
    return Adjusted(start, reading or start, told, interrupted)


METHOD = Method(
    name="pairs",
    summary="black-box gradient by antithetic draws; any problem, two solves per example and epoch",
    adjust=train_by_pairs,
    adjusts_on_training_rows=True,
    config=PairsConfig(),
    online_solves=lambda config: config.solves,
    train=TrainConfig(guard=0.0),
)
