"""Every constant of the default, with its meaning and its source.

`python -m fewsolves_studies.measure.ablation` changes each of them in turn and prints what that does to the regret on
the development problems. Lengths are in units of `TrainingRows`: standard deviations of each parameter, or a part of
one where the start predicts well.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Tuning:
    """Constants of the default."""

    # evidence
    folds: int = 5  # models, each trained without one fold; three are nearly as good, one has no average
    recency: int = 4  # in time order, how many times as much the last judged rows count in a correction as the first
    holdout_rows: int = 3000  # rows above which a holdout is evidence enough, and one model is trained
    evidence: float = 1 / 40  # evidence rows of a later stage, as a share of all solves until its end
    evidence_rows: int = 90  # of the first stage, and at least: with 60 the result depended on the seed twice as much
    evidence_share: float = 1 / 3  # but of a small table this share of the rows; with a fifth, likewise
    evidence_most: float = 0.15  # but no more than this share of the allowed solves for one reading
    clear: float = 1.0  # standard errors by which a variant of a change must beat it, and a stage must gain
    refuted: float = 2.0  # standard errors above the start at which a stand-in is given up

    # schedule, in solves per row
    pilot: float = 0.075  # pairs per row that are paid before the first stage, at most
    pilot_share: float = 1 / 40  # pairs, as a share of the allowed solves, at most
    behind: float = 3.0  # standard errors behind the best signal at which one does not compete; fewer with few solves
    pilot_pairs: int = 30  # and at least these: a correlation needs them
    offset: float = 1 / 32  # share of the allowed solves, of four per row at most, of the line search for an offset
    offset_step: float = 0.5  # its first step
    first: float = 1.7  # end of the first stage
    least_gain: float = 0.01  # of the start's regret, that the next stage must promise where no budget is given
    further: int = 3  # readings of a stage in which a change of a network is tried twice, four and eight times as far
    growth: float = 3.0  # by which the solves in all grow from stage to stage

    # descent
    batch: int = 32  # rows of a step, by which all models move
    probed_batch: int = 20  # the same where slopes are probed: with 32 or 40 rows, fewer steps reach less far
    steps_rows: int = 240  # with fewer rows, a descent through a stand-in makes as many steps as with these
    tail: float = 0.5  # share of the steps whose weights are averaged
    lowest_rate: float = 0.05  # of the first, at the end of the linear decay
    rate: float = 0.07  # over the root of d; of pairs and of stand-ins with a slope
    later_rate: float = 0.7  # of stages after the first, as a share of the rate of the first
    probed_rate: float = 0.035  # over the root of d; of stand-ins that are probed
    correction: float = 0.25  # share of the solves of a first descent that a correction per output pays
    correction_epochs: int = 4
    correction_rate: float = 0.15  # over the root of d; of corrections per output
    widest: float = 0.3  # standard deviation of a draw around a prediction; in many dimensions 1 / sqrt(d) or less
    far: float = 0.6  # the same of single points that teach the shared processes
    epochs: float = 6.0  # of a descent through a probed stand-in, times the root of its solves per row
    residual: float = 0.25  # weight of a paid residual beside the slope of a stand-in

    # stand-ins
    near: int = 40  # known decisions that are looked at for a row
    best: int = 10  # of these, the candidates around its prediction
    directions: int = 8  # along which a slope is estimated where it is not exact
    draws: int = 32  # around a prediction, over which the slope of the argmin is smoothed; they take no cost call

    def width(self, d: int, factor: float = 1.0) -> float:
        """Standard deviation of draws in d dimensions, so that their length stays about the same."""
        return min(self.widest, factor / math.sqrt(d))

    def affordable(self, cost_calls: float, visits: float, n: int) -> Tuning:
        """Fewer candidates and probes where these cost calls would not last for the visits of each of n rows."""
        visits *= max(n, self.steps_rows)
        share = cost_calls / (visits * (self.near + self.directions * self.best))
        if share >= 1:
            return self
        root = math.sqrt(share)
        return replace(
            self,
            near=max(10, int(share * self.near)),
            best=max(4, int(root * self.best)),
            directions=max(1, int(root * self.directions)),
        )
