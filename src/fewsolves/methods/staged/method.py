"""Training in stages: a start that predicts well, known decisions, then pairs; each stage on evidence from the last.

    start         prediction-focused learning
    pilot         0.3 solves per row: which stand-in for the solver is to be believed, if any
    correction    one number per output, where rows are few
    stand-in      all weights, through the stand-in and what is paid on the way
    pairs         what is left of the budget
    guard         what is handed back beats the start on rows that were not trained on, or the start is kept

Evidence is the regret of the validation rows, with some training rows where a dear choice hangs on it, always compared
row by row with that of the start.
"""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from fewsolves.errors import BudgetSpent
from fewsolves.methods.base import Adjusted, Ingredients, Method, Stopped, TrainConfig, Validate
from fewsolves.methods.reading import Reading
from fewsolves.methods.staged import courses, pilot
from fewsolves.methods.staged.descent import Course, Descent
from fewsolves.methods.staged.pool import Pool
from fewsolves.methods.staged.scene import Scene
from fewsolves.methods.staged.stand_ins import Argmin, StandIn
from fewsolves.problem import Array
from fewsolves.settings import setting, settings

PILOT = 0.35  # solves per row without which there is no pilot
AUDIT = 8.0  # solves per row from which on the choice to go on is worth paying for evidence
UPPER = 1.64  # standard errors: one-sided 95 %
WORTH = 0.1  # of the start's regret: a bound of the gain below this is nothing to gain


@settings
class StagedConfig:
    """Settings of the stages."""

    solves: float | None = setting(
        "training solves per row at the most; None: what the budget allows", default=None, least=0
    )
    first: float = setting("solves per row of pilot and first stage, where more is allowed", default=1.7, above=0)
    most: float = setting("solves per row where neither `solves` nor a budget says", default=32.0, above=0)
    few_rows: int = setting("up to so many, a correction comes before all weights", default=500, least=0)


@dataclass(frozen=True)
class Evidence:
    """What a reading says of a change: differences of regret, row by row; below 0 is good."""

    change: Reading
    start: float  # mean regret of the start

    @property
    def errors(self) -> float:
        """The change in standard errors."""
        return self.change.mean / self.change.error if self.change.error > 0 else 0.0

    @property
    def gain_bound(self) -> float:
        """The largest gain that is plausible (95 %), as a share of the start's regret."""
        if self.start <= 0:
            return 0.0
        return max(0.0, UPPER * self.change.error - self.change.mean) / self.start

    @property
    def futile(self) -> bool:
        """Whether more of the same is not worth its solves."""
        return self.change.mean >= 0 or (self.errors > -1 and self.gain_bound < WORTH)


class Stages:
    """The stages of one run, on the predictor in place."""

    def __init__(self, given: Ingredients, validate: Validate) -> None:
        self.config: StagedConfig = given.config
        self.given, self.predictor, self.validate = given, given.predictor, validate
        self.scene = Scene(given.oracle, torch.as_tensor(given.X), given.rng, given.weights)
        self.linear = isinstance(given.predictor.net, nn.Linear)
        self.pool: Pool | None = None
        self.stand_in: StandIn | None = None
        self.report: dict[str, Any] = {"stand_in": None, "stages": []}

    def run(self) -> Adjusted:
        """All stages that the evidence and the budget allow; the predictor holds the best that was found."""
        start = self.validate(self.predictor)
        assert start is not None
        self.start = self.best = start
        self.kept, interrupted = self._weights(), False
        self.first_weights = self.kept
        try:
            told = self._stages(self._allowed())
        except BudgetSpent:
            told = "the budget was spent"
        except Stopped as stopped:
            told = str(stopped)
        except KeyboardInterrupt:
            told, interrupted = "interrupted", True
        self.predictor.load_state_dict(self.kept)
        return Adjusted(self.start, self.best, told, interrupted, self.report)

    def _stages(self, allowed: float) -> str:
        """Why it ended."""
        scene, problem = self.scene, self.scene.oracle.problem
        if problem.instances is None and problem.deterministic:  # else no decision of another row is a candidate
            self.pool = Pool(scene)
        if allowed < PILOT:
            return self._without_solves()
        if self.pool is not None:
            found = pilot.fly(scene, self.pool, scene.predictions(self.predictor), courses.width(scene.d, 0.7))
            self.stand_in = found.chosen
            self.report |= found.told()
        first = allowed if allowed < 4 else self.config.first
        if scene.n <= self.config.few_rows:
            self._correct(min(0.5, max(0.1, (first - scene.paid) / 2)))
            self._accept("correction")
        self._descend(max(0.1, first - scene.paid), first=True)
        evidence = self._accept("first stage", audit=allowed >= AUDIT)
        if allowed < 4:
            return "the solves that were allowed are used"
        if evidence.futile:
            self.report["gain_bound"] = evidence.gain_bound
            return f"little or nothing to gain: at most {evidence.gain_bound:.0%} of the start's regret (95 %)"
        return self._go_on(allowed)

    def _go_on(self, allowed: float) -> str:
        """Further stages: one where the solves are given, else each three times as long, for as long as they gain."""
        scene, given = self.scene, self._limit() < math.inf
        while allowed - scene.paid >= 1:
            before = self.best
            self._descend(allowed - scene.paid if given else min(3 * scene.paid, allowed - scene.paid), first=False)
            self._accept("next stage")
            if not given and not self.best.clearly_below(before, 1.0):
                return "the last stage gained nothing clear"
        return "the solves that were allowed are used"

    def _without_solves(self) -> str:
        """Where known decisions are all that there are, the pool of the labels is the solver."""
        scene, pool = self.scene, self.pool
        if pool is None or not courses.closed(pool):
            return "no solves to train with"
        everyone = np.arange(scene.n)
        beaten = pilot.share_beaten(pool, everyone, scene.units(scene.oracle.Y), scene.oracle.packed_labels(everyone))
        if beaten > pilot.NOT_OPTIMAL:
            return "no solves to train with, and known decisions say nothing of what the solver would do"
        self.stand_in = Argmin(pool)
        self._run(courses.through_all_there_are(scene.d, 0.0, linear=self.linear))
        self._accept("known decisions")
        return "trained through known decisions alone"

    def _descend(self, solves: float, *, first: bool) -> None:
        for course in courses.planned(self.stand_in, self.pool, self.scene, solves, first=first, linear=self.linear):
            if not self._run(course):
                raise BudgetSpent("the budget was spent")

    def _run(self, course: Course) -> bool:
        parameters = [p for p in self.predictor.parameters() if p.requires_grad]
        predict = lambda i: self.predictor(self.scene.X[i])  # noqa: E731
        descent = Descent(self.scene, predict, parameters, pool=self.pool, stand_in=self.stand_in)
        return descent.run(course, after_epoch=self._tell)

    def _tell(self, regret: float) -> None:
        """An epoch in which nothing was paid tells what was last known."""
        self.given.tell(regret if math.isfinite(regret) else self.best.mean, None)

    def _correct(self, solves: float) -> None:
        """One number per output, added to what is predicted."""
        scene = self.scene
        shift = nn.Parameter(torch.zeros(scene.d, dtype=torch.float64))
        with torch.no_grad():
            fixed: Tensor = self.predictor(scene.X)
        descent = Descent(
            scene, lambda i: fixed[i] + scene.std * shift, [shift], pool=self.pool, stand_in=self.stand_in
        )
        descent.run(courses.of_correction(self.stand_in, scene.d, solves))
        with torch.no_grad():
            self.predictor.y_mean += scene.std * shift.detach()

    def _accept(self, stage: str, *, audit: bool = False) -> Evidence:
        """Keep what is better than the start and not clearly worse than the best so far, else go back to that."""
        reading = self.validate(self.predictor)
        if reading is None:  # no room for it: what was kept stays
            self.predictor.load_state_dict(self.kept)
            return Evidence(Reading(np.zeros(2)), self.start.mean)
        values = reading.values - self.start.values
        if audit:
            values = np.r_[values, self._audit()]
        evidence = Evidence(Reading(values), self.start.mean)
        worse = Reading(reading.values - self.best.values)
        accepted = evidence.change.mean < 0 and worse.mean < 2 * worse.error
        if accepted:
            self.best, self.kept = reading, self._weights()
        else:
            self.predictor.load_state_dict(self.kept)
        self.report["stages"].append(
            {
                "stage": stage,
                "solves_per_row": self.scene.paid,
                "change": evidence.change.mean,
                "error": evidence.change.error,
                "accepted": accepted,
            }
        )
        self.given.tell(reading.mean, reading)
        return evidence

    def _audit(self) -> Array:
        """Regret of some training rows less what it was at the start, paid: more rows than validation has."""
        scene = self.scene
        rows = scene.rng.choice(scene.n, min(max(scene.n // 8, 20), 100, scene.n), replace=False)
        now, current = scene.pay(rows, scene.predictions(self.predictor, rows)).regret, self._weights()
        self.predictor.load_state_dict(self.first_weights)
        before = scene.pay(rows, scene.predictions(self.predictor, rows)).regret
        self.predictor.load_state_dict(current)
        return scene.weighted(now - before, rows)

    def _limit(self) -> float:
        """Training solves per row that are allowed in all; infinite where nobody said."""
        left, most = self.scene.oracle.budget_left, self.config.solves
        room = left.room("online") / self.scene.n + self.scene.paid if left.limited else math.inf
        return room if most is None else min(room, most)

    def _allowed(self) -> float:
        limit = self._limit()
        return self.config.most if limit == math.inf else limit

    def _weights(self) -> dict[str, Tensor]:
        return copy.deepcopy(self.predictor.state_dict())


METHOD = Method(
    name="staged",
    summary="known decisions, then pairs, each stage on evidence; any problem, as few solves as it takes",
    adjust=lambda given, validate: Stages(given, validate).run(),
    adjusts_on_training_rows=True,
    config=StagedConfig(),
    train=TrainConfig(guard=0.0),  # the stages have guards of their own
)
