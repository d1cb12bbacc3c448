"""Training in stages: a start that predicts well, known decisions, then pairs; each stage on evidence from the last.

    start         prediction-focused learning
    pilot         0.3 solves per row: which stand-in for the solver is to be believed, if any
    correction    one number per output through the stand-in, where rows are few; without one, a line search
    all weights   through the stand-in and what is paid on the way, or by pairs
    the rest      more of it, with what is left of the budget

Evidence is the regret of the validation rows, compared row by row with that of the best so far: what is clear is taken,
what is in doubt in part, and the start is kept where nothing beats it. Training rows would flatter what was fitted to
them.
"""

from __future__ import annotations

import copy
import dataclasses
import math
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from fewsolves.errors import BudgetSpent
from fewsolves.methods.base import Context, Demand, Outcome, StartConfig, Stopped, Trainer
from fewsolves.methods.reading import Reading
from fewsolves.methods.staged import courses, pilot
from fewsolves.methods.staged.descent import Course, Descent
from fewsolves.methods.staged.evidence import Evidence, outlook
from fewsolves.methods.staged.line_search import POINTS, Step, line_search
from fewsolves.methods.staged.pool import Pool, TooDear
from fewsolves.methods.staged.scene import Scene
from fewsolves.methods.staged.stand_ins import Argmin, SPOPlus, StandIn
from fewsolves.predictors.boosted.trees import part_of_the_way, rounds_of
from fewsolves.problem import Array
from fewsolves.settings import setting, settings

PILOT = 0.35  # solves per row without which there is no pilot
STRONG = 0.5  # signal from which on a stand-in is believed to have found what there is to gain
MANY = 8.0  # solves per row from which on the width of pairs is worth paying for
CLEAR = 1.0  # standard errors
SMALL = 0.1  # of the start's regret: a budget is used where more than that may be gained
LOOK = 2.0  # solves per row after which a run that was given no limit must have seen a gain
LONG = 16.0  # solves per row above which pairs have to show something first
FARTHEST = 8.0  # times what a descent has found
FEWEST = 20  # rows that a line search needs, or the finding that there is no regret


@settings
class StagedConfig:
    """Settings of the stages."""

    solves: float | None = setting(
        "training solves per row at the most; None: what the budget allows", default=None, least=0
    )
    first: float = setting("solves per row of pilot and first stage, where more is allowed", default=1.7, above=0)
    most: float = setting("solves per row where neither `solves` nor a budget says", default=32.0, above=0)
    few_rows: int = setting("up to so many, a correction comes before all weights", default=500, least=0)


class Stages:
    """The stages of one run, on the predictor in place."""

    def __init__(self, context: Context) -> None:
        self.config: StagedConfig = context.settings
        self.context, self.predictor, self.validate = context, context.predictor, context.validate
        X, weights = torch.as_tensor(context.train_inputs), context.train_weights
        self.scene = Scene(context.train_oracle, X, context.rng, weights)
        self.linear, self.pace = self.predictor.is_linear, self.predictor.rate
        self.pool: Pool | None = None
        self.stand_in: StandIn | None = None
        self.strong, self.wider, self.doubt = False, 1.0, -CLEAR
        self.predictor.y_mean = self.predictor.y_mean.expand(self.scene.d).clone()
        self.report: dict[str, Any] = {"stand_in": None, "stages": []}

    def run(self) -> Outcome:
        """All stages that the evidence and the budget allow; the predictor holds the best that was found."""
        start = self.validate(self.predictor)
        assert start is not None
        self.start = self.best = start
        self.scene.measure(self._unseen().numpy())
        self.kept, interrupted = self._weights(), False
        try:
            told = self._stages(self._allowed())
        except BudgetSpent:
            told = "the budget was spent"
            self._accept("cut short")
        except Stopped as stopped:
            told = str(stopped)
        except KeyboardInterrupt:
            told, interrupted = "interrupted", True
        self.predictor.load_state_dict(self.kept)
        if self.best is self.start and self.scene.paid:
            self.report["warnings"] = [f"{self.scene.paid * self.scene.n:,.0f} training solves gained nothing: {told}"]
        return Outcome(self.start, self.best, told, interrupted, report=self.report)

    def _stages(self, allowed: float) -> str:
        """Why it ended."""
        scene, problem = self.scene, self.scene.oracle.problem
        if len(self.start.known) >= FEWEST and not self.start.known.any():
            self.report["gain_bound"] = 0.0
            return "nothing to gain: the start has no regret on any validation row"
        ended = None
        try:
            if problem.instances is None and not problem.noisy_solve:  # else nobody's decision is another's candidate
                self.pool = Pool(scene, allowed)
            if allowed < PILOT:
                return self._without_solves()
            if self.pool is not None:
                self._pilot(self.pool)
            ended = self._by_stand_in(allowed) if self.stand_in is not None else None
        except TooDear as dear:
            self._forget(dear)
        if ended is None and self.stand_in is None:
            ended = self._by_pairs(allowed)
        return ended or self._go_on(allowed)

    def _pilot(self, pool: Pool) -> None:
        scene = self.scene
        found = pilot.fly(scene, pool, scene.predictions(self.predictor), courses.width(scene.d, 0.7))
        self.stand_in = found.chosen
        self.strong = max(found.signals.values()) >= STRONG or SPOPlus.kind in found.signals  # a bound needs no signal
        self.report |= found.told()

    def _by_stand_in(self, allowed: float) -> str | None:
        """The first stage through known decisions: why it ends the run, or None."""
        scene, first = self.scene, allowed if allowed < 4 else self.config.first
        if self.stand_in is not None and self.stand_in.kind == "argmin" and self.pool and courses.closed(self.pool):
            self.doubt = CLEAR  # it is the solver itself, over all decisions that there are
        if self.stand_in is not None and self.stand_in.kind == SPOPlus.kind:
            self.doubt = -1.5 * CLEAR  # convex as it is, it goes far, also where nothing is to be gained
        if scene.n <= self.config.few_rows:
            self._correct(min(0.5, max(0.1, (first - scene.paid) / 2)))
            self._accept("correction")
        self._descend(max(0.1, min(first, self._limit()) - scene.paid), first=True)
        before = self.best
        evidence = self._accept("first stage", further=self.pace < 1)
        if self.stand_in is None:  # known decisions were given up on the way
            return None
        if allowed < 4:
            return "the solves that were allowed are used"
        if evidence.z > CLEAR and (self.stand_in.kind == "gp" or not self.strong):
            self.stand_in = None  # it promised what was not so; pairs promise nothing
            return None
        if self._limit() < math.inf:  # then the least sign of a gain is reason to go on, or that few rows tell little
            idle = self.best is before and not self.best.clearly_below(self.start, CLEAR)
            idle = idle and evidence.gain_bound < SMALL
        else:
            idle = evidence.z > -CLEAR
        return self._nothing_to_gain(evidence) if self.strong and idle else None

    def _by_pairs(self, allowed: float) -> str | None:
        """The same where no stand-in is to be believed: one number for all outputs, then all weights by pairs."""
        scene, given = self.scene, self._limit() < math.inf
        solves = min(POINTS, allowed - scene.paid if allowed < 4 else 0.3 * allowed)
        found = self._shift(solves if given else LOOK - scene.paid)
        evidence = self._accept("shift", doubt=0.0)
        if allowed - scene.paid < 1:
            return "the solves that were allowed are used"
        if not given and evidence.z > -CLEAR:
            return self._nothing_seen(found)
        sigma = courses.width(scene.d, 1.0)
        if allowed >= MANY and sigma < courses.WIDEST:
            self.wider = 2.0 if pilot.rough(scene, scene.predictions(self.predictor), sigma) else 1.0
        if allowed <= LONG:
            return None
        self._descend(LONG / 2, first=True)
        evidence = self._accept("first stage", doubt=0.0, further=self.pace < 1)
        return self._nothing_to_gain(evidence) if evidence.z > CLEAR else None

    def _nothing_to_gain(self, evidence: Evidence) -> str:
        self.report["gain_bound"] = evidence.gain_bound
        what = "little or nothing to gain" if self.best is self.start else "nothing more to gain"
        return f"{what}: at most {evidence.gain_bound:.0%} of the start's regret (95 %)"

    def _nothing_seen(self, found: Step | None) -> str:
        """Nobody said what may be paid, and the first solves show no gain."""
        told = "no gain was seen"
        if found is not None:
            self.report["shift_gain_bound"] = found.gain_bound
            told += f" (moving all predictions gains at most {found.gain_bound:.0%}, 95 %)"
        return f"{told}; pairs may still find one: give a budget of 16 solves per row or more to let them try"

    def _go_on(self, allowed: float) -> str:
        """Further stages: one where the solves are given, else each three times as long, for as long as they gain."""
        scene, given = self.scene, self._limit() < math.inf
        while (left := min(allowed, self._limit()) - scene.paid) >= 1:  # readings have taken their part of a budget
            before, paid = self.best, scene.paid
            self._descend(left if given else min(3 * scene.paid, left), first=False)
            # pairs promise nothing, and a stand-in that has gained something is believed as much
            shown = self.stand_in is None or before.clearly_below(self.start, CLEAR)
            self._accept("next stage", doubt=max(self.doubt, 0.0) if shown else None, further=self.pace < 1)
            if scene.paid - paid < 1:
                return "known decisions are all that there are"
            if not given and not self.best.clearly_below(before, CLEAR):
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
        self._run(courses.through_all_there_are(scene.d, 0.0, pace=self.pace))
        self._accept("known decisions")
        return "trained through known decisions alone"

    def _descend(self, solves: float, *, first: bool) -> None:
        for course in courses.planned(
            self.stand_in, self.pool, self.scene, solves, first=first, pace=self.pace, wider=self.wider
        ):
            try:
                finished = self._run(course)
            except TooDear as dear:
                return self._forget(dear)
            if not finished:
                raise BudgetSpent("the budget was spent")

    def _forget(self, dear: TooDear) -> None:
        """Known decisions are no longer asked; pairs need none."""
        self.pool = self.stand_in = None
        self.report["known_decisions"] = f"given up: {dear}, and all that was needed would take longer than the solves"

    def _run(self, course: Course) -> bool:
        parameters = [p for p in self.predictor.parameters() if p.requires_grad]
        predict = lambda i: self.predictor(self.scene.X[i])  # noqa: E731
        rounds = rounds_of(self.predictor, self.scene.X)
        descent = Descent(self.scene, predict, parameters, pool=self.pool, stand_in=self.stand_in, rounds=rounds)
        course = dataclasses.replace(course, rate=self.scene.narrow * course.rate)
        return descent.run(course, after_epoch=self._tell)

    def _tell(self, regret: float) -> None:
        """An epoch in which nothing was paid tells what was last known."""
        self.context.progress(regret if math.isfinite(regret) else self.best.mean, None)

    def _correct(self, solves: float) -> None:
        """One number per output, added to what is predicted; known decisions first tell one for all of them."""
        scene, fixed = self.scene, self._unseen()
        shift = nn.Parameter(torch.full((scene.d,), self._common_shift(fixed), dtype=torch.float64))
        descent = Descent(
            scene, lambda i: fixed[i] + scene.std * shift, [shift], pool=self.pool, stand_in=self.stand_in
        )
        descent.run(courses.of_correction(self.stand_in, scene.d, solves))
        with torch.no_grad():
            self.predictor.y_mean += scene.std * shift.detach()

    def _common_shift(self, fixed: Tensor) -> float:
        """By line search through known decisions: steps that are as long as those of a descent would not get far."""
        scene, stand_in = self.scene, self.stand_in
        if stand_in is None or stand_in.kind == "gp":  # few rows teach the processes little of what is far
            return 0.0
        everyone, u = np.arange(scene.n), scene.units(fixed.numpy())
        stand_in.refresh()
        stand_in.prepare(POINTS * scene.n, 1)

        def regret(s: float) -> Array:
            return scene.weighted(stand_in.value(everyone, u + s, (u + s)[:, None])[:, 0], everyone)

        return line_search(regret).s

    def _unseen(self) -> Tensor:
        """The start's predictions of training rows as if they were new: a network is better on rows that it knows."""
        if not self.linear and self.best is self.start and (unseen := self.context.out_of_fold()) is not None:
            return torch.as_tensor(unseen)
        with torch.no_grad():
            predictions: Tensor = self.predictor(self.scene.X)
        return predictions

    def _shift(self, solves: float) -> Step | None:
        """One number for all outputs, by a line search on some rows."""
        scene = self.scene
        rows = scene.rng.choice(scene.n, min(scene.n, max(0, int(solves * scene.n / POINTS))), replace=False)
        if len(rows) < FEWEST:
            return None
        u = scene.units(self._unseen()[torch.as_tensor(rows)].numpy())
        found = line_search(lambda s: scene.weighted(scene.pay(rows, u + s).regret, rows))
        with torch.no_grad():
            self.predictor.y_mean += scene.std * found.s
        return found

    def _accept(self, stage: str, *, doubt: float | None = None, further: bool = False) -> Evidence:
        """Keep as much of the change as the evidence is clear: all of it, a share, or nothing.

        The share falls from all to nothing as z goes from `doubt` to one standard error above it, so what is probably
        chance costs little. `further`: what is clear may be too short.
        """
        doubt = self.doubt if doubt is None else doubt
        told, reading = self._weights(), self.validate(self.predictor)
        if reading is None:  # no room for it: what was kept stays
            self.predictor.load_state_dict(self.kept)
            return Evidence(Reading(np.zeros(2)), self.start.mean)
        evidence = Evidence(Reading(reading.values - self.best.values), self.start.mean)
        self._look_ahead(evidence)
        taken = float(np.clip(doubt / CLEAR + 1.0 - evidence.z / CLEAR, 0.0, 1.0))
        if 0.0 < taken < 1.0:
            taken, reading = self._part(taken, told, reading)
        if taken:
            before = self.kept
            self.best, self.kept = reading, self._weights()
            if taken == 1.0 and further and evidence.z < -CLEAR:
                taken = self._further(before, told)
        else:
            self.predictor.load_state_dict(self.kept)
        self.report["stages"].append(
            {
                "stage": stage,
                "solves_per_row": self.scene.paid,
                "change": evidence.change.mean,
                "error": evidence.change.error,
                "accepted": taken,
            }
        )
        self.context.progress(self.best.mean, self.best)
        return evidence

    def _part(self, share: float, told: dict[str, Tensor], whole: Reading) -> tuple[float, Reading]:
        """A share of the change, if that is better; where it cannot be read any more, it lies between what was read."""
        self.predictor.load_state_dict(part_of_the_way(self.kept, told, share))
        reading = self.validate(self.predictor)
        if reading is None:
            reading = Reading(self.best.values + share * (whole.values - self.best.values))
        return (share if reading.mean < self.best.mean else 0.0), reading

    def _further(self, before: dict[str, Tensor], told: dict[str, Tensor]) -> float:
        """Twice as far, for as long as that is clearly better: how far in all."""
        share = 1.0
        while share < FARTHEST:
            self.predictor.load_state_dict(part_of_the_way(before, told, 2 * share))
            reading = self.validate(self.predictor)
            if reading is None or not reading.clearly_below(self.best, CLEAR):
                break
            share *= 2
            self.best, self.kept = reading, self._weights()
        self.predictor.load_state_dict(self.kept)
        return share

    def _look_ahead(self, evidence: Evidence) -> None:
        """What this stage says of as many solves again."""
        stages = self.report["stages"]
        before = stages[-1]["solves_per_row"] if stages else 0.0
        self.report["as_many_again"] = outlook(evidence.change, before, self.scene.paid, self.start.mean)

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


class Staged(Trainer):
    """Trains in stages, each entered on evidence."""

    name = "staged"
    summary = "known decisions, then pairs, each stage on evidence; any problem, as few solves as it takes"
    settings = StagedConfig()
    common = StartConfig(guard=0.0)  # the stages have guards of their own

    def train(self, context: Context) -> Outcome:
        return Stages(context).run()

    def demand(self, n_y: int) -> Demand:
        return Demand(by_evidence=True, online_solves=self.settings.solves, cost_share=0.5)


METHOD = Staged()
