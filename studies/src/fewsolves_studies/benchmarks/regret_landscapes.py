"""Figure 1 of the paper: a step-shaped regret along a line, smoothed; arrays for `reporting.figures.smoothing`."""

from __future__ import annotations

from typing import Any

import numpy as np

from fewsolves.methods.gp_surrogate.surrogate.samples import Samples
from fewsolves.methods.gp_surrogate.surrogate.smoothing import smooth
from fewsolves.problem import Array


def smoothing_by_importance(sigmas: tuple[float, ...] = (0.1, 0.3, 0.8), n: int = 300, seed: int = 0) -> dict[str, Any]:
    """Figure 1 of the paper: a step-shaped regret, smoothed for several sigma from one set of samples."""
    rng = np.random.default_rng(seed)
    grid = np.linspace(-3.0, 3.0, 241)
    centre = rng.uniform(-3.0, 3.0, size=(n, 1))
    points = centre + 0.3 * rng.standard_normal((n, 1))
    samples, order = Samples(1, 1), np.argsort(points[:, 0])
    samples.add(np.zeros(n, dtype=int), points, _steps(points[:, 0]), centre, 0.3)
    smoothed = {}
    for sigma in sigmas:
        found = smooth(samples, [0], sigma, "samples")
        smoothed[sigma] = np.interp(grid, points[order, 0], found.targets[order])
    return {"grid": grid, "regret": _steps(grid), "smoothed": smoothed, "points": points[:, 0]}


def _steps(x: Array) -> Array:
    return np.asarray(np.floor(2.0 * np.abs(x)) + 2.0 * (x > 1.2))
