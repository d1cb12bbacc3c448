"""Line search on paid rows: how far all predictions should move along one direction.

    u (m, d)   predictions of m rows        v (m, d)   the direction, in standard deviations of each parameter
    r(s)       mean regret at u + s v       s          -REACH .. REACH

Three points, wider ones for as long as the least is at an edge, then the vertex of the parabola through the least and
its neighbours. The same rows at every point: what they have in common cancels. Where the gain is less than one
standard error, half of the step is taken.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from fewsolves.methods.reading import Reading
from fewsolves.methods.staged.evidence import Evidence
from fewsolves.problem import Array

STEP, REACH = 0.25, 1.0
POINTS = 5  # that a search pays for at the most


class Step(NamedTuple):
    """What a line search found."""

    s: float
    gain_bound: float  # the largest gain of any s tried that is plausible (95 %), as a share of the regret at 0


def line_search(regret: Callable[[float], Array]) -> Step:
    """The s to take; `regret(s)` pays for the regrets of the rows at s."""
    paid = {s: regret(s) for s in (-STEP, 0.0, STEP)}
    while (edge := _least_at_edge(paid)) is not None and 2 * abs(edge) <= REACH and len(paid) < POINTS:
        paid[2 * edge] = regret(2 * edge)
    best, start = _least(paid), float(np.nanmean(paid[0.0]))
    evidence = {s: Evidence(Reading(values - paid[0.0]), start) for s, values in paid.items()}
    bound = max(one.gain_bound for one in evidence.values())
    return Step((1.0 if evidence[best].z < -1 else 0.5) * _vertex(paid, best) if best else 0.0, bound)


def _least(paid: dict[float, Array]) -> float:
    return min(paid, key=lambda s: float(np.nanmean(paid[s])))


def _least_at_edge(paid: dict[float, Array]) -> float | None:
    best = _least(paid)
    return best if best in (min(paid), max(paid)) else None


def _vertex(paid: dict[float, Array], best: float) -> float:
    """Of the parabola through the least and its neighbours; the least itself where that is at an edge."""
    points = sorted(paid)
    at = points.index(best)
    if at in (0, len(points) - 1):
        return best
    near = points[at - 1 : at + 2]
    a, b, _ = np.polyfit(near, [float(np.nanmean(paid[s])) for s in near], 2)
    return float(np.clip(-b / (2 * a), near[0], near[2])) if a > 0 else best
