"""The schedule: how many solves each stage may pay, as a pure function of rows and allowance.

    reading    the start's regret on the evidence rows
    pilot      antithetic pairs around the start: which stand-ins predict differences of regret
    stage j    descents, then a reading of their result; stage 1 ends at `first` solves per row, and the solves in all
               grow by `growth` from stage to stage, so that a larger allowance begins with the stages of a smaller one

The sum of all stages never exceeds the allowance.
"""

from __future__ import annotations

from dataclasses import dataclass

from fewsolves.methods.staged.tuning import Tuning

LEAST_STAGE = 0.25  # solves per row below which the rest is given to the stage before


@dataclass(frozen=True)
class Stage:
    """A part of the schedule."""

    name: str
    solves: int  #: that its descents may pay
    evidence: int  #: solves of its reading


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
    m = int(max(allowed * tuning.evidence, min(tuning.evidence_rows, tuning.evidence_share * n)))
    m = max(0, min(m, most, max(6, int(tuning.evidence_most * allowed)), allowed // (2 + candidates)))
    stages, left = [Stage("start", 0, m)], allowed - m
    if candidates > 1:
        pairs = min(n, max(tuning.pilot_pairs, int(min(tuning.pilot * n, tuning.pilot_share * allowed))), left // 8)
        stages.append(Stage("pilot", 2 * pairs, 0))
        left -= 2 * pairs
    number, readings, end = 1, max(1, candidates), tuning.first * n
    while left > readings * m:
        before = allowed - left + readings * m
        while int(end) <= before:  # what precedes a descent in a small table may be more than a stage
            end *= tuning.growth
        descents = int(end) - before
        if left - readings * m - descents < m + LEAST_STAGE * n:
            descents = left - readings * m
        stages.append(Stage(f"stage {number}", descents, readings * m))
        left -= descents + readings * m
        number, readings = number + 1, 1
    return Schedule(n, allowed, m, tuple(stages))
