"""The MAP objective of four Gaussian processes as a function of their length-scales alone.

    y       (n,)      targets of one example         D   (n, n)    squared distances of its points
    l       scalar    length-scale                   R   (n, n)    exp(-D / 2 l^2)
    s2      scalar    output scale (a variance)      rho scalar    noise ratio: noise / s2
    K = s2 (R + rho I)                               T, Q          R = Q T Q' with T tridiagonal, z = Q' y

For a fixed l one Householder reduction gives T and z. Every rho then costs O(n): the pivots of T + rho I give

    log|R + rho I| = sum log pivot,        q(rho) = y'(R + rho I)^-1 y = z'(T + rho I)^-1 z,

and the best s2 is q / n (Rasmussen & Williams 2006, eq. 2.30 with its derivative in s2 set to zero), so that

    log p(y | l, rho) = -n/2 (log(q / n) + 1 + log 2 pi) - 1/2 log|R + rho I|.

"Lane" arrays hold one entry for each of four examples side by side. An example with fewer points than its neighbours
is padded by points that correlate with nothing and have target 0.
"""

from __future__ import annotations

import math
from typing import Any

from fewsolves.gp.lanes import (
    WIDTH,
    exp,
    exponent,
    inlined,
    kernel,
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
SMALLEST_PIVOT = 1e-14
_NEGLIGIBLE = (
    1e-140  # squared length of a column that counts as zero; tau is its inverse, and tau squared must not overflow
)


@kernel
def correlate(D: Any, S: Any, minus_c: Any, n: int, A: Any) -> None:
    """A = exp(-D / 2 l^2), times the sharing factor S unless that is empty; all lane arrays, packed lower triangles."""
    c = load(minus_c, 0)
    size = WIDTH * (n * (n + 1) // 2)
    for at in range(0, size, WIDTH):
        store(A, at, exp(c * load(D, at)))
    if S.size:
        for at in range(0, size, WIDTH):
            store(A, at, load(A, at) * load(S, at))


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
    norm = sqrt(where_above(square, splat(_NEGLIGIBLE), square, splat(0.0)))
    signed = where_above(first, splat(0.0), norm, -norm)
    store(u, start, first + signed)
    tau = where_above(square, splat(_NEGLIGIBLE), splat(1.0) / (norm * (norm + maximum(first, -first))), splat(0.0))
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


@kernel
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


@kernel
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
