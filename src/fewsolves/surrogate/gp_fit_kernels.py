"""MAP hyperparameters of many Gaussian processes, four at a time.

    u       log l, the only variable of the search       mu, sigma    of the LogNormal prior of l
    f(u)    profile objective: log p(y | l, best rho and s2) + log p(l), up to a constant
    rho     noise ratio, between floor and ceiling       T, z         see `gp_profile_kernels`

log p(l) = -u - (u - mu)^2 / (2 sigma^2) - log(sigma sqrt(2 pi)) is the density of l, not of log l (the term -u).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fewsolves.surrogate.gp_gather_kernels import gather, packed_size
from fewsolves.surrogate.gp_lanes import WIDTH, exp, inlined, kernel, load, store
from fewsolves.surrogate.gp_profile_kernels import N_RATIOS, correlate, sweep, tridiagonalise
from fewsolves.surrogate.gp_search_kernels import insert, next_trial

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
