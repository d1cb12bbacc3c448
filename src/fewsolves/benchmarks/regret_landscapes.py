"""Regret along a line of predictions, as arrays for `reporting.figures.landscape` and `reporting.figures.smoothing`.

A slice through the regret of one training row with what its surrogate believes, and figure 1 of the paper.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from fewsolves.errors import InputError
from fewsolves.methods.gp_surrogate.loss import GPSurrogateLoss
from fewsolves.problem import Array
from fewsolves.runs.result import Fit
from fewsolves.surrogate.samples import Samples
from fewsolves.surrogate.smoothing import smooth

DRAWS = 100  # per point of a slice, to average the true regret over


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


def landscape_slice(fitted: Fit, row: int = 0, n: int = 81, seed: int = 0) -> dict[str, Any]:
    """The regret of one training row on the line from its truth (0) through its final prediction (1), and beyond.

    True regret, the same averaged over the surrogate's own draws, and the surrogate's mean and std; in units of cost.
    Pays for n * (1 + DRAWS) solves, counted as test.
    """
    loss = fitted.loss
    if not isinstance(loss, GPSurrogateLoss) or loss.surrogate is None:
        raise InputError(f"a slice needs a trained GP surrogate, and {fitted.method.name!r} has none")
    surrogate, scale = loss.surrogate, loss.scale.numpy()
    with torch.no_grad():
        y_hat = fitted.predictor(torch.as_tensor(fitted.X_train[row : row + 1])).numpy()[0]
    truth, step = loss.truth[row], y_hat / scale - loss.truth[row]
    position = np.linspace(-0.5, 1.5, n)
    u = truth + position[:, None] * step
    noise = float(loss.noise.log_sigma.exp().mean()) * np.random.default_rng(seed).standard_normal((DRAWS, *u.shape))
    index = np.full(n, row)
    regret = loss.oracle.regret(index, u * scale, phase="test")
    averaged = np.mean([loss.oracle.regret(index, (u + e) * scale, phase="test") for e in noise], axis=0)
    loss.oracle.close()
    with torch.no_grad():
        mean, std = surrogate.regret(torch.as_tensor(u), index)
    return {
        "regret": (position, regret),
        "smoothed": (position, averaged),
        "belief": (position, mean.numpy(), std.numpy()),
        "paid": _on_the_line(surrogate.samples, row, truth, step, position),
    }


def _steps(x: Array) -> Array:
    return np.asarray(np.floor(2.0 * np.abs(x)) + 2.0 * (x > 1.2))


def _on_the_line(samples: Samples, row: int, truth: Array, step: Array, position: Array) -> tuple[Array, Array]:
    """Where the paid points of a row fall when they are projected on the line, and their regrets."""
    mine = samples.of(row)
    at = (samples.point[mine] - truth) @ step / max(float(step @ step), 1e-300)
    seen = (at >= position[0]) & (at <= position[-1])
    return at[seen], samples.regret[mine][seen]
