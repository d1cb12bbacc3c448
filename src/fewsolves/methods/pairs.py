"""Antithetic pairs: the black-box gradient of the regret without a surrogate, two solves per row and step.

    u = y_hat / s,  e ~ N(0, I)        s (d,)  standard deviation of each parameter         sigma   width of the draws

    slope_i = (r_i(u + sigma e) - r_i(u - sigma e)) / 2 * e / sigma

The common part of both draws cancels; a single draw with a baseline keeps it. The learning rate falls linearly, and the
result is the mean of the weights over the last half. This method is the baseline of every method that saves solves.
"""

from __future__ import annotations

import math

import numpy as np

from fewsolves.errors import BudgetSpent
from fewsolves.methods.base import Context, Demand, Outcome, StartConfig, Stopped, Trainer
from fewsolves.methods.staged.descent import Descent, pairs_plan
from fewsolves.methods.staged.replicas import ModuleReplicas, predict
from fewsolves.methods.staged.rows import TrainingRows
from fewsolves.methods.staged.tuning import Tuning
from fewsolves.settings import setting, settings


@settings
class PairsConfig:
    """Settings of pairs."""

    solves: float = setting("training solves per row; fewer if the budget is smaller", default=64.0, least=2)


class Pairs(Trainer):
    """Trains by antithetic pairs; the guard of the run compares the result with its start."""

    name = "pairs"
    summary = "black-box gradient by antithetic draws; any problem, two solves per row and epoch"
    settings = PairsConfig()
    common = StartConfig(guard=0.0)

    def train(self, context: Context) -> Outcome:
        """Train `context.predictor` in place.

        Args:
            context: The inputs of the method, and its connection to the run.
        """
        rows = TrainingRows(context.train_oracle, context.rng, context.train_weights)
        start, left, tuning = context.validate(context.predictor), context.budget_left, Tuning()
        assert start is not None
        solves = min(context.settings.solves, left.room("online") / rows.n if left.limited else math.inf)
        if solves < 2:
            return Outcome(start, start, "no solves to train with")
        X = context.train_inputs
        rows.shrink_units(predict(context.predictor, X))
        models = ModuleReplicas(rows, X, [context.predictor], [np.arange(rows.n)])
        stopped, stop_requested = "solve allowance exhausted", False
        try:
            Descent(rows, models, None, None, tuning).run(
                pairs_plan(int(solves * rows.n), rows, tuning),
                lambda regret: context.progress(regret if math.isfinite(regret) else start.mean, None),
            )
        except BudgetSpent:
            stopped = "the budget was spent"
        except Stopped as by_callback:
            stopped, stop_requested = str(by_callback), True
        except KeyboardInterrupt:  # nothing more is paid, so the start is kept
            return Outcome(start, start, "interrupted", interrupted=True)
        models.settle()
        try:
            reading = context.validate(context.predictor)
            if reading is not None and not stop_requested:
                context.progress(reading.mean, reading)
        except BudgetSpent:
            reading = None
        except Stopped as by_callback:
            stopped, stop_requested = str(by_callback), True
        return Outcome(start, reading or start, stopped, stop_requested=stop_requested)

    def demand(self, n_y: int) -> Demand:
        """The demand for solves, by the settings.

        Args:
            n_y: Parameters that are predicted.
        """
        return Demand(online_solves=self.settings.solves)


METHOD = Pairs()
