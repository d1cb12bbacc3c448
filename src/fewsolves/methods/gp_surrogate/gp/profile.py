"""Profile likelihood: the MAP objective of four Gaussian processes as a function of their length-scales alone.

    y       (n,)      targets of one example         D   (n, n)    squared distances of its points
    l       scalar    length-scale                   R   (n, n)    correlations k(D / 2 l^2), see `covariance`
    s2      scalar    output scale (a variance)      rho scalar    noise ratio: noise / s2
    K = s2 (R + rho I)                               T, Q          R = Q T Q' with T tridiagonal, z = Q' y

For a fixed l one Householder reduction gives T and z. Every rho then costs O(n): the pivots of T + rho I give

    log|R + rho I| = sum log pivot,        q(rho) = y'(R + rho I)^-1 y = z'(T + rho I)^-1 z,

and the best s2 is q / n (Rasmussen & Williams 2006, eq. 2.30 with its derivative in s2 set to zero), so that

    log p(y | l, rho) = -n/2 (log(q / n) + 1 + log 2 pi) - 1/2 log|R + rho I|.

The best rho comes from scans of N_RATIOS values, each around the best of the one before. All arrays are lane arrays:
four examples side by side, see `gather`.
"""

from __future__ import annotations

import math
from typing import Any

from fewsolves.methods.gp_surrogate.gp.covariance import SMALLEST_PIVOT
from fewsolves.methods.gp_surrogate.gp.lanes import (
    WIDTH,
    compiled,
    exp,
    exponent,
    inlined,
    load,
    log,
    mantissa,
    maximum,
    splat,
    sqrt,
    store,
    where_above,
)

N_RATIOS = 8  # noise ratios tried in one sweep over T
NEGLIGIBLE = 1e-140  # squared length of a column that counts as 0; tau is its inverse, whose square must not overflow


@inlined
def _dots(p: Any, z: Any, u: Any, start: int, stop: int) -> Any:
    """p'u and z'u; two sums for each, since every addition waits for the last."""
    pu, zu, pu_odd, zu_odd = splat(0.0), splat(0.0), splat(0.0), splat(0.0)
    at = start
    while at + WIDTH < stop:
        u0, u1 = load(u, at), load(u, at + WIDTH)
        pu, pu_odd = pu + load(p, at) * u0, pu_odd + load(p, at + WIDTH) * u1
        zu, zu_odd = zu + load(z, at) * u0, zu_odd + load(z, at + WIDTH) * u1
        at += 2 * WIDTH
    if at < stop:
        u0 = load(u, at)
        pu, zu = pu + load(p, at) * u0, zu + load(z, at) * u0
    return pu + pu_odd, zu + zu_odd


@inlined
def _reflector(u: Any, start: int, square: Any) -> Any:
    """Make u a reflector: (I - tau u u') x = (beta, 0, ..., 0) for the x that u held; returns tau and beta.

    `square` is x'x.
    """
    first = load(u, start)
    # dividing by max(square, ..) instead would leave a reflector that is not orthogonal
    norm = sqrt(where_above(square, splat(NEGLIGIBLE), square, splat(0.0)))
    signed = where_above(first, splat(0.0), norm, -norm)
    store(u, start, first + signed)
    tau = where_above(square, splat(NEGLIGIBLE), splat(1.0) / (norm * (norm + maximum(first, -first))), splat(0.0))
    return tau, -signed


@inlined
def _update_and_multiply(A: Any, v: Any, w: Any, u: Any, p: Any, start: int, n: int) -> None:
    """A -= v w' + w v' and p = A u over rows and columns from `start`, in one pass, two rows at a time."""
    i = start
    while i < n:
        pair = i + 1 < n
        row = WIDTH * (i * (i + 1) // 2)
        below = row + WIDTH * (i + 1)
        v0, w0, u0 = load(v, WIDTH * i), load(w, WIDTH * i), load(u, WIDTH * i)
        if pair:
            v1, w1, u1 = load(v, WIDTH * (i + 1)), load(w, WIDTH * (i + 1)), load(u, WIDTH * (i + 1))
            p0, p1 = splat(0.0), splat(0.0)
            for at in range(WIDTH * start, WIDTH * i, WIDTH):
                vj, wj, uj = load(v, at), load(w, at), load(u, at)
                a0 = load(A, row + at) - v0 * wj - w0 * vj
                a1 = load(A, below + at) - v1 * wj - w1 * vj
                store(A, row + at, a0)
                store(A, below + at, a1)
                p0 = p0 + a0 * uj
                p1 = p1 + a1 * uj
                store(p, at, load(p, at) + a0 * u0 + a1 * u1)
            at = WIDTH * i
            a00 = load(A, row + at) - v0 * w0 - w0 * v0
            a10 = load(A, below + at) - v1 * w0 - w1 * v0
            a11 = load(A, below + at + WIDTH) - v1 * w1 - w1 * v1
            store(A, row + at, a00)
            store(A, below + at, a10)
            store(A, below + at + WIDTH, a11)
            store(p, at, p0 + a00 * u0 + a10 * u1)
            store(p, at + WIDTH, p1 + a10 * u0 + a11 * u1)
        else:
            p0 = splat(0.0)
            for at in range(WIDTH * start, WIDTH * i, WIDTH):
                a0 = load(A, row + at) - v0 * load(w, at) - w0 * load(v, at)
                store(A, row + at, a0)
                p0 = p0 + a0 * load(u, at)
                store(p, at, load(p, at) + a0 * u0)
            at = WIDTH * i
            a00 = load(A, row + at) - v0 * w0 - w0 * v0
            store(A, row + at, a00)
            store(p, at, p0 + a00 * u0)
        i += 2


@compiled
def tridiagonalise(A: Any, z: Any, n: int, work: Any, diagonal: Any, off: Any) -> None:
    """R = Q T Q' for the packed lane array A (destroyed); z becomes Q' z. `work` holds 4 lane vectors.

    Step k reflects with u. What it does to the matrix, A -= u w' + w u', waits for the pass over the matrix that step
    k + 1 needs anyway; only column k + 1, from which the next reflector comes, is updated at once.
    """
    size = WIDTH * n
    v, w, u, p = work[:size], work[size : 2 * size], work[2 * size : 3 * size], work[3 * size : 4 * size]
    store(diagonal, 0, load(A, 0))
    square = splat(0.0)
    at = 0
    for i in range(WIDTH, size, WIDTH):
        at += i
        x = load(A, at)
        store(u, i, x)
        square = square + x * x
        store(v, i, splat(0.0))
        store(w, i, splat(0.0))
    for k in range(n - 1):
        start = WIDTH * (k + 1)
        tau, beta = _reflector(u, start, square)
        store(off, WIDTH * k, beta)
        _update_and_multiply(A, v, w, u, p, k + 1, n)
        pu, zu = _dots(p, z, u, start, size)
        half, zu = splat(0.5) * tau * tau * pu, tau * zu
        v, u = u, v
        first_v = load(v, start)
        first_w = tau * load(p, start) - half * first_v
        store(w, start, first_w)
        store(z, start, load(z, start) - zu * first_v)
        at = WIDTH * ((k + 1) * (k + 2) // 2 + k + 1)
        store(diagonal, start, load(A, at) - first_v * first_w - first_w * first_v)
        square = splat(0.0)
        for i in range(start + WIDTH, size, WIDTH):
            at += i
            vi = load(v, i)
            wi = tau * load(p, i) - half * vi
            x = load(A, at) - vi * first_w - wi * first_v
            store(w, i, wi)
            store(z, i, load(z, i) - zu * vi)
            store(u, i, x)
            square = square + x * x


@compiled
def sweep(diagonal: Any, off: Any, z: Any, n: int, counts: Any, ratios: Any, log_q: Any, log_det: Any) -> None:
    """log q(rho) and log|R + rho I| for each lane and each of its N_RATIOS noise ratios; pads are left out.

    `counts`: points of each lane, as float64. Four ratios run at once, since every pivot waits for a division.
    """
    last = load(counts, 0)
    one = splat(1.0)
    least = splat(SMALLEST_PIVOT)
    for first in range(0, WIDTH * N_RATIOS, 4 * WIDTH):
        r0, r1 = load(ratios, first), load(ratios, first + WIDTH)
        r2, r3 = load(ratios, first + 2 * WIDTH), load(ratios, first + 3 * WIDTH)
        q0 = q1 = q2 = q3 = splat(0.0)
        e0 = e1 = e2 = e3 = splat(0.0)
        m0 = m1 = m2 = m3 = one
        c0 = c1 = c2 = c3 = splat(0.0)
        i0 = i1 = i2 = i3 = splat(0.0)
        b = splat(0.0)
        for k in range(n):
            a, zk = load(diagonal, WIDTH * k), load(z, WIDTH * k)
            real = last - splat(float(k))  # above 1/2: a point; else padding
            bb = b * b
            d0, d1 = maximum(a + r0 - bb * i0, least), maximum(a + r1 - bb * i1, least)
            d2, d3 = maximum(a + r2 - bb * i2, least), maximum(a + r3 - bb * i3, least)
            c0, c1 = zk - b * (i0 * c0), zk - b * (i1 * c1)
            c2, c3 = zk - b * (i2 * c2), zk - b * (i3 * c3)
            i0, i1, i2, i3 = one / d0, one / d1, one / d2, one / d3
            q0, q1 = q0 + c0 * c0 * i0, q1 + c1 * c1 * i1
            q2, q3 = q2 + c2 * c2 * i2, q3 + c3 * c3 * i3
            half = splat(0.5)
            m0, m1 = m0 * where_above(real, half, d0, one), m1 * where_above(real, half, d1, one)
            m2, m3 = m2 * where_above(real, half, d2, one), m3 * where_above(real, half, d3, one)
            b = load(off, WIDTH * k)
            if k % 16 == 15:  # 16 pivots of 1e-14..1e4 cannot leave the range of a float64
                e0, e1, e2, e3 = e0 + exponent(m0), e1 + exponent(m1), e2 + exponent(m2), e3 + exponent(m3)
                m0, m1, m2, m3 = mantissa(m0), mantissa(m1), mantissa(m2), mantissa(m3)
        store(log_q, first, log(q0))
        store(log_q, first + WIDTH, log(q1))
        store(log_q, first + 2 * WIDTH, log(q2))
        store(log_q, first + 3 * WIDTH, log(q3))
        log2 = splat(math.log(2.0))
        store(log_det, first, log2 * (e0 + exponent(m0)) + log(mantissa(m0)))
        store(log_det, first + WIDTH, log2 * (e1 + exponent(m1)) + log(mantissa(m1)))
        store(log_det, first + 2 * WIDTH, log2 * (e2 + exponent(m2)) + log(mantissa(m2)))
        store(log_det, first + 3 * WIDTH, log2 * (e3 + exponent(m3)) + log(mantissa(m3)))


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


@compiled
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
