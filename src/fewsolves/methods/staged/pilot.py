"""The pilot: a few paid solves near the start tell which stand-in, if any, predicts differences of regret.

    signal    correlation over paid pairs of (R+ - R-) and (S+ - S-): true, and as the stand-in says

`solve` must minimise the cost it is judged by for the argmin or SPO+ to mean anything: each paid decision is
compared with the known ones near it under g(u, .), by cost calls only. That g is linear in y shows in midpoints.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fewsolves.execution.base import Failure
from fewsolves.ledger.decision import PackedDecision
from fewsolves.methods.staged.pool import Pool
from fewsolves.methods.staged.scene import Scene
from fewsolves.methods.staged.stand_ins import Argmin, SharedGP, SPOPlus, StandIn
from fewsolves.problem import Array

TOLERANCE = 1e-6  # relative, of two costs
MIDPOINTS = 24  # triples of cost calls that linearity is tested by
POINTS, PAIRS = 0.125, 0.075  # shares of the rows that pay
FEWEST_PAIRS, MOST_PAIRS = 30, 240  # enough for a correlation; each is compared with all known decisions
NOT_OPTIMAL = 0.05  # share of solves beaten by a known decision from which on the solver does not minimise the cost
LEAST_SIGNAL, LEAST_ERRORS = 0.1, 1.5
DIMENSIONS = 20  # up to which wide draws teach the processes anything
WIDTH_PAIRS, ROUGH = 48, 1.4  # pairs at either width; growth below which the regret is rough
WIDE = 0.6  # standard deviation of such draws


@dataclass
class Pilot:
    """What the pilot found."""

    signals: dict[str, float] = field(default_factory=dict)
    beaten: float = 0.0  # share of solves for which a known decision was better under the prediction
    linear: bool = False
    chosen: StandIn | None = None

    def told(self) -> dict[str, Any]:
        """For result.json."""
        found = {"signals": self.signals, "solves_beaten": self.beaten, "linear_in_y": self.linear}
        return {"pilot": found, "stand_in": self.chosen.kind if self.chosen is not None else None}


def fly(scene: Scene, pool: Pool, u: Array, sigma: float) -> Pilot:
    """Pay at and around the predictions u (n, d) of all rows, and choose."""
    rng, pilot = scene.rng, Pilot(linear=linear_in_y(pool))
    points, n_pairs = int(POINTS * scene.n), min(scene.n, max(FEWEST_PAIRS, min(MOST_PAIRS, int(PAIRS * scene.n))))
    some = rng.choice(scene.n, points, replace=False)
    for rows, width in ((some[: points // 2], sigma), (some[points // 2 :], WIDE if scene.d <= DIMENSIONS else sigma)):
        around = u[rows] + width * rng.standard_normal((len(rows), scene.d))
        pool.learn(rows, around, scene.pay(rows, around))
    rows = rng.choice(scene.n, n_pairs, replace=False)
    e = rng.standard_normal((n_pairs, scene.d))
    V = np.stack([u[rows] + sigma * e, u[rows] - sigma * e], axis=1)
    twice, around = np.r_[rows, rows], np.r_[V[:, 0], V[:, 1]]
    paid = scene.pay(twice, around)
    pilot.beaten = share_beaten(pool, twice, around, paid.decisions)
    true = paid.regret[:n_pairs] - paid.regret[n_pairs:]
    candidates = _candidates(pool, pilot, rows)
    for stand_in in candidates:
        stand_in.refresh()
        value = stand_in.value(rows, u[rows], V)
        pilot.signals[stand_in.kind] = correlation(value[:, 0] - value[:, 1], true)
    pool.learn(twice, around, paid)
    pilot.chosen = _choose(pool, pilot.signals, n_pairs, candidates)
    return pilot


def _candidates(pool: Pool, pilot: Pilot, rows: Array) -> list[StandIn]:
    candidates: list[StandIn] = [SharedGP(pool, rows=rows)]
    if pilot.beaten <= NOT_OPTIMAL and not pool.scene.oracle.problem.noisy_cost:
        candidates += [Argmin(pool), *([SPOPlus(pool)] if pilot.linear else [])]
    return candidates


def _choose(pool: Pool, signals: dict[str, float], n_pairs: int, candidates: list[StandIn]) -> StandIn | None:
    for candidate in candidates:
        if isinstance(candidate, SPOPlus):  # its slope needs no signal: it bounds the regret where the cost is linear
            return candidate  # and what it has asked of each decision holds for all rows
    best = max(signals, key=lambda kind: signals[kind])
    chance = max(LEAST_SIGNAL, LEAST_ERRORS / math.sqrt(n_pairs))
    least = chance if best == "gp" else 0.0  # the argmin knows what the solver does
    if signals[best] <= least:
        return None
    return Argmin(pool) if best == "argmin" else SharedGP(pool)


def rough(scene: Scene, u: Array, sigma: float) -> bool:
    """Whether differences of regret hardly grow with the width of the draws, so that wider ones tell more.

    Where the regret is smooth they double with it.
    """
    rows = scene.rng.choice(scene.n, min(scene.n, WIDTH_PAIRS), replace=False)
    e = scene.rng.standard_normal((len(rows), scene.d))
    twice, spread = np.r_[rows, rows], []
    for width in (sigma, 2 * sigma):
        regret = scene.pay(twice, np.r_[u[rows] + width * e, u[rows] - width * e]).regret
        spread.append(float(np.nanstd(regret[: len(rows)] - regret[len(rows) :])))
    return spread[1] < ROUGH * spread[0]


def correlation(a: Array, b: Array) -> float:
    """Of the entries that are known; 0 where one of them does not vary."""
    known = ~(np.isnan(a) | np.isnan(b))
    a, b = a[known], b[known]
    if len(a) < 3 or a.std() == 0 or b.std() == 0:
        return 0.0
    return float(np.corrcoef(a, b)[0, 1])


def linear_in_y(pool: Pool) -> bool:
    """Whether g(y, z) is affine in y for fixed z, at points between the truths of two rows."""
    scene, rng = pool.scene, pool.scene.rng
    a, b = rng.integers(scene.n, size=(2, MIDPOINTS))
    decisions = [pool.decisions[k] for k in rng.integers(len(pool), size=MIDPOINTS)]
    share, Y = rng.uniform(0.2, 0.8, MIDPOINTS), scene.oracle.Y
    between = share[:, None] * Y[a] + (1 - share)[:, None] * Y[b]
    at_a, at_b, mid = (scene.oracle.cost_at(a, y, decisions) for y in (Y[a], Y[b], between))
    off = np.abs(mid - share * at_a - (1 - share) * at_b)
    return bool(np.nanmax(off) <= TOLERANCE * (np.nanstd(np.r_[at_a, at_b]) + 1e-300))


def share_beaten(
    pool: Pool, index: Array, u: Array, decisions: Sequence[PackedDecision | Failure], near: int = 48
) -> float:
    """Share of solves at u (B, d) whose decision is worse under g(u, .) than a known one near it."""
    known = [z.argument() for z in decisions if isinstance(z, PackedDecision)]
    if not known:
        return 0.0
    solved = np.array([isinstance(z, PackedDecision) for z in decisions])
    index, u = index[solved], u[solved]
    own = pool.scene.oracle.cost_at(index, pool.scene.raw(u), known)
    others = np.nanmin(pool.model_cost(index, u[:, None], pool.nearest(u, near))[:, 0], axis=1)
    return float(np.mean(others < own - TOLERANCE * np.maximum(1.0, np.abs(own))))
