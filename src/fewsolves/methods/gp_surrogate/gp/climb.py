"""Hyperparameters by a fixed number of steps of Adam, as GPyTorch is mostly used: not to the optimum.

    l, s2, noise      = log(1 + e^w), noise 1e-4 more; all w = 0 at first, which is 0.69 for each
    f                 log p(y | l, s2, noise) + log p(l), the objective of `fit`
    rho, alpha, W     noise / s2, (R + rho I)^-1 y, and the inverse Cholesky factor of R + rho I (`factor`)
    M                 h(t) D: l^3 times the slope of R in l (`covariance`)

    2 df/dnoise = alpha'alpha / s2^2 - tr / s2                                      tr = tr (R + rho I)^-1 = |W|^2
    2 df/ds2    = (y'alpha - rho alpha'alpha) / s2^2 - (n - rho tr) / s2
    2 df/dl     = (alpha'M alpha / s2 - sum_a w_a'M w_a) / l^3 + 2 d log p(l)/dl    w_a: the rows of W

A later fit goes on from where the last one ended, with an Adam that has forgotten. After few steps hyperparameters say
more about where they started than about the targets: nothing but a reading of the paper asks for that.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fewsolves.methods.gp_surrogate.gp.blocks import Array, Blocks
from fewsolves.methods.gp_surrogate.gp.covariance import Covariance, correlate_group, correlation
from fewsolves.methods.gp_surrogate.gp.factor import group_weights, invert_factor
from fewsolves.methods.gp_surrogate.gp.gather import empty_group, gather, packed_size
from fewsolves.methods.gp_surrogate.gp.lanes import WIDTH, compiled, inlined, load, splat, store, where_above
from fewsolves.methods.gp_surrogate.gp.threads import on_threads

RATE, LEAST_NOISE = 0.1, 1e-4
START = math.log(2.0), 1.0 + LEAST_NOISE / math.log(2.0), math.log(2.0)  # l, rho and s2
MEAN, SQUARE, EPS = 0.9, 0.999, 1e-8  # of Adam
SMALLEST = 1e-12  # softplus has no inverse at 0
FAR = 1e100  # squared distances of points that pad a group are infinite


def climb_each(
    blocks: Blocks, order: Array, steps: int, prior: tuple[float, float], hyper: Array, covariance: Covariance
) -> None:
    """So many steps for each of the examples `order`, sorted by size."""
    on_threads(lambda part: _climb(blocks, order[part], steps, prior, hyper, covariance), order.size)


@compiled
def _climb(blocks: Any, order: Any, steps: int, prior: Any, hyper: Any, covariance: Any) -> None:
    longest = blocks.size[order[-1]]
    group, size = empty_group(longest, covariance), packed_size(longest)
    W, M, alpha, work = np.empty(size), np.empty(size), np.empty(WIDTH * longest), np.empty(WIDTH * longest)
    c, rho, pivot, sums = np.empty(WIDTH), np.empty(WIDTH), np.empty(WIDTH), np.empty((5, WIDTH))
    w, mean, square = np.empty((3, WIDTH)), np.empty((3, WIDTH)), np.empty((3, WIDTH))
    for first in range(0, order.size, WIDTH):
        members = order[first : first + WIDTH]
        n = blocks.size[members[-1]]
        gather(blocks, members, covariance, n, group)
        for k in range(WIDTH):
            length, ratio, s2 = hyper[members[min(k, members.size - 1)]]
            w[0, k], w[1, k], w[2, k] = _inverse(length), _inverse(s2), _inverse(ratio * s2 - LEAST_NOISE)
        mean[:], square[:] = 0.0, 0.0
        for step in range(1, steps + 1):
            for k in range(WIDTH):
                c[k], rho[k] = 0.5 / _softplus(w[0, k]) ** 2, (_softplus(w[2, k]) + LEAST_NOISE) / _softplus(w[1, k])
            correlate_group(group.D, group.S, c, n, covariance.kernel, W)
            _slopes(group.D, group.S, c, n, covariance.kernel, M)
            invert_factor(W, rho, n, work, pivot)
            group_weights(W, group.y, n, alpha)
            _sums(W, M, alpha, group.y, n, sums)
            for k in range(members.size):
                gradient = _gradient(sums[:, k], w[:, k], rho[k], group.counts[k], n, group.scale[k] ** 2, prior)
                for h in range(3):
                    mean[h, k] = MEAN * mean[h, k] + (1.0 - MEAN) * gradient[h]
                    square[h, k] = SQUARE * square[h, k] + (1.0 - SQUARE) * gradient[h] ** 2
                    below = math.sqrt(square[h, k] / (1.0 - SQUARE**step)) + EPS
                    w[h, k] += RATE * mean[h, k] / (1.0 - MEAN**step) / below
        for k in range(members.size):
            s2 = _softplus(w[1, k])
            hyper[members[k], 0], hyper[members[k], 2] = _softplus(w[0, k]), s2
            hyper[members[k], 1] = (_softplus(w[2, k]) + LEAST_NOISE) / s2


@inlined
def _softplus(w: float) -> Any:
    return w + math.log1p(math.exp(-w)) if w > 0.0 else math.log1p(math.exp(w))


@inlined
def _inverse(value: float) -> Any:
    """w with log(1 + e^w) = value."""
    value = max(value, SMALLEST)
    return value + math.log(-math.expm1(-value))


@inlined
def _gradient(sums: Any, w: Any, rho: float, n: float, padded: int, scale: float, prior: Any) -> Any:
    """Of f / n in w; sums are those of `_sums`, with targets in units whose square is `scale`."""
    mu, sigma = prior
    length, s2 = _softplus(w[0]), _softplus(w[1])
    trace = sums[0] - (padded - n) / (1.0 + rho)  # what pads the group has 1 + rho on the diagonal, and nothing else
    weights, fit, forms = scale * sums[1], scale * sums[2], scale * sums[3] / s2 - sums[4]
    by_l = 0.5 * forms / length**3 - (1.0 + (math.log(length) - mu) / sigma**2) / length
    by_s2 = 0.5 * ((fit - rho * weights) / s2 - (n - rho * trace)) / s2
    by_noise = 0.5 * (weights / s2 - trace) / s2
    return by_l * _slope(w[0]) / n, by_s2 * _slope(w[1]) / n, by_noise * _slope(w[2]) / n


@inlined
def _slope(w: float) -> Any:
    """Of softplus."""
    return 1.0 / (1.0 + math.exp(-w))


@compiled
def _slopes(D: Any, S: Any, c: Any, n: int, kernel: int, M: Any) -> None:
    """M = h(c D) D, times the sharing factor S unless that is empty; lane arrays."""
    by_length, far = load(c, 0), splat(FAR)
    for at in range(0, WIDTH * (n * (n + 1) // 2), WIDTH):
        squared = load(D, at)
        _, slope = correlation(kernel, by_length * squared)
        slope = slope * where_above(squared, far, splat(0.0), squared)
        store(M, at, slope * load(S, at) if S.size else slope)


@compiled
def _sums(W: Any, M: Any, alpha: Any, y: Any, n: int, sums: Any) -> None:
    """sums (5, 4): |W|^2, alpha'alpha, y'alpha, alpha'M alpha, and w_a'M w_a summed over the rows of W."""
    trace = weights = fit = forms = splat(0.0)
    for a in range(0, WIDTH * n, WIDTH):
        weights, fit = weights + load(alpha, a) * load(alpha, a), fit + load(y, a) * load(alpha, a)
    for at in range(0, WIDTH * (n * (n + 1) // 2), WIDTH):
        trace = trace + load(W, at) * load(W, at)
    a = 0
    while a < n:  # four rows of W at a time, so that each entry of M is read once for all four
        if a + 4 <= n:
            r0, r1, r2, r3 = _row(a), _row(a + 1), _row(a + 2), _row(a + 3)
            for b in range(1, a + 1):
                s0 = s1 = s2 = s3 = splat(0.0)
                row, end = _row(b), WIDTH * b
                for at in range(0, end, WIDTH):
                    m = load(M, row + at)
                    s0, s1 = s0 + m * load(W, r0 + at), s1 + m * load(W, r1 + at)
                    s2, s3 = s2 + m * load(W, r2 + at), s3 + m * load(W, r3 + at)
                forms = forms + (load(W, r0 + end) * s0 + load(W, r1 + end) * s1)
                forms = forms + (load(W, r2 + end) * s2 + load(W, r3 + end) * s3)
            for beyond in range(1, 4):
                forms = forms + _form(W, _row(a + beyond), M, a + 1, a + beyond + 1)
            a += 4
        else:
            forms = forms + _form(W, _row(a), M, 1, a + 1)
            a += 1
    store(sums[0], 0, trace)
    store(sums[1], 0, weights)
    store(sums[2], 0, fit)
    store(sums[3], 0, splat(2.0) * _form(alpha, 0, M, 1, n))
    store(sums[4], 0, splat(2.0) * forms)


@inlined
def _row(a: int) -> Any:
    return WIDTH * (a * (a + 1) // 2)


@inlined
def _form(x: Any, start: int, M: Any, first: int, end: int) -> Any:
    """Half of x'M x, whose diagonal is 0: the part of the rows first to end of M."""
    form = splat(0.0)
    for b in range(first, end):
        row, inner = _row(b), splat(0.0)
        for at in range(0, WIDTH * b, WIDTH):
            inner = inner + load(M, row + at) * load(x, start + at)
        form = form + load(x, start + WIDTH * b) * inner
    return form
