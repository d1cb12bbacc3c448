"""Posterior mean and standard deviation of the latent function, and their slopes by the query.

    x       (d,)      query under example i        c        1 / 2 l^2
    r, h    (n,)      correlations k and slopes -k' of x with the points x_a of the example, see `covariance`
    alpha   (n,)      (R + rho I)^-1 y             t, g     (n,)    t = W r, g = W' t = (R + rho I)^-1 r

Rasmussen & Williams 2006, eq. 2.25 and 2.26, with s2 taken out of all matrices:

    mean = r' alpha                gradient:  2c sum_a alpha_a h_a (x_a - x)
    var  = s2 (1 - t't)            gradient of std:  -(s2 / std) 2c sum_a g_a h_a (x_a - x)

t comes from W and not from the inverse of R + rho I, so that 1 - t't keeps its digits. One pass over the points gives
values and gradients.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fewsolves.errors import InputError
from fewsolves.methods.gp_surrogate.gp.blocks import MAX_ABS, Array, Blocks, longest_capacity, squared_distances
from fewsolves.methods.gp_surrogate.gp.covariance import SMALLEST_PIVOT, Covariance, correlate, correlate_point
from fewsolves.methods.gp_surrogate.gp.factor import inner, multiply, multiply_transposed, triangle_of
from fewsolves.methods.gp_surrogate.gp.lanes import MULTIPLE, compiled, inlined
from fewsolves.methods.gp_surrogate.gp.threads import on_threads


def _predict_in_numpy(
    blocks: Blocks,
    index: Array,
    queries: Array,
    hyper: Array,
    failed: Array,
    covariance: Covariance,
    mean: Array,
    std: Array,
    gradients: Array,
) -> None:
    """All examples with the same number of points together."""
    lost, size = failed[index], blocks.size[index]
    mean[:], std[:], gradients[:] = 0.0, np.where(lost, np.inf, np.sqrt(hyper[index, 2])), 0.0
    for n in np.unique(size[~lost & (size > 0)]):
        at = np.flatnonzero(~lost & (size == n))
        i = index[at]
        rows, c, s2 = blocks.row[i][:, None] + np.arange(n), 0.5 / hyper[i, 0] ** 2, hyper[i, 2]
        offsets = blocks.points[rows, : queries.shape[1]] - queries[at][:, None]
        r = c[:, None] * (offsets**2).sum(axis=2)
        h = np.empty_like(r)
        correlate(covariance.kernel, r.reshape(-1), h.reshape(-1))
        apart = covariance.landscapes[blocks.owners[rows]] - covariance.landscapes[i][:, None]
        factor = 1.0 / (1.0 + covariance.strength * np.sqrt((apart**2).sum(axis=2)))
        r, h = r * factor, h * factor
        W = np.stack([triangle_of(blocks.factors, start, n) for start in blocks.entry[i]])
        t, alpha = np.einsum("kab,kb->ka", W, r), blocks.weights[rows]
        rest = 1.0 - (t**2).sum(axis=1)
        mean[at], std[at] = (r * alpha).sum(axis=1), np.sqrt(s2 * np.maximum(rest, SMALLEST_PIVOT))
        if gradients.size:
            g = np.einsum("kab,ka->kb", W, t) * np.where(rest > SMALLEST_PIVOT, -s2 / std[at], 0.0)[:, None]
            weights = 2.0 * c[:, None, None] * np.stack([alpha * h, g * h], axis=1)
            gradients[at] = np.einsum("kpa,kad->kpd", weights, offsets)


@compiled(plain=_predict_in_numpy)
def predict(
    blocks: Any, index: Any, queries: Any, hyper: Any, failed: Any, covariance: Any, mean: Any, std: Any, gradients: Any
) -> None:
    """Posterior mean and std at queries[b] under example index[b]; `gradients` (B, 2, d) takes those of both.

    With gradients of length 0 none are computed.
    """
    longest = longest_capacity(blocks, index)
    distance, r, h = np.empty(longest), np.empty(longest), np.empty(longest if gradients.size else 0)
    t, g = np.empty(longest), np.empty(longest)
    stride, d = blocks.points.shape[1], queries.shape[1]
    x, by_mean, by_std = np.zeros(stride), np.empty(stride), np.empty(stride)
    for b in range(index.size):
        i = index[b]
        n, row = blocks.size[i], blocks.row[i]
        c, s2 = 0.5 / hyper[i, 0] ** 2, hyper[i, 2]
        if failed[i] or n == 0:
            mean[b], std[b] = 0.0, np.inf if failed[i] else math.sqrt(s2)
            if gradients.size:
                for k in range(d):
                    gradients[b, 0, k] = gradients[b, 1, k] = 0.0
            continue
        for k in range(d):
            x[k] = queries[b, k]
        squared_distances(blocks.points, row, n, x, distance)
        correlate_point(distance, n, c, blocks, i, i, covariance, r, h)
        mean[b] = inner(blocks.weights, row, r, n)
        rest = 1.0 - multiply(blocks.factors, blocks.entry[i], n, r, t)
        std[b] = math.sqrt(s2 * max(rest, SMALLEST_PIVOT))
        if gradients.size == 0:
            continue
        multiply_transposed(blocks.factors, blocks.entry[i], n, t, g)
        factor = -2.0 * c * s2 / std[b] if rest > SMALLEST_PIVOT else 0.0
        for a in range(-(-n // MULTIPLE) * MULTIPLE):
            g[a] *= factor * h[a]
            h[a] *= 2.0 * c * blocks.weights[row + a]
        _weighted_offsets(blocks.points, row, n, x, h, g, by_mean, by_std)
        for k in range(d):
            gradients[b, 0, k], gradients[b, 1, k] = by_mean[k], by_std[k]


@inlined
def _weighted_offsets(points: Any, first: int, n: int, x: Any, p: Any, q: Any, by_p: Any, by_q: Any) -> None:
    """sum_a p_a (x_a - x) and sum_a q_a (x_a - x), each point read once."""
    by_p[:], by_q[:] = 0.0, 0.0
    for a in range(n):
        point, pa, qa = points[first + a], p[a], q[a]
        for k in range(x.size):
            step = point[k] - x[k]
            by_p[k] += pa * step
            by_q[k] += qa * step


def evaluated(
    queries: Array, index: Array, blocks: Blocks, hyper: Array, failed: Array, covariance: Covariance, *, slopes: bool
) -> tuple[Array, Array, Array]:
    """Mean and std (B,) at queries (B, d), and the slopes of both (B, 2, d), of length 0 where they are not wanted."""
    n, d = queries.shape
    if not float(np.vdot(queries, queries)) < MAX_ABS**2:  # false for NaN, and quicker than two extremes
        raise InputError("y_hat is not finite: has the predictor diverged? Try a smaller learning rate")
    mean, std, gradients = np.empty(n), np.empty(n), np.empty((n if slopes else 0, 2, d))

    def predict_part(part: slice) -> None:
        results = mean[part], std[part], gradients[part]
        predict(blocks, index[part], queries[part], hyper, failed, covariance, *results)

    on_threads(predict_part, n)
    return mean, std, gradients
