"""One length-scale, output scale and noise for all examples.

    i           example, with n_i points               N    sum of n_i
    q_i(rho)    y_i'(R_i + rho I)^-1 y_i               s2   = sum_i q_i / N, the best output scale for given l and rho

    sum_i log p(y_i | l, rho) = -N/2 (log s2 + 1 + log 2 pi) - 1/2 sum_i log|R_i + rho I|

As in `gp_profile_kernels` one Householder reduction per example and length-scale serves all noise ratios; the reduced
matrices of all examples are kept until the best ratio is found. The prior of l counts once.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fewsolves.surrogate.gp_gather_kernels import gather, packed_size
from fewsolves.surrogate.gp_lanes import WIDTH, kernel
from fewsolves.surrogate.gp_profile_kernels import N_RATIOS, correlate, sweep, tridiagonalise


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
