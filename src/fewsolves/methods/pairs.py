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
from fewsolves.methods.base import Context, Demand, Outcome, StartConfig, Stopped, Trainer
from fewsolves.methods.staged.courses import of_pairs
from fewsolves.methods.staged.descent import Descent
from fewsolves.methods.staged.scene import Scene
from fewsolves.predictors.boosted.trees import rounds_of
from fewsolves.settings import setting, settings


@settings
class PairsConfig:
    """Settings of pairs."""

    solves: float = setting("training solves per row; less where the budget says so", default=64.0, least=2)


def train_by_pairs(context: Context, config: PairsConfig) -> Outcome:
    """Train the predictor in place; the guard of the run compares it with its start."""
    predictor, left = context.predictor, context.budget_left
    X, weights = torch.as_tensor(context.train_inputs), context.train_weights
    scene = Scene(context.train_oracle, X, context.rng, weights)
    start = context.validate(predictor)
    assert start is not None
    solves = min(config.solves, left.room("online") / scene.n if left.limited else math.inf)
    if solves < 2:
        return Outcome(start, start, "no solves to train with")
    scene.measure(scene.raw(scene.predictions(predictor)))
    course = of_pairs(scene.d, solves, pace=predictor.rate)
    parameters = [p for p in predictor.parameters() if p.requires_grad]
    course = dataclasses.replace(course, rate=scene.narrow * course.rate)
    rounds = rounds_of(predictor, scene.X)
    descent = Descent(scene, lambda i: predictor(scene.X[i]), parameters, rounds=rounds)
    ending, interrupted = "the solves that were allowed are used", False
    try:
        if not descent.run(
            course, after_epoch=lambda loss: context.progress(loss if math.isfinite(loss) else start.mean, None)
        ):
            ending = "the budget was spent"
    except Stopped as stopped:
        ending = str(stopped)
    except KeyboardInterrupt:
        ending, interrupted = "interrupted", True
    try:
        reading = context.validate(predictor)
    except BudgetSpent:
        reading = None
    if reading is not None:
        context.progress(reading.mean, reading)
    return Outcome(start, reading or start, ending, interrupted)


class Pairs(Trainer):
    """Trains all weights by antithetic pairs."""

    name = "pairs"
    summary = "black-box gradient by antithetic draws; any problem, two solves per example and epoch"
    settings = PairsConfig()
    common = StartConfig(guard=0.0)

    def train(self, context: Context) -> Outcome:
        return train_by_pairs(context, self.settings)

    def demand(self, n_y: int) -> Demand:
        return Demand(by_evidence=True, online_solves=self.settings.solves)


METHOD = Pairs()
