"""Line search: the maximum of a function of one variable that is expensive to evaluate and may have a kink.

    u, f     evaluations so far, sorted by u; b the best of them, with neighbours b - 1 and b + 1
    s        u - u_b                       left, right    distances to the neighbours

A cubic through the best point, its neighbours and the nearest point beyond them gives the next trial. How much that
cubic differs from the parabola through the first three says how far either can be trusted.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fewsolves.methods.gp_surrogate.gp.lanes import compiled, inlined

WIDEST = 0.5


@compiled
def next_trial(u: Any, f: Any, n: int, low: float, high: float, tolerance: float) -> Any:
    """The next point in [low, high] to evaluate, given n >= 3 evaluations; NaN when the maximum is known.

    Known: neither the cubic promises more than `tolerance`, nor may it be wrong by more than five times that.
    A bracket wider than WIDEST could hide a second maximum.
    """
    b = _best(f, n)
    if b == 0:
        return max(low, u[0] - 1.3 * (u[1] - u[0])) if u[0] > low else np.nan
    if b == n - 1:
        return min(high, u[b] + 1.3 * (u[b] - u[b - 1])) if u[b] < high else np.nan
    left, right = u[b] - u[b - 1], u[b + 1] - u[b]
    wide, narrow = max(left, right), min(left, right)
    rise, fall = (f[b] - f[b - 1]) / left, (f[b + 1] - f[b]) / right
    bend = (fall - rise) / (left + right)
    if not bend < 0.0 or wide < 1e-3:  # flat, or nothing left to learn
        return np.nan
    third, largest_third = _third_differences(u, f, n, b, rise, fall, bend)
    shift, gain = _promise(rise + bend * left, bend, third, left, right)
    doubt = 0.19 * largest_third * left * right * (left + right)  # the cubic term at its largest in the bracket
    if gain < tolerance and doubt < 5.0 * tolerance and wide < WIDEST:
        return np.nan
    if narrow < 0.2 * wide or gain < tolerance:  # little is known about the wide side
        return u[b] + 0.4 * right if right >= left else u[b] - 0.4 * left
    if abs(shift) < 0.1 * narrow:  # a trial too near to a known point teaches little
        shift = 0.1 * narrow if right >= left else -0.1 * narrow
    return u[b] + shift


@inlined
def _best(f: Any, n: int) -> Any:
    """The first of the largest of n values."""
    b = 0
    for k in range(n):
        if f[k] > f[b]:
            b = k
    return b


@inlined
def _promise(slope: float, bend: float, third: float, left: float, right: float) -> Any:
    """Where the cubic has its maximum, as s, and what it promises there; by the parabola where the cubic has none."""
    shift = -0.5 * slope / bend
    gain = -bend * shift * shift
    # f_b + slope s + bend s^2 + third s (s + left) (s - right); its derivative is c0 + c1 s + c2 s^2
    c0, c1, c2 = slope - third * left * right, 2.0 * (bend + third * (left - right)), 3.0 * third
    if c1 < 0.0 and c1 * c1 > 4.0 * c0 * c2:
        s = 2.0 * c0 / (math.sqrt(c1 * c1 - 4.0 * c0 * c2) - c1)
        s = min(max(s, -0.9 * left), 0.9 * right)
        cubic_gain = s * (slope + bend * s + third * (s + left) * (s - right))
        if cubic_gain > 0.0:
            shift, gain = s, cubic_gain
    return shift, gain


@inlined
def _third_differences(u: Any, f: Any, n: int, b: int, rise: float, fall: float, bend: float) -> Any:
    """The third divided difference with the nearest point beyond the neighbours of b, and the larger one's size.

    Where there is no such point, both are 0.
    """
    third, largest_third = 0.0, 0.0
    if b >= 2:
        before = (rise - (f[b - 1] - f[b - 2]) / (u[b - 1] - u[b - 2])) / (u[b] - u[b - 2])
        third = (bend - before) / (u[b + 1] - u[b - 2])
        largest_third = abs(third)
    if b + 2 < n:
        after = ((f[b + 2] - f[b + 1]) / (u[b + 2] - u[b + 1]) - fall) / (u[b + 2] - u[b])
        other = (after - bend) / (u[b + 2] - u[b - 1])
        largest_third = max(largest_third, abs(other))
        if b < 2 or u[b + 2] - u[b] < u[b] - u[b - 2]:
            third = other
    return third, largest_third


@compiled
def insert(u: Any, f: Any, n: int, new_u: float, new_f: float) -> None:
    """Keep n evaluations sorted by u."""
    k = n
    while k > 0 and u[k - 1] > new_u:
        u[k], f[k] = u[k - 1], f[k - 1]
        k -= 1
    u[k], f[k] = new_u, new_f
