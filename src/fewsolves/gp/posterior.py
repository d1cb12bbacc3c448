"""Posterior mean and standard deviation of the latent function, and their gradients.

    x       (d,)      query under example i        c       1 / 2 l^2
    r       (n,)      exp(-c |x - x_a|^2)          alpha   (n,)    (R + rho I)^-1 y
    t, g    (n,)      t = W r, g = (R + rho I)^-1 r

Rasmussen & Williams 2006, eq. 2.25 and 2.26, with s2 taken out of all matrices:

    mean = r' alpha                gradient:  2c sum_a alpha_a r_a (x_a - x)
    var  = s2 (1 - t't)            gradient of std:  -(s2 / std) 2c sum_a g_a r_a (x_a - x)

t comes from W and not from the inverse of R + rho I, so that 1 - t't keeps its digits.

The posterior as a function that torch can differentiate.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from fewsolves.errors import InputError
from fewsolves.gp.blocks import LARGEST, Array, Blocks
from fewsolves.gp.covariance import (
    SMALLEST_PIVOT,
    Sharing,
    correlations,
    inner,
    multiply,
    multiply_transposed,
    squared_distances,
)
from fewsolves.gp.lanes import WIDTH, inlined, kernel, load, splat, store
from fewsolves.gp.threads import on_threads


@kernel
def predict(
    blocks: Any, index: Any, queries: Any, hyper: Any, failed: Any, sharing: Any, mean: Any, std: Any, slopes: Any
) -> None:
    """Posterior mean and std at queries[b] under example index[b]; `slopes` (B, 2, d) takes their gradients.

    With slopes of length 0 no gradients are computed.
    """
    longest = 0
    for i in index:
        longest = max(longest, blocks.capacity[i])
    distance, r, t, g = np.empty(longest), np.empty(longest), np.empty(longest), np.empty(longest)
    stride, d = blocks.points.shape[1], queries.shape[1]
    x, slope_mean, slope_std = np.zeros(stride), np.empty(stride), np.empty(stride)
    for b in range(index.size):
        i = index[b]
        n, row = blocks.size[i], blocks.row[i]
        c, s2 = 0.5 / hyper[i, 0] ** 2, hyper[i, 2]
        if failed[i] or n == 0:
            mean[b], std[b] = 0.0, np.inf if failed[i] else math.sqrt(s2)
            if slopes.size:
                for k in range(d):
                    slopes[b, 0, k] = slopes[b, 1, k] = 0.0
            continue
        for k in range(d):
            x[k] = queries[b, k]
        squared_distances(blocks.points, row, n, x, distance)
        correlations(distance, n, c, blocks, i, i, sharing, r)
        mean[b] = inner(blocks.weights, row, r, n)
        rest = 1.0 - multiply(blocks.factors, blocks.entry[i], n, r, t)
        std[b] = math.sqrt(s2 * max(rest, SMALLEST_PIVOT))
        if slopes.size == 0:
            continue
        multiply_transposed(blocks.factors, blocks.entry[i], n, t, g)
        by_std = -2.0 * c * s2 / std[b] if rest > SMALLEST_PIVOT else 0.0
        for a in range(-(-n // WIDTH) * WIDTH):
            g[a] *= by_std * r[a]
            r[a] *= 2.0 * c * blocks.weights[row + a]
        _weighted_offsets(blocks.points, row, n, x, r, g, slope_mean, slope_std)
        for k in range(d):
            slopes[b, 0, k], slopes[b, 1, k] = slope_mean[k], slope_std[k]


@inlined
def _weighted_offsets(points: Any, first: int, n: int, x: Any, p: Any, q: Any, by_p: Any, by_q: Any) -> None:
    """sum_a p_a (x_a - x) and sum_a q_a (x_a - x), each point read once."""
    stride = points.shape[1]
    for k in range(stride):
        by_p[k] = by_q[k] = 0.0
    for a in range(0, n, WIDTH):
        p0, p1, p2, p3 = splat(p[a]), splat(p[a + 1]), splat(p[a + 2]), splat(p[a + 3])
        q0, q1, q2, q3 = splat(q[a]), splat(q[a + 1]), splat(q[a + 2]), splat(q[a + 3])
        at = (first + a) * stride
        for k in range(0, stride, WIDTH):
            xk = load(x, k)
            e0, e1 = load(points, at + k) - xk, load(points, at + stride + k) - xk
            e2, e3 = load(points, at + 2 * stride + k) - xk, load(points, at + 3 * stride + k) - xk
            store(by_p, k, (load(by_p, k) + p0 * e0 + p1 * e1) + (p2 * e2 + p3 * e3))
            store(by_q, k, (load(by_q, k) + q0 * e0 + q1 * e1) + (q2 * e2 + q3 * e3))


class Posterior(torch.autograd.Function):
    """(y_hat, ...) -> mean, std. One pass gives values and both gradients, so `backward` only scales them."""

    @staticmethod
    def forward(
        context: Any, y_hat: Tensor, index: Array, blocks: Blocks, hyper: Array, failed: Array, sharing: Sharing
    ) -> tuple[Tensor, Tensor]:
        queries = y_hat.detach().to("cpu", torch.float64).contiguous().numpy()
        n, d = queries.shape
        if n and not -LARGEST < queries.min() <= queries.max() < LARGEST:  # false for NaN
            raise InputError("y_hat is not finite: has the predictor diverged? Try a smaller learning rate")
        wanted = context.needs_input_grad[0]
        mean, std, slopes = np.empty(n), np.empty(n), np.empty((n if wanted else 0, 2, d))

        def predict_part(part: slice) -> None:
            results = mean[part], std[part], slopes[part]
            predict(blocks, index[part], queries[part], hyper, failed, sharing, *results)

        on_threads(predict_part, n)
        if wanted:
            context.save_for_backward(torch.from_numpy(slopes))
            context.like = (y_hat.device, y_hat.dtype)
        return torch.from_numpy(mean).to(y_hat.device), torch.from_numpy(std).to(y_hat.device)

    @staticmethod
    @once_differentiable
    def backward(context: Any, by_mean: Tensor, by_std: Tensor) -> tuple[Tensor | None, ...]:
        slope_mean, slope_std = context.saved_tensors[0].unbind(1)
        by_mean, by_std = by_mean.cpu().unsqueeze(1), by_std.cpu().unsqueeze(1)
        total = torch.addcmul(by_mean * slope_mean, by_std, slope_std)
        return total.to(*context.like), None, None, None, None, None


def posterior(
    y_hat: Tensor, index: Array, blocks: Blocks, hyper: Array, failed: Array, sharing: Sharing
) -> tuple[Tensor, Tensor]:
    mean, std = Posterior.apply(y_hat, index, blocks, hyper, failed, sharing)  # type: ignore[no-untyped-call]
    return mean, std
