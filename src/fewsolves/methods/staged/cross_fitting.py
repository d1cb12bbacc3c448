"""The default: one estimator for slopes and for evidence, and no row that is only for validation.

    folds       several models, each trained without one fold of the rows, through one pool of known decisions
    stand-in    predicts regrets without a solve; paid residuals correct its slopes, and decide how far it is followed
    evidence    every row is judged by a model that never saw it; the stand-in's prediction on all rows is the control
                variate of what is paid on some of them
    result      the start on all rows plus the mean change of the models

A run reads the start, pays some pairs to see which stand-ins predict anything, lets the stand-ins compete in a first
stage, and continues with the winner in stages that grow geometrically. Each stage is taken or not by one rule: the
posterior mean of its change must be below 0. docs/methods/staged.md has the picture.
"""

from __future__ import annotations

import math
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from fewsolves.errors import BudgetSpent
from fewsolves.methods.base import Context, Outcome, Stopped, mean_one
from fewsolves.methods.reading import Reading
from fewsolves.methods.staged.boundary import end_stage, load_boundary
from fewsolves.methods.staged.config import StagedConfig
from fewsolves.methods.staged.descent import Descent, correction_plan, pairs_plan
from fewsolves.methods.staged.evidence import Candidate, Change, Judge, paired
from fewsolves.methods.staged.folds import build_folds
from fewsolves.methods.staged.offset import OffsetSearch
from fewsolves.methods.staged.pilot import competing
from fewsolves.methods.staged.pool import CostCallsTooExpensive, Pool, warn_of_slow_costs
from fewsolves.methods.staged.replicas import LinearReplicas, ModuleReplicas, Shifts
from fewsolves.methods.staged.rows import TrainingRows
from fewsolves.methods.staged.sample import describe_sample
from fewsolves.methods.staged.schedule import Schedule, Stage, build_schedule
from fewsolves.methods.staged.stand_ins import Prior, StandIn, applicable
from fewsolves.methods.staged.starts import start_models
from fewsolves.methods.staged.tuning import Tuning

PAIRS_PRIOR = Prior(-0.05, 0.1)
LATER_PRIOR = Prior(-0.03, 0.04)  # of more solves after a change that was taken
EVALUATIONS = 10  # of each judged row by a stand-in, for the evidence of all stages
FREE_CALLS = 400_000  # cost calls that are always allowed: some seconds of plain Python
ROWS_WITHOUT_REGRET = 20  # evidence rows that show that there is nothing to gain
BATCHED, PLAIN = 6000, 800  # cost calls per solve at known decisions, with `cost_batch` and without


class CrossFitting:
    """One run of the default."""

    best: Candidate  #: the best state so far
    current: Candidate  #: what the next stage starts from
    candidates: list[StandIn]  #: that compete in the first stage
    schedule: Schedule

    def __init__(self, context: Context, config: StagedConfig, tuning: Tuning | None = None) -> None:
        self.context, self.config, self.tuning = context, config, tuning or Tuning()
        table = np.sort(np.concatenate([context.split.train, context.split.valid]))
        weights = None if context.weights is None else mean_one(context.weights[table])
        self.rows = TrainingRows(context.oracle.part(table), context.rng, weights)
        self.folds = build_folds(context, table, context.rng, self.tuning)
        self._table = table
        self.pool: Pool | None = None
        self.stand_in: StandIn | None = None
        self.ended: list[str] = []  # parts of the schedule
        self._given = config.solves is not None or context.budget_left.budget.solves is not None  # how many solves
        self._gain_before: float | None = None  # of the stage before the last
        self._pairs_next = False  # whether the stages that follow have no stand-in but for their evidence
        self._only_shifts = self.folds.in_time  # whether a stage learns one number per output, and no weights
        self.report: dict[str, Any] = {"stand_in": None, "stages": []}
        if others := len(context.unlabelled):
            solves, recent = context.budget_left.budget.solves, context.time_ordered
            self.report["labelled"] = describe_sample(len(table), len(table) + others, solves, recent=recent)

    def run(self) -> Outcome:
        """All stages that the schedule and the evidence allow; the predictor holds the result."""
        interrupted = requested = False
        try:
            self.models = start_models(self.context, self.folds, self.rows, self._table)
            stopped = self._stages()
        except BudgetSpent:
            stopped = "the budget was spent"
        except Stopped as by_callback:
            stopped, requested = str(by_callback), True
        except KeyboardInterrupt:
            stopped, interrupted = "interrupted", True
        if not hasattr(self, "best"):  # nothing could be read
            unread = Reading(np.full(1, np.nan))
            return Outcome(unread, unread, stopped, interrupted, requested, report=self.report)
        if self.best is not self.start:
            self.models.restore(self.best.models)
            self.models.install(self.context.predictor)
            self.report["evidence"] = self._evidence()
            if not (interrupted or requested):
                interrupted = self._report_result()
        first, best = Reading(self.start.regret), Reading(self.best.regret)
        return Outcome(first, best, stopped, interrupted, requested, report=self.report)

    def _report_result(self) -> bool:
        """Record the result with the regret that the summary says; whether the user stopped the run just then."""
        evidence = self.report["evidence"]
        self._level = evidence["start"] + evidence["change"]
        try:
            self.context.progress(self._regret, None, best=self._level)
        except Stopped:
            pass  # training has ended by itself
        except KeyboardInterrupt:
            return True
        return False

    def _evidence(self) -> dict[str, float]:
        """Of the result against the start, over all judged rows: what the summary says."""
        change = self._change(self.best, self.start, self.stand_in)
        return {
            "start": self.start_regret,
            "change": change.mean,
            "error": change.error,
            "rows": len(self.folds.rows),
            "paid_rows": change.rows,
        }

    def _stages(self) -> str:
        """Why training ended."""
        self.rows.oracle.optimum(np.arange(self.rows.n))  # labels come first
        if not load_boundary(self) and (reason := self._begin()):
            return reason
        for stage in self.schedule.stages[len(self.ended) :]:
            if stage.name == "pilot":
                self.candidates = self._pilot(self.candidates, stage.solves // 2)
            elif stage.name == "offset":
                search = OffsetSearch(self.rows, self.pool, self.judge, self.start, next(iter(self.candidates), None))
                self.current, self.report["offset"] = search.run(stage.solves, self.tuning)
            elif stage.name == "stage 1":
                self.current = self._first_stage(stage, self.candidates)
            elif not self._given and not self._worth_more():
                return "more solves would probably gain less than 1 %"
            else:
                self.current = self._next_stage(stage, self.current)
            end_stage(self, stage.name)
        return f"schedule complete: {self.rows.paid:,} of {self.schedule.allowed:,} solves paid after the labels"

    def _begin(self) -> str | None:
        """Make the schedule and read the start; why training ends with that, or None where it goes on."""
        allowed = self._allowed()
        self.candidates = candidates = self._candidates(allowed)
        self.schedule = build_schedule(
            self.rows.n, allowed, candidates=len(candidates), tuning=self.tuning, evidence_pool=len(self.folds.rows)
        )
        self.report["schedule"] = [asdict(stage) for stage in self.schedule.stages]
        if self.schedule.evidence_rows < 2:
            return "no solves to train with"
        self.judge = Judge(self.rows, self.folds, self.models, self.schedule.evidence_rows)
        self.start = self.best = self.current = self.judge.read("start", self.pool)
        reading = Reading(self.start.regret)
        self.start_regret = self._level = reading.mean  # the level: of the best state so far, as estimated
        self._report_reading(self.start)
        self.context.note_start(reading)
        if len(reading.known) >= ROWS_WITHOUT_REGRET and not reading.known.any():
            return "nothing to gain: the start has no regret on any evidence row"
        end_stage(self, "start")
        return None

    def _worth_more(self) -> bool:
        """Whether the last stage gained clearly, and the next will probably gain a hundredth of the start's regret.

        Gains are expected to fall from stage to stage by the ratio in which they fell last.
        """
        gain, before = -self.last.mean, self._gain_before
        expected = gain if before is None or before <= gain else gain**2 / before
        self._gain_before = gain
        return self.last.z < -self.tuning.clear and expected > self.tuning.least_gain * self.start_regret

    def _allowed(self) -> int:
        """Solves after the labels."""
        left, solves = self.context.budget_left, self.config.solves
        if solves is None:
            solves = math.inf if self._given else self.config.most
        # a resumed run has the schedule of one that was never killed, and so repeats its requests
        return int(min(solves * self.rows.n, left.room("online") + self.rows.oracle.calls.unanswered["solve"]))

    def _candidates(self, allowed: int) -> list[StandIn]:
        """The stand-ins that compete."""
        problem, left = self.rows.oracle.problem, self.context.budget_left
        each, free = self.config.cost_calls, 0
        if each is None:
            each, free = PLAIN if problem.cost_batch is None else BATCHED, FREE_CALLS
        limit = max(free, each * (self.rows.n + allowed))
        limit = min(limit, left.calls_left("cost", "online") - allowed)
        if self.config.cost_calls is None:
            warn_of_slow_costs(self.rows, limit, allowed)
        try:
            self.pool = Pool(self.rows, limit)
            epochs = self.tuning.correction_epochs + self.tuning.epochs * (1 + math.sqrt(allowed / self.rows.n))
            visits = EVALUATIONS + len(self.folds.bags) * epochs
            probing = self.tuning.affordable(limit, visits, self.rows.n)
            return applicable(self.pool, self.tuning, probing)
        except CostCallsTooExpensive:
            return []

    def _pilot(self, candidates: list[StandIn], pairs: int) -> list[StandIn]:
        """The candidates that predict something, the best first."""
        if pairs < 3 or self.pool is None:
            return candidates
        some = self.rows.rng.choice(self.folds.rows, min(pairs, len(self.folds.rows)), replace=False)
        u, per_row = self.start.unseen[some], self.schedule.allowed / self.rows.n
        candidates, signals = competing(self.rows, self.pool, candidates, some, u, self.tuning, per_row)
        self.report["pilot"] = {"signals": signals, "pairs": len(some)}
        return candidates

    def _solves(self, stage: Stage, readings: int = 1) -> int:
        """Solves for the descents of a stage: what is left until its end, without its readings."""
        m, end = len(self.judge.evidence), 0
        for one in self.schedule.stages[: self.schedule.stages.index(stage) + 1]:
            end += one.solves + one.evidence
        left = end - self.rows.paid - readings * m
        spare = 0 if isinstance(self.models, LinearReplicas) else min((self.tuning.further + 1) * m, left // 4)
        self._spare = spare // m * m
        return max(0, left - self._spare)

    def _further(self, made: Candidate, before: Candidate) -> Candidate:
        """Of a network, whose steps are short: twice as far, for as long as that is clearly better."""
        m, share, best = len(self.judge.evidence), 2.0, made
        while isinstance(self.models, ModuleReplicas) and self._spare >= 2 * m:  # one reading is for shifts alone
            self.models.extrapolate(before.models, made.models, share)
            longer = self.judge.read(made.source, self.pool)
            self._spare -= m
            if paired(longer.regret - best.regret).z >= -self.tuning.clear:
                break
            best, share = longer, 2 * share
        return best

    def _shifts_alone(self, made: Candidate, change: Change, corrected: list[tuple[str, Any]]) -> Candidate:
        """The corrections without the rest, where all weights gained nothing clear or are fitted to rows they know."""
        linear, source = isinstance(self.models, LinearReplicas), made.source
        for name, models in corrected:
            room = self.rows.paid + len(self.judge.evidence) <= self.schedule.allowed
            if not room or (linear and self._taken(change)):
                break
            self.models.restore(models)
            shifted = self.judge.read(f"{source}, {name}", self.pool)
            z = paired(shifted.regret - made.regret).z
            self._pairs_next = self._pairs_next or (not linear and z < -self.tuning.clear)  # rough slopes
            if z < (-self.tuning.clear if linear else 0.0):
                made, change = shifted, self._change(shifted, self.start, self.stand_in)
        return made

    def _first_stage(self, stage: Stage, candidates: list[StandIn]) -> Candidate:
        """Let the stand-ins compete, or pay pairs where there is none; what the next stage starts from."""
        best: Candidate | None = None
        least, corrected = math.inf, list[tuple[str, Any]]()
        for left, one in zip(range(len(candidates), 0, -1), candidates, strict=True):
            self.models.restore(self.current.models)
            try:
                made = self._train(one, self._solves(stage, left) // left, first=True)
            except CostCallsTooExpensive:
                continue
            change = self._change(made, self.start, one)
            expected = change.posterior(one.expected, self.start_regret)
            if expected < least:
                least = expected
                best, self.stand_in, self.last, corrected = made, one, change, self._corrected
                self.best = best if self._taken(change) else self.start
                self.report["stand_in"] = one.name
            self._note(stage, made, change, self.start_regret)
        if best is None:
            self.models.restore(self.current.models)
            best = self._train(None, self._solves(stage), first=True)
            self.last, corrected = self._change(best, self.start, None), self._corrected
            self.best = best if self._taken(self.last) else self.start
            self._note(stage, best, self.last, self.start_regret)
        longer = best
        if self._only_shifts:
            self._only_shifts = False  # all weights follow in the next stage
        else:
            longer = self._further(best, self.start) if self.last.z < -self.tuning.clear else best
            if longer is best:
                longer = self._shifts_alone(best, self.last, corrected)
        if longer is not best:
            best, self.last = longer, self._change(longer, self.start, self.stand_in)
            self.best = best if self._taken(self.last) else self.start
            self._note(stage, best, self.last, self.start_regret)
        if self.best is self.start and self.last.z > self.tuning.refuted:
            self.stand_in = None
            return self.start
        return best

    def _next_stage(self, stage: Stage, current: Candidate) -> Candidate:
        """Train on, and compare with the best so far; what the next stage starts from."""
        left = self.schedule.allowed - self.rows.paid  # readings of corrections alone were not in the schedule
        if left >= stage.evidence:
            current = self._widen_evidence(stage, current)
        elif left < len(self.judge.evidence):
            return current
        self.models.restore(current.models)
        solves = self._solves(stage)
        end = self.rows.paid + solves
        try:
            by = None if self._pairs_next else self.stand_in
            made = self._train(by, solves, first=current is self.start)
        except CostCallsTooExpensive:
            self.stand_in = None
            self.report["known_decisions"] = "the allowed cost calls are used; training continued with pairs"
            self.models.restore(self.best.models)
            made = self._train(None, end - self.rows.paid, first=False)
        self.last = self._change(made, self.best, self.stand_in)
        longer = self._further(made, current) if self.last.z < -self.tuning.clear else made
        if longer is not made:
            made, self.last = longer, self._change(longer, self.best, self.stand_in)
        before = self._level
        if self._taken(self.last, further=self.best is not self.start):
            self.best = made
        self._note(stage, made, self.last, before)
        return self.best if self.last.z > self.tuning.clear else made

    def _widen_evidence(self, stage: Stage, current: Candidate) -> Candidate:
        """Read the start and the best state on the rows that are new in this stage; the current state as it is then."""
        before = [self.start] if self.best is self.start else [self.start, self.best]
        after = self.judge.widen(stage.rows, before, self.pool)
        self.start, self.best = after[0], after[-1]
        return next((new for old, new in zip(before, after, strict=True) if old is current), current)

    def _train(self, stand_in: StandIn | None, solves: int, *, first: bool) -> Candidate:
        """A correction per output, then all weights; the state that comes of it, read on the evidence rows."""
        rows, tuning = self.rows, self.tuning if stand_in is None else stand_in.tuning
        name = "pairs" if stand_in is None else stand_in.name
        if self._only_shifts:
            self._correct(stand_in, solves)
            return self.judge.read(name, self.pool)
        if first:
            part = int(self.tuning.correction * solves)
            self._correct(stand_in, part)
            solves -= part
        plan = pairs_plan(solves, rows, tuning) if stand_in is None else stand_in.plan(solves, rows.paid)
        plan = plan if first else replace(plan, rate=plan.rate * tuning.later_rate)
        Descent(rows, self.models, self.pool, stand_in, tuning, self.config.solves_at_once).run(plan, self._progress)
        return self.judge.read(name, self.pool)

    def _correct(self, stand_in: StandIn | None, solves: int) -> None:
        """One number for all outputs, then one per output, learned on predictions of rows by models without them."""
        self._corrected: list[tuple[str, Any]] = []
        for name, common in (("one offset", True), ("offset per output", False))[self.rows.d == 1 :]:
            self._shift(stand_in, solves // (1 if self.rows.d == 1 else 2), common=common)
            self._corrected.insert(0, (name, self.models.snapshot()))

    def _shift(self, stand_in: StandIn | None, solves: int, *, common: bool) -> None:
        bags = [*self.folds.corrections, self.folds.rows][: len(self.models.bags)]
        shifts = Shifts(self.folds.unseen(self.models.predictions()), bags, common=common)
        plan = correction_plan(stand_in, solves, self.rows, self.tuning)
        tuning, at_once = self.tuning if stand_in is None else stand_in.tuning, self.config.solves_at_once
        Descent(self.rows, shifts, self.pool, stand_in, tuning, at_once).run(plan, self._progress)
        self.models.shift(shifts.t)

    def _change(self, made: Candidate, before: Candidate, stand_in: StandIn | None) -> Change:
        """The estimated change; without the control variate where its cost calls are not allowed."""
        try:
            return self.judge.change(made, before, stand_in)
        except (CostCallsTooExpensive, BudgetSpent):
            return self.judge.change(made, before, None)

    def _report_reading(self, found: Candidate, *, stage: str | None = None) -> None:
        """Call the callbacks; raises where one of them ends training."""
        reading = Reading(found.regret)
        self._regret = reading.mean
        self.context.progress(reading.mean, reading, best=self._level, stage=stage)

    def _taken(self, change: Change, *, further: bool = False) -> bool:
        """Whether a change is taken: its posterior mean is below 0; `further`, after one that was taken."""
        if further and self.folds.in_time:  # blocks between known ones do not show what later rows will do
            return change.z < -self.tuning.refuted
        prior = PAIRS_PRIOR if self.stand_in is None else self.stand_in.expected
        return change.posterior(LATER_PRIOR if further else prior, self.start_regret) < 0

    def _note(self, stage: Stage, made: Candidate, change: Change, before: float) -> None:
        """For result.json and the report; then the callbacks may end training, with the best so far.

        `before` is the level of the state that the change is measured from.
        """
        if made is self.best:
            self._level = before + change.mean
        elif self.best is self.start:
            self._level = self.start_regret
        if (self.best is self.start or self.best is made) and stage.name == "stage 1":
            for one in self.report["stages"]:  # it is no longer part of the result
                one["accepted"] = 0.0
        self.report["stages"].append(
            {
                "stage": f"{stage.name}: {made.source}",
                "solves_per_row": self.rows.paid / self.rows.n,
                "change": change.mean,
                "error": change.error,
                "rho": change.rho,
                "accepted": 1.0 if made is self.best else 0.0,
            }
        )
        self._report_reading(made, stage=self.report["stages"][-1]["stage"])

    def _progress(self, regret: float) -> None:
        """An epoch in which nothing was paid repeats the last known regret."""
        self.context.progress(regret if math.isfinite(regret) else self._regret, None)
