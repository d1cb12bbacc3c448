"""Which examples are fitted from where, and in which order.

order     examples sorted by their number of points, so that four neighbours need little padding
prior     (mu, sigma) of log l             bounds    smallest and largest log of the noise ratio rho
hyper     (M, 3): l, rho, s2 of each example
"""

from __future__ import annotations

import math

import numpy as np

from fewsolves.surrogate.gp_blocks import Array, Blocks
from fewsolves.surrogate.gp_factor_kernels import factorise
from fewsolves.surrogate.gp_fit_kernels import MAX_EVALUATIONS, SEARCH_RANGE, fit, peak
from fewsolves.surrogate.gp_gather_kernels import largest_target
from fewsolves.surrogate.gp_lanes import WIDTH, kernel
from fewsolves.surrogate.gp_point_kernels import Sharing
from fewsolves.surrogate.gp_pooled_kernels import reduce_all, sum_over_examples
from fewsolves.surrogate.gp_profile_kernels import N_RATIOS
from fewsolves.surrogate.gp_search_kernels import insert, next_trial
from fewsolves.surrogate.gp_threads import on_threads

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
