"""MAP hyperparameters: a search in the length-scale alone, for each example by itself or for all together.

    i, n_i    example, its number of points            N            sum of n_i
    u         log l, the variable of the search        mu, sigma    mean and std of log l: the LogNormal prior of l
    rho       noise ratio, noise / s2, within `bounds` (of log rho)
    q_i       y_i'(R_i + rho I)^-1 y_i                 hyper        (M, 3): l, rho, s2 of each example
    order     examples sorted by size, so that neighbours need little padding

Each for itself, LANES at a time: the profile objective, with the best rho and s2 = q_i / n_i for each l (`profile`),

    f_i(u) = log p(y_i | l, rho, s2) + log p(l),    log p(l) = -u - (u - mu)^2 / (2 sigma^2) - log(sigma sqrt(2 pi)),

which is the density of l, not of log l (the term -u). Pooled, one l, rho and s2 = sum_i q_i / N for all examples:

    f(u) = -N/2 (log s2 + 1 + log 2 pi) - 1/2 sum_i log|R_i + rho I| + log p(l).

One Householder reduction per example and length-scale serves all noise ratios; pooled, the reduced matrices of all
examples are kept until the best common ratio is found. Constants are left out of f.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from fewsolves.methods.gp_surrogate.gp.blocks import Array, Blocks
from fewsolves.methods.gp_surrogate.gp.covariance import Covariance, correlate_group
from fewsolves.methods.gp_surrogate.gp.factor import factorise
from fewsolves.methods.gp_surrogate.gp.gather import empty_group, even_rows, gather, largest_target, packed_rows
from fewsolves.methods.gp_surrogate.gp.lanes import LANES, compiled, inlined, lanes_in_use
from fewsolves.methods.gp_surrogate.gp.profile import N_RATIOS, empty_work, peak, scan_ratios, sweep, tridiagonalise
from fewsolves.methods.gp_surrogate.gp.search import insert, next_trial
from fewsolves.methods.gp_surrogate.gp.threads import on_threads

MAX_EVALUATIONS = 20
TOLERANCE = 2e-3  # nats
POOLED_TOLERANCE = 5e-3  # nats, of the sum over all examples
SEARCH_RANGE = 8.0  # standard deviations of the prior around its mean
FAR = np.array([-1.5, -0.6, 0.3, 1.2])  # around the prior mean of log l: the objective may have several maxima
NEAR = np.array([0.0, -0.3, 0.3])  # around the last optimum

Bounds = tuple[float, float]


def by_size(blocks: Blocks, examples: Array) -> Array:
    return np.asarray(examples[np.argsort(blocks.size[examples], kind="stable")])


def fit_each(
    blocks: Blocks, order: Array, fresh: Array, prior: Bounds, bounds: Bounds, hyper: Array, covariance: Covariance
) -> None:
    """MAP hyperparameters of each example for itself; those marked in `fresh` (M,) do not trust their last optimum."""
    far = order[fresh[order]]
    near = order[~fresh[order]]
    last = np.log(hyper[near, 0])[:, None]
    for examples, starts in ((far, np.tile(prior[0] + FAR, (far.size, 1))), (near, last + NEAR)):

        def fit_part(part: slice, examples: Array = examples, starts: Array = starts) -> None:
            _fit_groups(blocks, examples[part], starts[part], prior, bounds, hyper, covariance)

        on_threads(fit_part, examples.size)


def factorise_each(blocks: Blocks, order: Array, hyper: Array, failed: Array, covariance: Covariance) -> None:
    """W and alpha of each example at its hyperparameters."""
    on_threads(lambda part: factorise(blocks, order[part], hyper, failed, covariance), order.size)


class _Searches(NamedTuple):
    """One search in u for each lane, side by side."""

    u: Array  # (L, MAX_EVALUATIONS): evaluated so far, sorted
    f: Array  # the objective there
    trial: Array  # (L,): the next u
    active: Array  # (L,): not at an end
    best: Array  # (3, L): the largest f, with its u and log rho
    reduced: Array  # (3 n L,): T and z there


@compiled
def _fit_groups(blocks: Any, order: Any, starts: Any, prior: Any, bounds: Any, hyper: Any, covariance: Any) -> None:
    """MAP l, rho and s2 into `hyper`, for LANES examples of `order` at a time.

    starts (len(order), k): the first k >= 3 values of u to try, for each example.
    """
    longest = even_rows(blocks.size[order[-1]])
    room, searches, work = empty_group(longest, covariance), _empty_searches(longest), empty_work(longest)
    all_rows, all_T, c = np.zeros((packed_rows(longest), 2 * LANES)), np.zeros(3 * longest * LANES), np.empty(LANES)
    ratio_work, scan = np.zeros((4, N_RATIOS, LANES)), np.zeros((3, LANES))
    half_span = 0.5 * (bounds[1] - bounds[0])
    for first in range(0, order.size, LANES):
        members = order[first : first + LANES]
        n, lanes = even_rows(blocks.size[members[-1]]), lanes_in_use(members.size)
        group, A = gather(blocks, members, covariance, n, room), all_rows[: packed_rows(n)]
        T = all_T[: 3 * n * LANES].reshape(3, n, LANES)
        reduced = searches.reduced[: 3 * n * LANES].reshape(3, n, LANES)
        for k in range(LANES):
            searches.active[k] = k < members.size and group.scale[k] > 0.0
            searches.best[0, k], searches.best[2, k] = -np.inf, bounds[0]
        for evaluation in range(MAX_EVALUATIONS):
            if not _set_trials(searches, evaluation, starts, first, prior, c):
                break
            correlate_group(group.D, group.S, c, covariance.kernel, A)
            for a in range(n):
                for k in range(lanes):
                    T[2, a, k] = group.y[a, k]
            tridiagonalise(A, T[2], lanes, work, T[0], T[1])
            scan[1] = bounds[0] + half_span
            step = scan_ratios(T, lanes, group.counts, half_span, bounds, ratio_work, scan)
            scan_ratios(T, lanes, group.counts, step, bounds, ratio_work, scan)
            _record(searches, evaluation, scan, prior, T, reduced)
        scan[1] = searches.best[2]
        scan_ratios(reduced, lanes, group.counts, 0.5, bounds, ratio_work, scan)
        for k in range(members.size):
            if searches.best[0, k] > -np.inf:
                i, scale = members[k], group.scale[k]
                hyper[i, 0], hyper[i, 1] = math.exp(searches.best[1, k]), math.exp(scan[1, k])
                hyper[i, 2] = math.exp(scan[2, k]) / group.counts[k] * scale * scale


@inlined
def _empty_searches(longest: int) -> Any:
    return _Searches(
        np.empty((LANES, MAX_EVALUATIONS)),
        np.empty((LANES, MAX_EVALUATIONS)),
        np.empty(LANES),
        np.empty(LANES, dtype=np.bool_),
        np.empty((3, LANES)),
        np.zeros(3 * longest * LANES),
    )


@inlined
def _set_trials(searches: Any, evaluation: int, starts: Any, first: int, prior: Any, c: Any) -> bool:
    """The next u of each search, and its c = 1 / 2 l^2; whether any search goes on."""
    mu, sigma = prior
    low, high = mu - SEARCH_RANGE * sigma, mu + SEARCH_RANGE * sigma
    any_active = False
    for k in range(LANES):
        if searches.active[k]:
            if evaluation < starts.shape[1]:
                searches.trial[k] = starts[first + k, evaluation]
            else:
                searches.trial[k] = next_trial(searches.u[k], searches.f[k], evaluation, low, high, TOLERANCE)
            searches.active[k] = not math.isnan(searches.trial[k])
        any_active |= searches.active[k]
        c[k] = 0.5 * math.exp(-2.0 * searches.trial[k]) if searches.active[k] else 1.0
    return any_active


@inlined
def _record(searches: Any, evaluation: int, scan: Any, prior: Any, T: Any, reduced: Any) -> None:
    """Keep f of each search at its trial, with the prior of l, and what belongs to the largest."""
    mu, sigma = prior
    best = searches.best
    for k in range(LANES):
        if searches.active[k]:
            u = searches.trial[k]
            value = scan[0, k] - u - 0.5 * ((u - mu) / sigma) ** 2
            insert(searches.u[k], searches.f[k], evaluation, u, value)
            if value > best[0, k]:
                best[0, k], best[1, k], best[2, k] = value, u, scan[1, k]
                for a in range(T.shape[1]):
                    reduced[0, a, k], reduced[1, a, k], reduced[2, a, k] = T[0, a, k], T[1, a, k], T[2, a, k]


def fit_pooled(
    blocks: Blocks, order: Array, start: float | None, prior: Bounds, bounds: Bounds, covariance: Covariance
) -> tuple[float, float, float] | None:
    """l, rho and s2 that maximise the sum of the marginal likelihoods; None if all targets are zero."""
    common = largest_target(blocks, order)
    if common == 0.0:
        return None
    n_total = int(blocks.size[order].sum())
    largest = np.maximum.reduceat(blocks.size[order], np.arange(0, order.size, LANES))
    sizes = 3 * LANES * (largest + largest % 2)
    first = np.cumsum(sizes) - sizes
    reduced = np.zeros(sizes.sum())
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
            groups = slice(part.start // LANES, -(-part.stop // LANES))
            _reduce_groups(blocks, order[part], u, common, covariance, first[groups], reduced)

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
        _sum_over_examples(blocks, order, first, reduced, logs, sums)
        log_q = np.log(sums[0])
        value, log_rho, best_q = _peak(logs, log_q, -0.5 * (n_total * log_q + sums[1]))
        step = (high - low) / (N_RATIOS - 1)
        if step < 0.02:
            return value, log_rho, best_q
        low, high = max(bounds[0], log_rho - step), min(bounds[1], log_rho + step)


@compiled
def _reduce_groups(
    blocks: Any, order: Any, log_l: float, common: float, covariance: Any, first: Any, reduced: Any
) -> None:
    """T and z (3, n, L) of every group of `order`, from place first[group] of the vector `reduced` on.

    Targets are divided by `common`.
    """
    longest = even_rows(blocks.size[order[-1]])
    room, work = empty_group(longest, covariance), empty_work(longest)
    all_rows, c = np.zeros((packed_rows(longest), 2 * LANES)), np.full(LANES, 0.5 * math.exp(-2.0 * log_l))
    for g in range(first.size):
        members = order[LANES * g : LANES * (g + 1)]
        n = even_rows(blocks.size[members[-1]])
        group, A = gather(blocks, members, covariance, n, room), all_rows[: packed_rows(n)]
        T = reduced[first[g] : first[g] + 3 * n * LANES].reshape(3, n, LANES)
        for a in range(n):
            for k in range(members.size):
                T[2, a, k] = group.y[a, k] * (group.scale[k] / common)
        correlate_group(group.D, group.S, c, covariance.kernel, A)
        tridiagonalise(A, T[2], lanes_in_use(members.size), work, T[0], T[1])


@compiled
def _sum_over_examples(blocks: Any, order: Any, first: Any, reduced: Any, log_ratios: Any, sums: Any) -> None:
    """sums (2, N_RATIOS): sum_i q_i(rho) and sum_i log|R_i + rho I| for each ratio."""
    shape = N_RATIOS, LANES
    counts, ratios, log_q, log_det = np.empty(LANES), np.empty(shape), np.empty(shape), np.empty(shape)
    for g in range(N_RATIOS):
        ratios[g] = math.exp(log_ratios[g])
    sums[:] = 0.0
    for group in range(first.size):
        members = order[LANES * group : LANES * (group + 1)]
        n = even_rows(blocks.size[members[-1]])
        for k in range(LANES):
            counts[k] = blocks.size[members[k]] if k < members.size else 0
        T = reduced[first[group] : first[group] + 3 * n * LANES].reshape(3, n, LANES)
        sweep(T, lanes_in_use(members.size), counts, ratios, log_q, log_det)
        for g in range(N_RATIOS):
            for k in range(members.size):
                sums[0, g] += math.exp(log_q[g, k])
                sums[1, g] += log_det[g, k]


@compiled
def _peak(logs: Array, log_q: Array, values: Array) -> tuple[float, float, float]:
    """`peak` of plain arrays."""
    value, log_rho, best_q = peak(logs, log_q, values)
    return value, log_rho, best_q
