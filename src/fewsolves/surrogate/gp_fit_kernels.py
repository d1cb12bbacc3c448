"""MAP hyperparameters and factors of many Gaussian processes, four at a time.

    u       log l, the only variable of the search      mu, sigma    of the LogNormal prior of l
    f(u)    profile objective: log p(y | l, best rho and s2) + log p(l), up to a constant
    rho     noise ratio, in [noise floor, 1e3]           W            inverse Cholesky factor of R + rho I

log p(l) = -u - (u - mu)^2 / (2 sigma^2) - log(sigma sqrt(2 pi)) is the density of l, not of log l (the term -u).
The objective in u can have two maxima, above all in one dimension, so a first fit starts from points far apart.
See `gp_profile_kernels` for the objective.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fewsolves.surrogate.gp_blocks import in_tiles
from fewsolves.surrogate.gp_lanes import WIDTH, inlined, kernel, lane, load, splat, sqrt, store, where_above
from fewsolves.surrogate.gp_point_kernels import shared_factor
from fewsolves.surrogate.gp_profile_kernels import (
    MAX_RATIO,
    N_RATIOS,
    SMALLEST_PIVOT,
    correlate,
    sweep,
    tridiagonalise,
)

MAX_EVALUATIONS = 20
MAX_RESCUE_RATIO = 0.1
TOLERANCE = 2e-3  # nats: the search ends when its parabola promises less than this
SEARCH_RANGE = 8.0  # standard deviations of the prior around its mean


@kernel
def gather(blocks: Any, members: Any, sharing: Any, n: int, D: Any, S: Any, y: Any, counts: Any, scale: Any) -> None:
    """Lane arrays of up to four examples, padded to n points; y is divided by its largest absolute value `scale`."""
    y[: WIDTH * n] = 0.0
    for lane_ in range(WIDTH):
        i = members[min(lane_, members.size - 1)]
        count = blocks.count[i] if lane_ < members.size else 0
        counts[lane_] = count
        row, start = blocks.row[i], blocks.entry[i]
        at = lane_
        for a in range(n):
            for b in range(a + 1):
                D[at] = blocks.distances[start + in_tiles(a, b)] if a < count else (0.0 if a == b else np.inf)
                if S.size:
                    S[at] = shared_factor(sharing, blocks.owners[row + a], blocks.owners[row + b]) if a < count else 1.0
                at += WIDTH
        largest = 0.0
        for a in range(count):
            largest = max(largest, abs(blocks.targets[row + a]))
        scale[lane_] = largest
        for a in range(count):
            y[WIDTH * a + lane_] = blocks.targets[row + a] / largest if largest > 0.0 else 0.0


@kernel
def scan_ratios(
    diagonal: Any, off: Any, z: Any, n: int, counts: Any, centre: Any, step: float, floor: float, work: Any, best: Any
) -> float:
    """One sweep over noise ratios within `step` of `centre` (logarithms), refined by a parabola.

    best (3, 4): value, log rho and log q of each lane. Returns the distance of two neighbouring ratios.
    """
    low_bound, high_bound = math.log(floor), math.log(MAX_RATIO)
    size = WIDTH * N_RATIOS
    logs, ratios, quadratic, log_det = work[:size], work[size : 2 * size], work[2 * size : 3 * size], work[3 * size :]
    for k in range(WIDTH):
        low, high = max(centre[k] - step, low_bound), min(centre[k] + step, high_bound)
        for g in range(N_RATIOS):
            logs[WIDTH * g + k] = low + (high - low) * g / (N_RATIOS - 1)
            ratios[WIDTH * g + k] = math.exp(logs[WIDTH * g + k])
    sweep(diagonal, off, z, n, counts, ratios, quadratic, log_det)
    for k in range(WIDTH):
        top = 0
        for g in range(N_RATIOS):
            at = WIDTH * g + k
            quadratic[at] = math.log(quadratic[at])
            log_det[at] = -0.5 * (counts[k] * quadratic[at] + log_det[at])
            if log_det[at] > log_det[WIDTH * top + k]:
                top = g
        at = WIDTH * top + k
        best[0, k], best[1, k], best[2, k] = log_det[at], logs[at], quadratic[at]
        if 0 < top < N_RATIOS - 1:
            before, after = log_det[at - WIDTH], log_det[at + WIDTH]
            bend = before - 2.0 * best[0, k] + after
            if bend < 0.0:
                s = 0.5 * (before - after) / bend  # vertex, in steps: |s| <= 1/2
                slope_q = 0.5 * (quadratic[at + WIDTH] - quadratic[at - WIDTH])
                bend_q = quadratic[at - WIDTH] - 2.0 * quadratic[at] + quadratic[at + WIDTH]
                best[0, k] -= 0.5 * bend * s * s
                best[1, k] += s * (logs[at] - logs[at - WIDTH])
                best[2, k] += s * (slope_q + 0.5 * bend_q * s)
    return 2.0 * step / (N_RATIOS - 1)


@kernel
def next_trial(u: Any, f: Any, n: int, low: float, high: float, tolerance: float) -> float:
    """Where to evaluate next, given n >= 3 evaluations sorted by u; NaN when the maximum is known well enough."""
    b = 0
    for k in range(n):
        if f[k] > f[b]:
            b = k
    if b == 0:
        if u[0] > low:
            return max(low, u[0] - 1.6 * (u[1] - u[0]))
        return 0.5 * (u[0] + u[1]) if u[1] - u[0] > 0.05 else np.nan
    if b == n - 1:
        if u[b] < high:
            return min(high, u[b] + 1.6 * (u[b] - u[b - 1]))
        return 0.5 * (u[b] + u[b - 1]) if u[b] - u[b - 1] > 0.05 else np.nan
    left, right = u[b] - u[b - 1], u[b + 1] - u[b]
    if max(left, right) < 1e-6:
        return np.nan
    slope_left, slope_right = (f[b] - f[b - 1]) / left, (f[b + 1] - f[b]) / right
    bend = (slope_right - slope_left) / (left + right)
    if not bend < 0.0:
        return np.nan  # three equal values: flat
    shift = -0.5 * (slope_left + bend * left) / bend
    gain = -bend * shift * shift
    wide = max(left, right)
    if gain < tolerance and (wide < 0.8 or -bend * wide * wide < tolerance):
        return np.nan
    if min(left, right) < 0.2 * wide or gain < tolerance:
        # one side is far away, and the parabola knows little about it
        return u[b] + 0.4 * right if right >= left else u[b] - 0.4 * left
    return u[b] + shift


@inlined
def _insert(u: Any, f: Any, n: int, new_u: float, new_f: float) -> None:
    k = n
    while k > 0 and u[k - 1] > new_u:
        u[k], f[k] = u[k - 1], f[k - 1]
        k -= 1
    u[k], f[k] = new_u, new_f


@kernel
def fit(blocks: Any, order: Any, starts: Any, mu: float, sigma: float, floor: float, hyper: Any, sharing: Any) -> None:
    """MAP l, rho and s2 into `hyper`, four examples of `order` at a time (sorted by size: less padding).

    starts (len(order), k): the first k values of log l to try, for each example.
    """
    longest = 0
    for i in order:
        longest = max(longest, blocks.count[i])
    packed = WIDTH * (longest * (longest + 1) // 2)
    D, A = np.empty(packed), np.empty(packed)
    S = np.empty(packed if sharing.landscapes.shape[1] else 0)
    y, z, work = np.empty(WIDTH * longest), np.empty(WIDTH * longest), np.empty(4 * WIDTH * longest)
    T, best_T = np.zeros((3, WIDTH * longest)), np.zeros((3, WIDTH * longest))
    sweep_work, scan = np.empty(4 * WIDTH * N_RATIOS), np.empty((3, WIDTH))
    counts, scale, minus_c, log_rho = np.empty(WIDTH), np.empty(WIDTH), np.empty(WIDTH), np.empty(WIDTH)
    u, f = np.empty((WIDTH, MAX_EVALUATIONS)), np.empty((WIDTH, MAX_EVALUATIONS))
    trial, best_f, best_u, best_rho = np.empty(WIDTH), np.empty(WIDTH), np.empty(WIDTH), np.empty(WIDTH)
    active = np.empty(WIDTH, dtype=np.bool_)
    low, high = mu - SEARCH_RANGE * sigma, mu + SEARCH_RANGE * sigma
    log_span = math.log(MAX_RATIO) - math.log(floor)
    n_starts = starts.shape[1]
    for group in range(0, order.size, WIDTH):
        members = order[group : group + WIDTH]
        n = 0
        for i in members:
            n = max(n, blocks.count[i])
        gather(blocks, members, sharing, n, D, S, y, counts, scale)
        for k in range(WIDTH):
            active[k] = k < members.size and scale[k] > 0.0
            best_f[k], best_u[k], best_rho[k] = -np.inf, mu, 0.0
        for evaluation in range(MAX_EVALUATIONS):
            any_active = False
            for k in range(WIDTH):
                if active[k]:
                    if evaluation < n_starts:
                        trial[k] = starts[group + k, evaluation]
                    else:
                        trial[k] = next_trial(u[k], f[k], evaluation, low, high, TOLERANCE)
                    active[k] = not math.isnan(trial[k])
                any_active |= active[k]
                minus_c[k] = -0.5 * math.exp(-2.0 * trial[k]) if active[k] else -1.0
            if not any_active:
                break
            correlate(D, S, minus_c, n, A)
            z[:] = y
            tridiagonalise(A, z, n, work, T[0], T[1])
            log_rho[:] = math.log(floor) + 0.5 * log_span
            step = scan_ratios(T[0], T[1], z, n, counts, log_rho, 0.5 * log_span, floor, sweep_work, scan)
            log_rho[:] = scan[1]
            scan_ratios(T[0], T[1], z, n, counts, log_rho, step, floor, sweep_work, scan)
            for k in range(WIDTH):
                if active[k]:
                    value = scan[0, k] - trial[k] - 0.5 * ((trial[k] - mu) / sigma) ** 2
                    _insert(u[k], f[k], evaluation, trial[k], value)
                    if value > best_f[k]:
                        best_f[k], best_u[k], best_rho[k] = value, trial[k], scan[1, k]
                        for at in range(k, WIDTH * n, WIDTH):
                            best_T[0, at], best_T[1, at], best_T[2, at] = T[0, at], T[1, at], z[at]
        scan_ratios(best_T[0], best_T[1], best_T[2], n, counts, best_rho, 0.5, floor, sweep_work, scan)
        for k in range(members.size):
            if scale[k] > 0.0 and best_f[k] > -np.inf:
                i = members[k]
                hyper[i, 0], hyper[i, 1] = math.exp(best_u[k]), math.exp(scan[1, k])
                hyper[i, 2] = math.exp(scan[2, k]) / counts[k] * scale[k] * scale[k]


@kernel
def factorise(blocks: Any, order: Any, hyper: Any, failed: Any, sharing: Any) -> None:
    """W and alpha at the given hyperparameters; where R + rho I is not positive definite, rho grows up to 0.1."""
    longest = 0
    for i in order:
        longest = max(longest, blocks.count[i])
    packed = WIDTH * (longest * (longest + 1) // 2)
    D, A = np.empty(packed), np.empty(packed)
    S = np.empty(packed if sharing.landscapes.shape[1] else 0)
    y, t, g = np.empty(WIDTH * longest), np.empty(WIDTH * longest), np.empty(WIDTH * longest)
    counts, scale, minus_c, rho, pivot = np.empty(WIDTH), np.empty(WIDTH), np.empty(WIDTH), np.empty(WIDTH), np.empty(WIDTH)
    for group in range(0, order.size, WIDTH):
        members = order[group : group + WIDTH]
        n = 0
        for i in members:
            n = max(n, blocks.count[i])
        gather(blocks, members, sharing, n, D, S, y, counts, scale)
        for k in range(WIDTH):
            i = members[min(k, members.size - 1)]
            minus_c[k], rho[k] = -0.5 / hyper[i, 0] ** 2, hyper[i, 1]
        while True:
            correlate(D, S, minus_c, n, A)
            invert_factor(A, rho, n, t, g, pivot)
            again = False
            for k in range(members.size):
                if not pivot[k] > SMALLEST_PIVOT and rho[k] < MAX_RESCUE_RATIO:
                    rho[k] = min(10.0 * rho[k], MAX_RESCUE_RATIO)
                    again = True
            if not again:
                break
        weigh(A, y, n, t, g)
        for k in range(members.size):
            i = members[k]
            failed[i] = not pivot[k] > SMALLEST_PIVOT
            hyper[i, 1] = rho[k]
            if not failed[i]:
                at, start, row = k, blocks.entry[i], blocks.row[i]
                for a in range(blocks.count[i]):
                    blocks.weights[row + a] = g[WIDTH * a + k] * scale[k]
                    for b in range(a + 1):
                        blocks.factors[start + in_tiles(a, b)] = A[at]
                        at += WIDTH


@kernel
def invert_factor(A: Any, rho: Any, n: int, t: Any, g: Any, pivot: Any) -> None:
    """A becomes W, row by row: each row is the one that appending its point would add. pivot (4,): the smallest."""
    least = splat(np.inf)
    ratio = load(rho, 0)
    floor = splat(SMALLEST_PIVOT)
    for a in range(n):
        row = WIDTH * (a * (a + 1) // 2)
        rest = load(A, row + WIDTH * a) + ratio
        for b in range(a):
            at = WIDTH * (b * (b + 1) // 2)
            tb = splat(0.0)
            for c in range(0, WIDTH * (b + 1), WIDTH):
                tb = tb + load(A, at + c) * load(A, row + c)
            for c in range(0, WIDTH * b, WIDTH):
                store(g, c, load(g, c) + load(A, at + c) * tb)
            store(g, WIDTH * b, load(A, at + WIDTH * b) * tb)
            rest = rest - tb * tb
        least = where_above(least, rest, rest, least)
        root = splat(1.0) / sqrt(where_above(rest, floor, rest, floor))
        for c in range(0, WIDTH * a, WIDTH):
            store(A, row + c, -load(g, c) * root)
        store(A, row + WIDTH * a, root)
    store(pivot, 0, least)


@kernel
def weigh(W: Any, y: Any, n: int, t: Any, alpha: Any) -> None:
    """alpha = W' W y, lane arrays."""
    for a in range(n):
        row = WIDTH * (a * (a + 1) // 2)
        ta = splat(0.0)
        for c in range(0, WIDTH * (a + 1), WIDTH):
            ta = ta + load(W, row + c) * load(y, c)
        for c in range(0, WIDTH * a, WIDTH):
            store(alpha, c, load(alpha, c) + load(W, row + c) * ta)
        store(alpha, WIDTH * a, load(W, row + WIDTH * a) * ta)
