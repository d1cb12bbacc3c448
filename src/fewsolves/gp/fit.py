"""MAP hyperparameters of many Gaussian processes, four at a time.

    u       log l, the only variable of the search       mu, sigma    of the LogNormal prior of l
    f(u)    profile objective: log p(y | l, best rho and s2) + log p(l), up to a constant
    rho     noise ratio, between floor and ceiling       T, z         see `gp.profile`

log p(l) = -u - (u - mu)^2 / (2 sigma^2) - log(sigma sqrt(2 pi)) is the density of l, not of log l (the term -u).

One length-scale, output scale and noise for all examples.

    i           example, with n_i points               N    sum of n_i
    q_i(rho)    y_i'(R_i + rho I)^-1 y_i               s2   = sum_i q_i / N, the best output scale for given l and rho

    sum_i log p(y_i | l, rho) = -N/2 (log s2 + 1 + log 2 pi) - 1/2 sum_i log|R_i + rho I|

As in `gp.profile` one Householder reduction per example and length-scale serves all noise ratios; the reduced
matrices of all examples are kept until the best ratio is found. The prior of l counts once.

Which examples are fitted from where, and in which order.

order     examples sorted by their number of points, so that four neighbours need little padding
prior     (mu, sigma) of log l             bounds    smallest and largest log of the noise ratio rho
hyper     (M, 3): l, rho, s2 of each example
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fewsolves.gp.blocks import Array, Blocks
from fewsolves.gp.covariance import Sharing
from fewsolves.gp.factor import factorise
from fewsolves.gp.gather import gather, largest_target, packed_size
from fewsolves.gp.lanes import WIDTH, exp, inlined, kernel, load, store
from fewsolves.gp.profile import N_RATIOS, correlate, sweep, tridiagonalise
from fewsolves.gp.search import insert, next_trial
from fewsolves.gp.threads import on_threads

MAX_EVALUATIONS = 20
TOLERANCE = 2e-3  # nats
SEARCH_RANGE = 8.0  # standard deviations of the prior around its mean


@inlined
def peak(logs: Any, log_q: Any, values: Any, first: int, stride: int) -> Any:
    """Largest of N_RATIOS values, refined by a parabola where it lies between two others; its log rho and log q."""
    top = first
    for at in range(first, first + stride * N_RATIOS, stride):
        if values[at] > values[top] + 1e-9:  # of equals the smallest: one point cannot tell noise from signal
            top = at
    value, log_rho, best_q = values[top], logs[top], log_q[top]
    if first < top < first + stride * (N_RATIOS - 1):
        before, after = values[top - stride], values[top + stride]
        bend = before - 2.0 * value + after
        if bend < 0.0:
            s = 0.5 * (before - after) / bend  # vertex, in steps: |s| <= 1/2
            slope_q = 0.5 * (log_q[top + stride] - log_q[top - stride])
            bend_q = log_q[top - stride] - 2.0 * best_q + log_q[top + stride]
            value -= 0.5 * bend * s * s
            log_rho += s * (log_rho - logs[top - stride])
            best_q += s * (slope_q + 0.5 * bend_q * s)
    return value, log_rho, best_q


@kernel
def scan_ratios(T: Any, n: int, counts: Any, step: float, bounds: Any, work: Any, best: Any) -> float:
    """Best of N_RATIOS noise ratios within `step` of the best one so far and within `bounds` (all logarithms).

    T (3, ..): diagonal, off-diagonal and z. best (3, 4): value, log rho and log q of each lane; log rho is read, all
    three are written. Returns the distance of two neighbouring ratios.
    """
    size = WIDTH * N_RATIOS
    logs, ratios, log_q, values = work[:size], work[size : 2 * size], work[2 * size : 3 * size], work[3 * size :]
    for k in range(WIDTH):
        low, high = max(best[1, k] - step, bounds[0]), min(best[1, k] + step, bounds[1])
        for g in range(N_RATIOS):
            logs[WIDTH * g + k] = low + (high - low) * g / (N_RATIOS - 1)
    for at in range(0, size, WIDTH):
        store(ratios, at, exp(load(logs, at)))
    sweep(T[0], T[1], T[2], n, counts, ratios, log_q, values)
    for k in range(WIDTH):
        for at in range(k, size, WIDTH):
            values[at] = -0.5 * (counts[k] * log_q[at] + values[at])
        best[0, k], best[1, k], best[2, k] = peak(logs, log_q, values, k, WIDTH)
    return 2.0 * step / (N_RATIOS - 1)


@kernel
def fit(blocks: Any, order: Any, starts: Any, prior: Any, bounds: Any, hyper: Any, sharing: Any) -> None:
    """MAP l, rho and s2 into `hyper`, four examples of `order` (sorted by size) at a time.

    starts (len(order), k): the first k >= 3 values of log l to try, for each example.
    prior: mu, sigma. bounds: smallest and largest log rho.
    """
    longest = blocks.size[order[-1]]
    packed = packed_size(longest)
    D, A = np.empty(packed), np.empty(packed)
    S = np.empty(packed if sharing.landscapes.shape[1] else 0)
    y, work = np.empty(WIDTH * longest), np.empty(4 * WIDTH * longest)
    T, best_T = np.zeros((3, WIDTH * longest)), np.zeros((3, WIDTH * longest))
    sweep_work, scan = np.empty(4 * WIDTH * N_RATIOS), np.empty((3, WIDTH))
    counts, scale, minus_c = np.empty(WIDTH), np.empty(WIDTH), np.empty(WIDTH)
    u, f = np.empty((WIDTH, MAX_EVALUATIONS)), np.empty((WIDTH, MAX_EVALUATIONS))
    trial, best_f, best_u, best_rho = np.empty(WIDTH), np.empty(WIDTH), np.empty(WIDTH), np.empty(WIDTH)
    active = np.empty(WIDTH, dtype=np.bool_)
    mu, sigma = prior
    low, high = mu - SEARCH_RANGE * sigma, mu + SEARCH_RANGE * sigma
    half_span = 0.5 * (bounds[1] - bounds[0])
    for group in range(0, order.size, WIDTH):
        members = order[group : group + WIDTH]
        n = blocks.size[members[-1]]
        gather(blocks, members, sharing, n, D, S, y, counts, scale)
        for k in range(WIDTH):
            active[k] = k < members.size and scale[k] > 0.0
            best_f[k], best_rho[k] = -np.inf, bounds[0]
        for evaluation in range(MAX_EVALUATIONS):
            any_active = False
            for k in range(WIDTH):
                if active[k]:
                    if evaluation < starts.shape[1]:
                        trial[k] = starts[group + k, evaluation]
                    else:
                        trial[k] = next_trial(u[k], f[k], evaluation, low, high, TOLERANCE)
                    active[k] = not math.isnan(trial[k])
                any_active |= active[k]
                minus_c[k] = -0.5 * math.exp(-2.0 * trial[k]) if active[k] else -1.0
            if not any_active:
                break
            correlate(D, S, minus_c, n, A)
            for at in range(WIDTH * n):
                T[2, at] = y[at]
            tridiagonalise(A, T[2], n, work, T[0], T[1])
            for k in range(WIDTH):
                scan[1, k] = bounds[0] + half_span
            step = scan_ratios(T, n, counts, half_span, bounds, sweep_work, scan)
            scan_ratios(T, n, counts, step, bounds, sweep_work, scan)
            for k in range(WIDTH):
                if active[k]:
                    value = scan[0, k] - trial[k] - 0.5 * ((trial[k] - mu) / sigma) ** 2
                    insert(u[k], f[k], evaluation, trial[k], value)
                    if value > best_f[k]:
                        best_f[k], best_u[k], best_rho[k] = value, trial[k], scan[1, k]
                        for at in range(k, WIDTH * n, WIDTH):
                            best_T[0, at], best_T[1, at], best_T[2, at] = T[0, at], T[1, at], T[2, at]
        for k in range(WIDTH):
            scan[1, k] = best_rho[k]
        scan_ratios(best_T, n, counts, 0.5, bounds, sweep_work, scan)
        for k in range(members.size):
            if best_f[k] > -np.inf:
                i = members[k]
                hyper[i, 0], hyper[i, 1] = math.exp(best_u[k]), math.exp(scan[1, k])
                hyper[i, 2] = math.exp(scan[2, k]) / counts[k] * scale[k] * scale[k]


@kernel
def reduce_all(blocks: Any, order: Any, log_l: float, common: float, sharing: Any, first: Any, reduced: Any) -> None:
    """T and z of every example of `order`, those of four examples from column first[group] of `reduced` (3, ..) on.

    Targets are divided by `common`.
    """
    longest = blocks.size[order[-1]]
    packed = packed_size(longest)
    D, A = np.empty(packed), np.empty(packed)
    S = np.empty(packed if sharing.landscapes.shape[1] else 0)
    y, work = np.empty(WIDTH * longest), np.empty(4 * WIDTH * longest)
    counts, scale, minus_c = np.empty(WIDTH), np.empty(WIDTH), np.empty(WIDTH)
    for k in range(WIDTH):
        minus_c[k] = -0.5 * math.exp(-2.0 * log_l)
    for group in range(first.size):
        members = order[WIDTH * group : WIDTH * (group + 1)]
        n = blocks.size[members[-1]]
        size = WIDTH * n
        gather(blocks, members, sharing, n, D, S, y, counts, scale)
        part = slice(first[group], first[group] + size)
        diagonal, off, z = reduced[0][part], reduced[1][part], reduced[2][part]
        for at in range(size):
            z[at] = y[at] * (scale[at % WIDTH] / common)
        correlate(D, S, minus_c, n, A)
        tridiagonalise(A, z, n, work, diagonal, off)


@kernel
def sum_over_examples(blocks: Any, order: Any, first: Any, reduced: Any, log_ratios: Any, sums: Any) -> None:
    """sums (2, N_RATIOS): sum_i q_i(rho) and sum_i log|R_i + rho I| for each ratio."""
    size = WIDTH * N_RATIOS
    counts, ratios, log_q, log_det = np.empty(WIDTH), np.empty(size), np.empty(size), np.empty(size)
    for at in range(size):
        ratios[at] = math.exp(log_ratios[at // WIDTH])
    for g in range(N_RATIOS):
        sums[0, g] = sums[1, g] = 0.0
    for group in range(first.size):
        members = order[WIDTH * group : WIDTH * (group + 1)]
        n = blocks.size[members[-1]]
        for k in range(WIDTH):
            counts[k] = blocks.size[members[k]] if k < members.size else 0
        part = slice(first[group], first[group] + WIDTH * n)
        sweep(reduced[0][part], reduced[1][part], reduced[2][part], n, counts, ratios, log_q, log_det)
        for at in range(size):
            if counts[at % WIDTH] > 0.0:
                sums[0, at // WIDTH] += math.exp(log_q[at])
                sums[1, at // WIDTH] += log_det[at]


FAR = np.array([-1.5, -0.6, 0.3, 1.2])  # around the prior mean of log l: the objective may have several maxima
NEAR = np.array([0.0, -0.3, 0.3])  # around the last optimum
POOLED_TOLERANCE = 5e-3  # nats, of the sum over all examples

Bounds = tuple[float, float]


def by_size(blocks: Blocks, examples: Array) -> Array:
    return np.asarray(examples[np.argsort(blocks.size[examples], kind="stable")])


def fit_each(
    blocks: Blocks, order: Array, fresh: Array, prior: Bounds, bounds: Bounds, hyper: Array, sharing: Sharing
) -> None:
    """MAP hyperparameters of each example for itself; those marked in `fresh` (M,) do not trust their last optimum."""
    far = order[fresh[order]]
    near = order[~fresh[order]]
    last = np.log(hyper[near, 0])[:, None]
    for examples, starts in ((far, np.tile(prior[0] + FAR, (far.size, 1))), (near, last + NEAR)):

        def fit_part(part: slice, examples: Array = examples, starts: Array = starts) -> None:
            fit(blocks, examples[part], starts[part], prior, bounds, hyper, sharing)

        on_threads(fit_part, examples.size)


def factorise_each(blocks: Blocks, order: Array, hyper: Array, failed: Array, sharing: Sharing) -> None:
    on_threads(lambda part: factorise(blocks, order[part], hyper, failed, sharing), order.size)


def fit_pooled(
    blocks: Blocks, order: Array, start: float | None, prior: Bounds, bounds: Bounds, sharing: Sharing
) -> tuple[float, float, float] | None:
    """l, rho and s2 that maximise the sum of the marginal likelihoods; None if all targets are zero."""
    common = largest_target(blocks, order)
    if common == 0.0:
        return None
    n_total = int(blocks.size[order].sum())
    sizes = WIDTH * np.maximum.reduceat(blocks.size[order], np.arange(0, order.size, WIDTH))
    first = np.cumsum(sizes) - sizes
    reduced = np.zeros((3, sizes.sum()))
    trials, values = np.empty(MAX_EVALUATIONS), np.empty(MAX_EVALUATIONS)
    starts = prior[0] + FAR if start is None else start + NEAR
    low, high = prior[0] - SEARCH_RANGE * prior[1], prior[0] + SEARCH_RANGE * prior[1]
    best = (-math.inf, 0.0, 0.0, 0.0)
    for evaluation in range(MAX_EVALUATIONS):
        if evaluation < starts.size:
            u = float(starts[evaluation])
        else:
            u = next_trial(trials, values, evaluation, low, high, POOLED_TOLERANCE)
            if math.isnan(u):
                break

        def reduce_part(part: slice, u: float = u) -> None:
            groups = slice(part.start // WIDTH, -(-part.stop // WIDTH))
            reduce_all(blocks, order[part], u, common, sharing, first[groups], reduced)

        on_threads(reduce_part, order.size)
        value, log_rho, log_q = _best_common_ratio(blocks, order, first, reduced, n_total, bounds)
        value -= u + 0.5 * ((u - prior[0]) / prior[1]) ** 2
        insert(trials, values, evaluation, u, value)
        best = max(best, (value, u, log_rho, log_q))
    _, u, log_rho, log_q = best
    return math.exp(u), math.exp(log_rho), math.exp(log_q) / n_total * common * common


def _best_common_ratio(
    blocks: Blocks, order: Array, first: Array, reduced: Array, n_total: int, bounds: Bounds
) -> tuple[float, float, float]:
    """Objective, log rho and log q at the best noise ratio, by ever finer scans."""
    sums = np.empty((2, N_RATIOS))
    low, high = bounds
    while True:
        logs = np.linspace(low, high, N_RATIOS)
        sum_over_examples(blocks, order, first, reduced, logs, sums)
        log_q = np.log(sums[0])
        value, log_rho, best_q = _peak(logs, log_q, -0.5 * (n_total * log_q + sums[1]))
        step = (high - low) / (N_RATIOS - 1)
        if step < 0.02:
            return value, log_rho, best_q
        low, high = max(bounds[0], log_rho - step), min(bounds[1], log_rho + step)


@kernel
def _peak(logs: Array, log_q: Array, values: Array) -> tuple[float, float, float]:
    value, log_rho, best_q = peak(logs, log_q, values, 0, 1)
    return value, log_rho, best_q
