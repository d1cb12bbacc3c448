"""The schedule: how many solves each stage may pay, as a pure function of rows and allowance.

    reading    the start's regret on the first evidence rows
    pilot      antithetic pairs around the start: which stand-ins predict differences of regret
    offset     a line search for one offset of all outputs
    stage j    descents, then a reading of their result; stage 1 ends at `first` solves per row, and the solves in all
               grow by `growth` from stage to stage, so that a larger allowance begins with the stages of a smaller one;
               the gains of later stages are smaller, and so they are read on more rows, on which the start and the best
               state so far are then read as well

The sum of all stages never exceeds the allowance.
"""

from __future__ import annotations

from dataclasses import dataclass

from fewsolves.methods.staged.tuning import Tuning

LEAST_OFFSET = 18  # solves of a line search: with fewer than six rows it shows nothing
LEAST_STAGE = 0.25  # solves per row below which the rest is given to the stage before


@dataclass(frozen=True)
class Stage:
    """A part of the schedule."""

    name: str
    solves: int  #: that its descents may pay
    evidence: int  #: solves of its readings
    rows: int = 0  #: evidence rows that it is read on


@dataclass(frozen=True)
class Schedule:
    """The stages of a run over n rows that may pay `allowed` solves after the labels."""

    n: int
    allowed: int
    evidence_rows: int
    stages: tuple[Stage, ...]

    @property
    def solves(self) -> int:
        """The solves of all stages together, at most those allowed."""
        return sum(stage.solves + stage.evidence for stage in self.stages)


def build_schedule(
    n: int, allowed: int, *, candidates: int, tuning: Tuning, evidence_pool: int | None = None
) -> Schedule:
    """The stages where this many stand-ins compete; `evidence_pool` rows at most can be evidence (all by default)."""
    most = n if evidence_pool is None else evidence_pool
    cap = min(most, max(6, int(tuning.evidence_most * allowed)), allowed // (2 + candidates))
    m = max(0, min(int(min(tuning.evidence_rows, tuning.evidence_share * n)), cap))
    stages, left = [Stage("start", 0, m, m)], allowed - m
    if candidates > 1:
        pairs = min(n, max(tuning.pilot_pairs, int(min(tuning.pilot * n, tuning.pilot_share * allowed))), left // 8)
        stages.append(Stage("pilot", 2 * pairs, 0))
        left -= 2 * pairs
    offset = int(tuning.offset * min(allowed, 4 * n))  # no more with a larger allowance, which begins likewise
    if offset >= LEAST_OFFSET:
        stages.append(Stage("offset", offset, 0))
        left -= offset
    number, readings, end, more = 1, max(1, candidates), tuning.first * n, m
    while left > readings * m:
        if number > 1:
            more = max(m, min(int(tuning.evidence * min(end, allowed)), cap))
        evidence = readings * more + 2 * (more - m)
        if left <= evidence:
            more, evidence = m, readings * m
        before = allowed - left + evidence
        while int(end) <= before:  # what precedes a descent in a small table may be more than a stage
            end *= tuning.growth
        descents = int(end) - before
        if left - evidence - descents < more + LEAST_STAGE * n:
            descents = left - evidence
        stages.append(Stage(f"stage {number}", descents, evidence, more))
        left -= descents + evidence
        number, readings, m = number + 1, 1, more
    return Schedule(n, allowed, stages[0].rows, tuple(stages))
