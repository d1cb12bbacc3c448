"""Initial designs: where each example is evaluated before training, for its surrogate to begin with.

    M, d         examples, inputs (standardised units)           k    points for each example
    truth        (M, d)    the true parameters, whose regret is 0 and needs no solve
    start        (M, d)    the predictions that training starts from

The paper fills a box by a Latin hypercube. In 50 dimensions no point of the box is anywhere near a prediction, and
what is learned there does not help; the other designs look where the predictor is, or may go.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from fewsolves.errors import InputError
from fewsolves.methods.gp_surrogate.surrogate.samples import Samples
from fewsolves.problem import Array

Kind = Literal["near", "box", "between", "shifts", "residuals", "mixed"]


@dataclass(frozen=True, kw_only=True)
class Design:
    """Points for all examples, (k, M, d), and what they are drawn from."""

    points: Array
    centre: Array | None  # (M, d); None: uniform in the box
    sigma: Array | float  # of all points, or broadcast to (k M, d)
    box: tuple[Array, Array] | None = None

    def record(self, samples: Samples, regret: Array) -> None:
        """Keep the points with their regrets (k, M) and their distribution; NaN is not known and left out."""
        k, M, d = self.points.shape
        known = ~np.isnan(regret.ravel())
        example, points, regret = (
            np.tile(np.arange(M), k)[known],
            self.points.reshape(-1, d)[known],
            regret.ravel()[known],
        )
        if self.box is not None:
            samples.add_box(example, points, regret, *self.box)
        else:
            assert self.centre is not None
            sigma = np.broadcast_to(self.sigma, (k * M, d))[known]
            samples.add(example, points, regret, np.tile(self.centre, (k, 1))[known], sigma)


def papers_number_of_points(n_y: int) -> int:
    """Logarithmic in n_y; the paper's call counts bound it by 6, 28 and 35 for 1, 10 and 50 parameters."""
    return 6 + int(5 * math.log2(n_y))


def draw(kind: Kind, truth: Array, start: Array, k: int, spread: float, rng: np.random.Generator) -> Design:
    """k points for each example.

    near       start + spread N(0, I)
    box        a Latin hypercube over the range of the truth, the same points for all examples (the paper)
    between    somewhere on the way from the truth to the start, and a little beyond
    shifts     as near, moved by one common amount N(0, 0.3^2) in all inputs
    residuals  start + the error of the start for another example
    mixed      near and shifts in turn
    """
    M, d = truth.shape
    noise = spread * rng.standard_normal((k, M, d))
    if kind == "box":
        low, high = truth.min(axis=0), truth.max(axis=0)
        high = np.where(high > low, high, low + 1.0)
        from scipy.stats import qmc  # half a second

        points = qmc.scale(qmc.LatinHypercube(d, rng=rng).random(k), low, high)
        return Design(points=np.repeat(points[:, None], M, axis=1), centre=None, sigma=0.0, box=(low, high))
    if kind == "near":
        return Design(points=start + noise, centre=start, sigma=spread)
    if kind == "between":
        way = rng.uniform(0.0, 1.3, size=(k, M, 1)) * (start - truth)
        return Design(
            points=truth + way + 0.1 * noise, centre=start, sigma=np.tile(np.abs(start - truth) + spread, (k, 1))
        )
    if kind == "residuals":
        error = (truth - start)[rng.integers(M, size=(k, M))]
        return Design(points=start + error + 0.1 * noise, centre=start, sigma=error.std(axis=(0, 1)) + spread)
    if kind not in ("shifts", "mixed"):
        raise InputError(f"unknown design {kind!r}; there is {', '.join(get_args(Kind))}")
    reach = np.full((k, 1, 1), 0.3)
    if kind == "mixed":
        reach[::2] = 0.0
    moved = reach * rng.standard_normal((k, M, 1))
    sigma = np.repeat(np.hypot(reach[:, 0], spread), M, axis=0)
    return Design(points=start + moved + noise, centre=start, sigma=sigma)
