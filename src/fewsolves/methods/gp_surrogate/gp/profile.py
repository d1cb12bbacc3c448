"""Profile likelihood: the MAP objective of a group of Gaussian processes as a function of their length-scales alone.

    y       (n,)      targets of one example         D   (n, n)    squared distances of its points
    l       scalar    length-scale                   R   (n, n)    correlations k(D / 2 l^2), see `covariance`
    s2      scalar    output scale (a variance)      rho scalar    noise ratio: noise / s2
    K = s2 (R + rho I)                               T, Q          R = Q T Q' with T tridiagonal, z = Q' y

For a fixed l one Householder reduction gives T and z. Every rho then costs O(n): the pivots of T + rho I give

    log|R + rho I| = sum log pivot,        q(rho) = y'(R + rho I)^-1 y = z'(T + rho I)^-1 z,

and the best s2 is q / n (Rasmussen & Williams 2006, eq. 2.30 with its derivative in s2 set to zero), so that

    log p(y | l, rho) = -n/2 (log(q / n) + 1 + log 2 pi) - 1/2 log|R + rho I|.

The best rho comes from scans of N_RATIOS values, each around the best of the one before. All arrays are lane arrays:
examples side by side, see `gather`.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from fewsolves.methods.gp_surrogate.gp.blocks import Array
from fewsolves.methods.gp_surrogate.gp.covariance import SMALLEST_PIVOT
from fewsolves.methods.gp_surrogate.gp.gather import entry, entry_of
from fewsolves.methods.gp_surrogate.gp.lanes import LANES, compiled, exp, inlined, log

N_RATIOS = 8  # noise ratios tried in one sweep over T
NEGLIGIBLE = 1e-140  # squared length of a column that counts as 0; tau is its inverse, whose square must not overflow
PIVOTS = 16  # multiplied before a logarithm is taken: 16 of 1e-14..1e4 cannot leave the range of a float64

V, W, U, P = 0, LANES, 2 * LANES, 3 * LANES  # vectors v, w, u and p in a row of `Work`
NEXT = 4 * LANES  # the same of the second of two rows
SQUARE, TAU, HALF, ZU, FIRST_V, FIRST_W = (LANES * k for k in range(6))  # in `Work.scalars`
C, INVERSE, Q, DET, RATIO = (LANES * k for k in range(5))  # in a row of `Ratios`


class Work(NamedTuple):
    """Vectors of the reduction: two copies, since a loop that reads rows and columns of one array is not vectorised."""

    rows: Array  # (n, 4 L): v, w, u, p
    columns: Array  # the same; p of either is the part that comes from elements below or above the diagonal
    scalars: Array  # (6 L,)


@inlined
def empty_work(n: int) -> Any:
    return Work(np.zeros((n, NEXT)), np.zeros((n, NEXT)), np.zeros(6 * LANES))


@inlined
def _reflect(work: Any, s: int, lanes: int, off: Any) -> None:
    """Make u a reflector: (I - tau u u') x = (beta, 0, ..., 0) for the x that u held from place s on. off: beta."""
    row, column, scalars = work.rows[s], work.columns[s], work.scalars
    for k in range(lanes):
        square, first = scalars[SQUARE + k], row[U + k]
        # dividing by max(square, ..) instead would leave a reflector that is not orthogonal
        norm = math.sqrt(square if square > NEGLIGIBLE else 0.0)
        signed = norm if first > 0.0 else -norm
        row[U + k] = column[U + k] = first + signed
        scalars[TAU + k] = 1.0 / (norm * (norm + abs(first))) if square > NEGLIGIBLE else 0.0
        off[k] = -signed


@inlined
def _update_and_multiply(A: Any, work: Any, s: int, n: int, lanes: int) -> None:
    """A -= v w' + w v' and p = A u over rows and columns from s on, in one pass, two rows at a time.

    With s odd, row s - 1 is part of the first pair: its v, w and u are zero.
    """
    pairs = work.rows.reshape(n // 2, 2 * NEXT)
    for i in range(s - s % 2, n):
        row, column = work.rows[i], work.columns[i]
        for k in range(lanes):
            row[P + k] = 0.0
            column[P + k] = 0.0
    for r in range(s // 2, n // 2):
        two, first = pairs[r], r * (r + 1)
        for j in range(s - s % 2, 2 * r):
            a, one = A[first + j], work.columns[j]
            for k in range(lanes):
                v, w, u = one[V + k], one[W + k], one[U + k]
                a0 = a[k] - two[V + k] * w - two[W + k] * v
                a1 = a[LANES + k] - two[NEXT + V + k] * w - two[NEXT + W + k] * v
                a[k] = a0
                a[LANES + k] = a1
                two[P + k] += a0 * u
                two[NEXT + P + k] += a1 * u
                one[P + k] += a0 * two[U + k] + a1 * two[NEXT + U + k]
        below = A[first + 2 * r : first + 2 * r + 2].reshape(4 * LANES)  # (2r, 2r), (2r + 1, 2r), -, (2r + 1, 2r + 1)
        for k in range(lanes):
            v0, w0, u0 = two[V + k], two[W + k], two[U + k]
            v1, w1, u1 = two[NEXT + V + k], two[NEXT + W + k], two[NEXT + U + k]
            a00 = below[k] - v0 * w0 - w0 * v0
            a10 = below[LANES + k] - v1 * w0 - w1 * v0
            a11 = below[3 * LANES + k] - v1 * w1 - w1 * v1
            below[k] = a00
            below[LANES + k] = a10
            below[3 * LANES + k] = a11
            two[P + k] += a00 * u0 + a10 * u1
            two[NEXT + P + k] += a10 * u0 + a11 * u1


def _tridiagonalise_in_numpy(A: Array, z: Array, lanes: int, work: Work, diagonal: Array, off: Array) -> None:
    n = len(z)
    a, b = np.tril_indices(n)
    R, y = np.zeros((lanes, n, n)), z[:, :lanes].T.copy()
    R[:, a, b] = R[:, b, a] = A[entry(a, b), LANES * (a % 2) + np.arange(lanes)[:, None]]
    off[0] = 0.0
    for s in range(1, n):
        u, rest = R[:, s:, s - 1].copy(), R[:, s:, s:]
        square = (u**2).sum(axis=1)
        some = square > NEGLIGIBLE
        norm = np.sqrt(np.where(some, square, 0.0))
        signed = np.where(u[:, 0] > 0.0, norm, -norm)
        tau = np.where(some, 1.0 / np.where(some, norm * (norm + abs(u[:, 0])), 1.0), 0.0)
        off[s, :lanes] = -signed
        u[:, 0] += signed
        p = np.einsum("kij,kj->ki", rest, u)
        w = tau[:, None] * p - (0.5 * tau**2 * (p * u).sum(axis=1))[:, None] * u
        rest -= u[:, :, None] * w[:, None] + w[:, :, None] * u[:, None]
        y[:, s:] -= (tau * (u * y[:, s:]).sum(axis=1))[:, None] * u
    diagonal[:, :lanes], z[:, :lanes] = np.einsum("kii->ik", R), y.T


@compiled(plain=_tridiagonalise_in_numpy)
def tridiagonalise(A: Any, z: Any, lanes: int, work: Any, diagonal: Any, off: Any) -> None:
    """R = Q T Q' for the lane array A of triangles (destroyed); z (n, L) becomes Q' z.

    diagonal, off (n, L): T, with the element beside the diagonal of rows s - 1 and s at off[s]. work: see `empty_work`.

    Step s reflects with u. What it does to the matrix, A -= u w' + w u', waits for the pass over the matrix that step
    s + 1 needs anyway; only column s, from which the next reflector comes, is updated at once.
    """
    n = len(z)
    halves = A.reshape(2 * A.shape[0], LANES)
    work = Work(work.rows[:n], work.columns[:n], work.scalars)
    for k in range(work.scalars.size):
        work.scalars[k] = 0.0
    for i in range(n):
        _clear(work, i)
    for k in range(LANES):
        diagonal[0, k], off[0, k] = A[0, k], 0.0
    for i in range(1, n):
        _next_column(work, halves[2 * entry_of(i, 0) + i % 2], i, lanes)
    for s in range(1, n):
        _reflect(work, s, lanes, off[s])
        _clear(work, s - 1)
        _update_and_multiply(A, work, s, n, lanes)
        _sum_products(work, z, s, lanes)
        x = halves[2 * entry_of(s, s) + s % 2]
        _first_of_column(work, x, s, lanes, diagonal[s])
        for i in range(s, n):
            zi, row, scalars = z[i], work.rows[i], work.scalars
            for k in range(lanes):
                zi[k] -= scalars[ZU + k] * row[U + k]
            if i > s:
                _next_column(work, halves[2 * entry_of(i, s) + i % 2], i, lanes)


@inlined
def _clear(work: Any, i: int) -> None:
    """v, w, u and p at place i."""
    row, column = work.rows[i], work.columns[i]
    for k in range(NEXT):
        row[k] = 0.0
        column[k] = 0.0


@inlined
def _sum_products(work: Any, z: Any, s: int, lanes: int) -> None:
    """p complete in the rows; half = tau^2 p'u / 2 and zu = tau z'u."""
    scalars = work.scalars
    for k in range(lanes):
        scalars[SQUARE + k] = scalars[HALF + k] = scalars[ZU + k] = 0.0
    for i in range(s, len(z)):
        row, column, zi = work.rows[i], work.columns[i], z[i]
        for k in range(lanes):
            p = row[P + k] + column[P + k]
            row[P + k] = p
            scalars[HALF + k] += p * row[U + k]
            scalars[ZU + k] += zi[k] * row[U + k]
    for k in range(lanes):
        tau = scalars[TAU + k]
        scalars[HALF + k] *= 0.5 * tau * tau
        scalars[ZU + k] *= tau


@inlined
def _first_of_column(work: Any, x: Any, s: int, lanes: int, diagonal: Any) -> None:
    """v = u and w = tau p - half u at place s, and the element of the diagonal there."""
    row, column, scalars = work.rows[s], work.columns[s], work.scalars
    for k in range(lanes):
        v = row[U + k]
        w = scalars[TAU + k] * row[P + k] - scalars[HALF + k] * v
        row[V + k] = scalars[FIRST_V + k] = v
        row[W + k] = scalars[FIRST_W + k] = w
        diagonal[k] = x[k] - v * w - w * v
    for k in range(P):
        column[k] = row[k]


@inlined
def _next_column(work: Any, x: Any, i: int, lanes: int) -> None:
    """v = u and w = tau p - half u at place i, then the element x of the next column, updated, as u."""
    row, column, scalars = work.rows[i], work.columns[i], work.scalars
    for k in range(lanes):
        v = row[U + k]
        w = scalars[TAU + k] * row[P + k] - scalars[HALF + k] * v
        u = x[k] - v * scalars[FIRST_W + k] - w * scalars[FIRST_V + k]
        row[V + k] = v
        row[W + k] = w
        row[U + k] = u
        scalars[SQUARE + k] += u * u
    for k in range(P):
        column[k] = row[k]


def _sweep_in_numpy(T: Array, lanes: int, counts: Array, ratios: Array, log_q: Array, log_det: Array) -> None:
    q, det = np.zeros(ratios.shape), np.zeros(ratios.shape)
    c = inverse = np.zeros(ratios.shape)
    for k, (a, b, z) in enumerate(zip(*T, strict=True)):
        pivot = np.maximum(a + ratios - b**2 * inverse, SMALLEST_PIVOT)
        c = z - b * inverse * c
        inverse = 1.0 / pivot
        q += c**2 * inverse
        det += np.where(counts > k, np.log(pivot), 0.0)
    log_q[:], log_det[:] = np.log(np.maximum(q, np.finfo(float).tiny)), det  # a lane without points has q = 0


@compiled(plain=_sweep_in_numpy)
def sweep(T: Any, lanes: int, counts: Any, ratios: Any, log_q: Any, log_det: Any) -> None:
    """log q(rho) and log|R + rho I| (N_RATIOS, L) of each lane for each of its noise ratios; pads are left out.

    T (3, n, L): diagonal, off-diagonal and z. counts: points of each lane, as float64.
    """
    state, product = np.zeros((N_RATIOS, 5 * LANES)), np.empty(N_RATIOS * LANES)
    n = T.shape[1]
    for g in range(N_RATIOS):
        one = state[g]
        for k in range(LANES):
            one[DET + k], one[RATIO + k], log_det[g, k] = 1.0, ratios[g, k], 0.0
    for i in range(n):
        diagonal, off, z = T[0, i], T[1, i], T[2, i]
        for g in range(N_RATIOS):
            one = state[g]
            for k in range(lanes):
                share = off[k] * one[INVERSE + k]
                pivot = diagonal[k] + one[RATIO + k] - off[k] * share
                pivot = pivot if pivot > SMALLEST_PIVOT else SMALLEST_PIVOT
                c = z[k] - share * one[C + k]
                inverse = 1.0 / pivot
                one[C + k] = c
                one[INVERSE + k] = inverse
                one[Q + k] += c * c * inverse
                one[DET + k] *= pivot if counts[k] > i else 1.0
        if i % PIVOTS == PIVOTS - 1 or i == n - 1:
            _add_logarithms(state, product, log_det)
    for g in range(N_RATIOS):
        for k in range(LANES):
            log_q[g, k] = state[g, Q + k]
    log(log_q.reshape(N_RATIOS * LANES))


@inlined
def _add_logarithms(state: Any, product: Any, log_det: Any) -> None:
    """Add the logarithms of the products of pivots, and reset the products to 1."""
    for g in range(N_RATIOS):
        one = state[g]
        for k in range(LANES):
            product[LANES * g + k], one[DET + k] = one[DET + k], 1.0
    log(product)
    for g in range(N_RATIOS):
        for k in range(LANES):
            log_det[g, k] += product[LANES * g + k]


@inlined
def peak(logs: Any, log_q: Any, values: Any) -> Any:
    """Largest of N_RATIOS values, refined by a parabola where it lies between two others; its log rho and log q."""
    top = 0
    for at in range(1, N_RATIOS):
        if values[at] > values[top] + 1e-9:  # ties go to the smallest: one point cannot separate noise from signal
            top = at
    value, log_rho, best_q = values[top], logs[top], log_q[top]
    if 0 < top < N_RATIOS - 1:
        before, after = values[top - 1], values[top + 1]
        bend = before - 2.0 * value + after
        if bend < 0.0:
            s = 0.5 * (before - after) / bend  # vertex, in steps: |s| <= 1/2
            slope_q = 0.5 * (log_q[top + 1] - log_q[top - 1])
            bend_q = log_q[top - 1] - 2.0 * best_q + log_q[top + 1]
            value -= 0.5 * bend * s * s
            log_rho += s * (log_rho - logs[top - 1])
            best_q += s * (slope_q + 0.5 * bend_q * s)
    return value, log_rho, best_q


@compiled
def scan_ratios(T: Any, lanes: int, counts: Any, step: float, bounds: Any, work: Any, best: Any) -> float:
    """Best of N_RATIOS noise ratios within `step` of the best one so far and within `bounds` (all logarithms).

    T (3, n, L): diagonal, off-diagonal and z. work (4, N_RATIOS, L). best (3, L): value, log rho and log q of each
    lane; log rho is read, all three are written. Returns the distance of two neighbouring ratios.
    """
    logs, ratios, log_q, values = work[0], work[1], work[2], work[3]
    for k in range(LANES):
        low, high = max(best[1, k] - step, bounds[0]), min(best[1, k] + step, bounds[1])
        for g in range(N_RATIOS):
            logs[g, k] = ratios[g, k] = low + (high - low) * g / (N_RATIOS - 1)
    exp(ratios.reshape(N_RATIOS * LANES))
    sweep(T, lanes, counts, ratios, log_q, values)
    for k in range(lanes):
        for g in range(N_RATIOS):
            values[g, k] = -0.5 * (counts[k] * log_q[g, k] + values[g, k])
        best[0, k], best[1, k], best[2, k] = peak(logs[:, k], log_q[:, k], values[:, k])
    return 2.0 * step / (N_RATIOS - 1)
