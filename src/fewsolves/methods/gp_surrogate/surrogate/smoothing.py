"""Smoothed regret by importance sampling: the targets of the Gaussian processes (paper, "Stochastic smoothing").

    n, d         samples of one example, inputs          k, j    sample          all of one example
    y_j, r_j     (d,), ()     predictions tried, and their regret
    q_j          ()           density that y_j was drawn from: N(centre_j, sigma_j^2), or uniform in the box
    sigma        (d,)         level of smoothing, free to differ from call to call and from every sigma_j
    x_k          (d,)         the place of a target

    rbar(x) = E[r(x + sigma eps)],   eps ~ N(0, I)
    q(y)    = 1/n sum_j q_j(y)                  l_kj = log phi(y_j; x_k, sigma) - log q(y_j)
    w_kj    = exp(l_kj) / sum_h exp(l_kh)       rbar(x_k) ~ sum_j w_kj r_j        ESS_k = 1 / sum_j w_kj^2

phi and 1/q overflow from some 270 inputs on, l does not: q is a logsumexp, w a softmax. GIVEN points are exact targets
of their own and no samples (see `samples`). The forms differ in x_k and w_kj:

    samples      x_k = y_k, as in the paper. There the weight of k itself exceeds the others by about e^d: from some 20
                 inputs on every ESS is 1, which means no smoothing
    centres      x_k = centre_k, where no sample is closer than the others. Box samples have no centre: x_k = y_k
    bandwidth    x_k = y_k and beta l_kj in place of l_kj, with the largest beta <= 1 at which the median ESS of the
                 example is n/4. That is the Normal of width sigma / sqrt(beta), with q flattened alike; q as it is
                 would leave 1/q alone to decide, and from some 5 inputs on there is mostly no width that reaches n/4
    off          x_k = y_k, raw regrets
"""

from __future__ import annotations

import math
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike

from fewsolves.errors import InputError
from fewsolves.methods.gp_surrogate.gp.lanes import compiled, exp, inlined
from fewsolves.methods.gp_surrogate.gp.threads import on_threads
from fewsolves.methods.gp_surrogate.surrogate.samples import BOX, GIVEN, NORMAL, Array, Samples

Form = Literal["samples", "centres", "bandwidth", "off"]

SMALLEST_SIGMA = 1e-100
FARTHEST = 1e300  # squared distances in units of sigma stop here, short of overflow
ESS_SHARE = 0.25  # median effective sample size of the form "bandwidth", as a share of n
ESS_TOLERANCE = 1e-3  # relative
BISECTIONS = 60


class Smoothed(NamedTuple):
    """Targets of some examples, flat: one example after the other, each in the order of `samples.of(i)`."""

    points: Array  # (n, d) where the targets stand
    targets: Array  # (n,)
    example: Array  # (n,)
    effective_sample_size: Array  # (n,) how many samples are averaged in effect: from 1 to n


def smooth(samples: Samples, examples: ArrayLike, sigma: ArrayLike, form: Form = "samples") -> Smoothed:
    """Targets for all rows of the examples at the level of smoothing `sigma`, a float or (d,)."""
    if form not in get_args(Form):
        raise InputError(f"form must be one of {', '.join(get_args(Form))}, got {form!r}")
    level = np.asarray(sigma, dtype=np.float64)
    if level.shape not in ((), (samples.n_inputs,)) or not ((level >= SMALLEST_SIGMA) & (level < np.inf)).all():
        raise InputError(f"sigma must be a positive number or {samples.n_inputs} of them, got {sigma!r}")
    rows, sizes = samples.rows_of(examples), samples.n_of[np.asarray(examples, dtype=np.int64)]
    places, targets, ess = samples.point[rows], samples.regret[rows], np.ones(rows.size)
    if form == "centres":
        drawn = samples.kind[rows] == NORMAL
        places[drawn] = samples.centre[rows[drawn]]
    if form != "off":
        starts, inverse = np.concatenate([[0], np.cumsum(sizes)]), np.broadcast_to(1.0 / level, samples.n_inputs).copy()
        columns = samples.kind, samples.point, samples.centre, samples.sigma, samples.regret, samples.box

        def smooth_part(part: slice) -> None:
            bounds = starts[part.start : part.stop + 1]
            _smooth_each(bounds, rows, columns, inverse, form == "bandwidth", (places, targets, ess))

        on_threads(smooth_part, sizes.size)
    return Smoothed(places, targets, samples.example[rows], ess)


@compiled
def _smooth_each(starts: Any, rows: Any, columns: Any, inverse: Any, widen: bool, results: Any) -> None:
    """Targets and effective sample sizes of the rows between consecutive `starts`; those of GIVEN points stay."""
    kind, point, centre, deviation, regret, box = columns
    places, targets, ess = results
    d = point.shape[1]
    for e in range(starts.size - 1):
        at = np.empty(starts[e + 1] - starts[e], dtype=np.int64)  # positions of the samples
        n = 0
        for p in range(starts[e], starts[e + 1]):
            if kind[rows[p]] != GIVEN:
                at[n] = p
                n += 1
        y = np.empty((d, n))  # samples last: loops over them fill the vector unit
        for j in range(n):
            for a in range(d):
                y[a, j] = point[rows[at[j]], a]
        log_q = _log_mixture(y, rows[at[:n]], kind, centre, deviation, box)
        log_w, weights = np.empty((n, n)), np.empty(n)
        for k in range(n):
            _squared_distances(y, places[at[k]], inverse, weights)
            largest = -np.inf
            for j in range(n):
                log_w[k, j] = -0.5 * min(weights[j], FARTHEST) - log_q[j]
                largest = max(largest, log_w[k, j])
            for j in range(n):
                log_w[k, j] -= largest
        beta = _beta(log_w, weights) if widen else 1.0
        for k in range(n):
            ess[at[k]] = _weigh(log_w, k, beta, weights)
            sum_of_weights, mean = 0.0, 0.0
            for j in range(n):
                sum_of_weights += weights[j]
                mean += weights[j] * regret[rows[at[j]]]
            targets[at[k]] = mean / sum_of_weights


def _distances_in_numpy(y: Array, place: Array, inverse: Array, distances: Array) -> None:
    distances[:] = (((y - place[:, None]) * inverse[:, None]) ** 2).sum(axis=0)


@compiled(plain=_distances_in_numpy)
def _squared_distances(y: Any, place: Any, inverse: Any, distances: Any) -> None:
    distances[:] = 0.0
    for a in range(y.shape[0]):
        for j in range(y.shape[1]):
            step = (y[a, j] - place[a]) * inverse[a]
            distances[j] += step * step


@compiled
def _log_mixture(y: Any, rows: Any, kind: Any, centre: Any, deviation: Any, box: Any) -> Any:
    """log sum_k q_k(y_j), up to the constant -d/2 log 2 pi, by a running logsumexp over k."""
    d, n = y.shape
    largest, total_density, distances = np.full(n, -np.inf), np.zeros(n), np.empty(n)
    for k in range(n):
        row = rows[k]
        if kind[row] == BOX:
            continue
        _squared_distances(y, centre[row], 1.0 / deviation[row], distances)
        constant = np.log(deviation[row]).sum()
        for j in range(n):
            _include(-0.5 * min(distances[j], FARTHEST) - constant, 1.0, j, largest, total_density)
    n_box = (kind[rows] == BOX).sum()
    if n_box:
        log_density = 0.5 * d * math.log(2.0 * math.pi) - np.log(box[1] - box[0]).sum()
        for j in range(n):
            inside = True
            for a in range(d):
                inside &= box[0, a] <= y[a, j] <= box[1, a]
            if inside or kind[rows[j]] == BOX:  # a box sample lies in its box, whatever rounding did
                _include(log_density, float(n_box), j, largest, total_density)
    return largest + np.log(total_density)


@inlined
def _include(log_density: float, count: float, j: int, largest: Any, total_density: Any) -> None:
    if log_density > largest[j]:
        total_density[j] = total_density[j] * math.exp(largest[j] - log_density) + count
        largest[j] = log_density
    else:
        total_density[j] += count * math.exp(log_density - largest[j])


@compiled
def _weigh(log_w: Any, k: int, beta: float, weights: Any) -> Any:
    """Weights exp(beta log_w[k]) and their effective sample size."""
    for j in range(weights.size):
        weights[j] = beta * log_w[k, j]
    exp(weights)
    total, squares = 0.0, 0.0
    for j in range(weights.size):
        total += weights[j]
        squares += weights[j] * weights[j]
    return total**2 / squares


@compiled
def _beta(log_w: Any, weights: Any) -> Any:
    """The largest beta <= 1 at which the median effective sample size is the given share of n; it falls with beta."""
    n = len(log_w)
    if n == 0:
        return 1.0
    spread = 0.0
    for k in range(n):
        spread = max(spread, -log_w[k].min())
    sizes, wanted = np.empty(n), ESS_SHARE * n
    low, high = -math.log(max(1.0, spread / math.log(4.0))), 0.0  # log beta; weights within a factor 4: ESS >= 0.64 n
    log_beta = 0.0
    for _ in range(BISECTIONS):
        for k in range(n):
            sizes[k] = _weigh(log_w, k, math.exp(log_beta), weights)
        excess = np.median(sizes) / wanted - 1.0
        if abs(excess) < ESS_TOLERANCE or (log_beta == 0.0 and excess > 0.0):
            break
        if excess > 0.0:
            low = log_beta
        else:
            high = log_beta
        log_beta = 0.5 * (low + high)
    return math.exp(log_beta)
