"""How each stage descends: lengths, rates and widths by the number of parameters and the solves that there are.

d outputs; widths and rates in standard deviations of each parameter. Chosen on datasets from 100 on of the paper's four
benchmarks with a linear predictor of five features; `pace` is `Predictor.rate`, the rate of another relative to that.
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from fewsolves.methods.staged.descent import Course
from fewsolves.methods.staged.pilot import DIMENSIONS, WIDE
from fewsolves.methods.staged.pool import Pool
from fewsolves.methods.staged.scene import Scene
from fewsolves.methods.staged.stand_ins import StandIn

WIDEST = 0.3  # standard deviation of a draw around a prediction
RATE, ARGMIN_RATE, CORRECTION_RATE = 0.07, 0.035, 0.05  # the first two are divided by the square root of d
CLOSED = 0.125  # known decisions per row below which they are taken for all that there are
SPO_POINTS = 12_000  # known decisions up to which more of them help SPO+
GROWTH = 3.0  # solves per row after which the processes learn nothing more


def width(d: int, factor: float) -> float:
    """Standard deviation of draws in d dimensions: their length stays about the same."""
    return min(WIDEST, factor / math.sqrt(d))


def closed(pool: Pool) -> bool:
    """Whether the known decisions are probably all that there are."""
    return bool(len(pool) < CLOSED * pool.scene.n)


def planned(
    stand_in: StandIn | None,
    pool: Pool | None,
    scene: Scene,
    solves: float,
    *,
    first: bool,
    pace: float,
    wider: float = 1.0,
) -> list[Course]:
    """The descents of one stage with so many solves per row, one after the other; pairs so much wider than usual."""
    if stand_in is None or pool is None:
        return [of_pairs(scene.d, solves, pace=pace, wider=wider)]
    if stand_in.kind == "argmin":
        if closed(pool):
            return [through_all_there_are(scene.d, min(solves, 0.2), pace=pace)]
        return [_by_argmin(scene.d, solves, pace=pace)]
    return _by_slope(stand_in.kind, pool, scene, solves, first=first, pace=pace)


def of_pairs(d: int, solves: float, *, pace: float, wider: float = 1.0) -> Course:
    """Antithetic pairs, and nothing else."""
    return Course(
        epochs=solves / 2,
        solves=solves,
        sigma=width(d, wider),
        rate=_rate(RATE, d, pace),
        batch=int(np.clip(8 * math.sqrt(solves), 16, 64)),
    )


def of_correction(stand_in: StandIn | None, d: int, solves: float) -> Course:
    """One number per output."""
    by_slope = stand_in is not None and stand_in.kind != "argmin"
    return Course(
        epochs=10,
        solves=solves,
        pay="points" if by_slope else "pairs",
        jitter=WIDE if d <= DIMENSIONS else width(d, 0.7),
        sigma=width(d, 1.0),
        rate=CORRECTION_RATE,
        batch=32,
    )


def through_all_there_are(d: int, solves: float, *, pace: float) -> Course:
    """The argmin over a pool that hardly grows: few solves suffice."""
    return Course(
        epochs=8,
        solves=solves,
        pay="points",
        jitter=WIDEST,
        sigma=width(d, 0.7),
        rate=_rate(RATE, d, pace),
        batch=32,
        directions=min(6, 2 * d),
    )


def _by_argmin(d: int, solves: float, *, pace: float) -> Course:
    """Few epochs for each paid solve: a pool that does not keep up is exploited."""
    epochs = max(1.0, min(6 * solves, 4.0), 3 * math.sqrt(solves), solves / 2)
    return Course(
        epochs=epochs,
        solves=solves,
        sigma=width(d, 0.7),
        rate=_rate(ARGMIN_RATE, d, pace),
        batch=32,
        residual=0.5,
        directions=6 if epochs <= 8 else 3,
    )


def _by_slope(kind: str, pool: Pool, scene: Scene, solves: float, *, first: bool, pace: float) -> list[Course]:
    """Single points teach the stand-in; then, with the processes, pairs that it steadies. SPO+ needs no pairs.

    Processes that a first stage has taught learn little more: what comes next is all pairs.
    """
    spo, d = kind == "spo+", scene.d
    if not spo and not first:
        return [_steadied(d, solves, pace=pace)]
    grown = min(solves, max(1.0, (SPO_POINTS - len(pool)) / scene.n) if spo else GROWTH)
    learning = Course(
        epochs=(30 if first else 15) if spo else 15,
        solves=grown,
        pay="points",
        jitter=width(d, 0.7) if spo else WIDE,
        sigma=width(d, 1.0),
        rate=_rate(RATE, d, pace),
        batch=32,
    )
    if spo or solves - grown < 1:
        return [learning]
    return [learning, _steadied(d, solves - grown, pace=pace)]


def _steadied(d: int, solves: float, *, pace: float) -> Course:
    """Pairs, less what the processes say of them."""
    return dataclasses.replace(of_pairs(d, solves, pace=pace), fit_coefficient=True, grow=False)


def _rate(rate: float, d: int, pace: float) -> float:
    return rate * pace / math.sqrt(d)
