"""The pilot: paid pairs near the start show which stand-ins predict differences of regret.

signal    correlation over paid pairs of (R+ - R-) and (S+ - S-): true, and as the stand-in predicts. Both are
          winsorised, since one pair of a regret with heavy tails would decide
"""

from __future__ import annotations

import math

import numpy as np

from fewsolves.methods.staged.pool import CostCallsTooExpensive, Pool
from fewsolves.methods.staged.rows import TrainingRows
from fewsolves.methods.staged.stand_ins.base import StandIn
from fewsolves.methods.staged.tuning import Tuning
from fewsolves.problem import Array

TRIM = 0.1  # share of the pairs at either end that are pulled in to the next


def competing(
    rows: TrainingRows, pool: Pool, stand_ins: list[StandIn], some: Array, u: Array, tuning: Tuning, per_row: float
) -> tuple[list[StandIn], dict[str, float]]:
    """The stand-ins that compete for this many solves per row, the best first, and the signals of all."""
    signals = run_pilot(rows, pool, stand_ins, some, u, tuning)
    behind = tuning.behind * min(1.0, per_row / 2)  # fewer than two solves per row are not worth sharing out
    return predicting(stand_ins, signals, len(some), behind), signals


def run_pilot(
    rows: TrainingRows, pool: Pool, stand_ins: list[StandIn], some: Array, u: Array, tuning: Tuning
) -> dict[str, float]:
    """Pay a pair around the prediction u (B, d) of each of some rows: the signals of the stand-ins, by name.

    A stand-in whose cost calls are not allowed has none.
    """
    sigma, signals = tuning.width(rows.d, 0.7), {}
    e = rows.rng.standard_normal(u.shape)
    V = np.stack([u + sigma * e, u - sigma * e], axis=1)
    twice, around = np.r_[some, some], np.r_[V[:, 0], V[:, 1]]
    paid = rows.pay(twice, around)
    true = paid.regret[: len(some)] - paid.regret[len(some) :]
    for one in stand_ins:
        try:
            one.refresh()
            value = one.value(some, u, V)
            predicted = value[:, 0] - value[:, 1]
            known = ~(np.isnan(predicted) | np.isnan(true))
            x, y = (winsorised(values[known] / 2, TRIM) for values in (predicted, true))
            signals[one.name] = one.signal = correlation(x, y)
            one.fit_rho(x, y)
        except CostCallsTooExpensive:
            continue
    pool.learn(twice, around, paid)  # only now: a prediction must not know what it predicts
    return signals


def predicting(stand_ins: list[StandIn], signals: dict[str, float], pairs: int, behind: float) -> list[StandIn]:
    """The stand-ins that predict something, the best first.

    A slope whose signal may be chance leads astray. A stand-in whose signal is `behind` standard errors below the best,
    by Fisher's transformation of correlations, would take half of the solves of the first stage for nothing.
    """
    chance = 1 / math.sqrt(pairs)
    left = [one for one in stand_ins if one.name in signals and (not one.sloped or signals[one.name] >= chance)]
    z = {one.name: math.atanh(float(np.clip(signals[one.name], -0.99, 0.99))) for one in left}
    clearly = behind * math.sqrt(2 / max(1, pairs - 3))
    left = [one for one in left if z[one.name] >= max(z.values()) - clearly]
    return sorted(left, key=lambda one: -signals[one.name])


def correlation(a: Array, b: Array) -> float:
    """0 where one of them does not vary."""
    if len(a) < 3 or a.std() == 0 or b.std() == 0:
        return 0.0
    return float(np.corrcoef(a, b)[0, 1])


def winsorised(values: Array, share: float) -> Array:
    """Values (m,) with the outermost share at either end pulled in to the next value."""
    k = int(share * len(values))
    if k == 0:
        return values
    ordered = np.sort(values)
    return np.clip(values, ordered[k], ordered[-1 - k])
