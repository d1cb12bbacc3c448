"""A schedule of generation with ramp limits for a load of known spread: the problem of Donti, Amos and Kolter (2017).

    mu (T,)  predicted load, sigma (T,) its spread       z (T,)  generation

    min_z  sum_t E[ cost(y_t, z_t) ],  y_t ~ N(mu_t, sigma_t^2)      subject to  |z_t - z_{t-1}| <= ramp
    cost(y, z) = under max(0, y - z) + over max(0, z - y) + (z - y)^2 / 2

With v = (z - mu) / sigma the slope is  f'(z) = (under + over) Phi(v) - under + z - mu,  f'' = (under + over) phi(v) /
sigma + 1. A barrier  -b log(ramp - |z_t - z_{t-1}|)  keeps to the limits, b falls from 1 to 1e-9, and Newton's steps,
tridiagonal systems, begin at the constant schedule and are halved until they descend. At the solution  dz/dmu =
M^-1 diag(f''),  dz/dsigma = M^-1 diag((f'' - 1) v),  M = diag(f'') + D' diag(w) D, the matrix of the last step, D
differences and w the second derivatives of the barrier: what a network is trained through.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from fewsolves.problem import Array

FIRST, LAST = 1.0, 1e-9  # of the barrier
STEPS = 100  # of Newton, for each barrier; some five are taken
CLOSE = 1e-13  # what a step would gain, below which it is not taken
ARMIJO, SHORTEST = 0.01, 1e-9


def schedules(mu: Array, sigma: Array, under: float, over: float, ramp: float) -> tuple[Array, Array, Array]:
    """(B, T) schedules; with them f'' (B, T) and w (B, T - 1), for the slopes."""
    mu = np.ascontiguousarray(mu, dtype=np.float64)
    Z, curvature, weight = np.empty_like(mu), np.empty_like(mu), np.empty((len(mu), mu.shape[1] - 1))
    _schedules(mu, np.ascontiguousarray(sigma, dtype=np.float64), under, over, ramp, Z, curvature, weight)
    return Z, curvature, weight


def slopes_of(slope_in_z: Array, Z: Array, mu: Array, sigma: Array, curvature: Array, weight: Array) -> list[Array]:
    """(B, T) each: what a slope in the schedules Z is in mu and in sigma; M is symmetric."""
    slope = np.array(slope_in_z, dtype=np.float64)
    _solve_all(curvature, weight, slope)
    return [curvature * slope, (curvature - 1.0) * (Z - mu) / sigma * slope]


@njit(cache=True, nogil=True, error_model="numpy")
def _tridiagonal(diagonal, weight, x):  # type: ignore[no-untyped-def]
    """x <- M^-1 x by Cholesky's factors."""
    n = len(diagonal)
    main, below = np.empty(n), np.empty(n - 1)
    for t in range(n):
        main[t] = diagonal[t] + (weight[t] if t < n - 1 else 0.0) + (weight[t - 1] if t > 0 else 0.0)
        if t > 0:
            below[t - 1] = -weight[t - 1] / main[t - 1]
            main[t] += weight[t - 1] * below[t - 1]
            x[t] -= below[t - 1] * x[t - 1]
    for t in range(n - 1, -1, -1):
        x[t] /= main[t]
        if t < n - 1:
            x[t] -= below[t] * x[t + 1]


@njit(cache=True, nogil=True, error_model="numpy")
def _solve_all(curvature, weight, x):  # type: ignore[no-untyped-def]
    for b in range(len(x)):
        _tridiagonal(curvature[b], weight[b], x[b])


@njit(cache=True, nogil=True, error_model="numpy")
def _value(z, mu, sigma, under, over, ramp, barrier):  # type: ignore[no-untyped-def]
    """What is minimised, limits and all; infinite outside of them."""
    total = 0.0
    for t in range(len(z)):
        v = (z[t] - mu[t]) / sigma[t]
        density, below = math.exp(-0.5 * v * v) / math.sqrt(2.0 * math.pi), 0.5 * math.erfc(-v / math.sqrt(2.0))
        total += sigma[t] * ((under + over) * (density + v * below) - under * v) + 0.5 * (z[t] - mu[t]) ** 2
        if t > 0:
            change = z[t] - z[t - 1]
            if abs(change) >= ramp:
                return np.inf
            total -= barrier * (math.log(ramp - change) + math.log(ramp + change))
    return total


@njit(cache=True, nogil=True, error_model="numpy")
def _newton(z, mu, sigma, under, over, ramp, barrier, curvature, weight, step):  # type: ignore[no-untyped-def]
    """Sets `step`, f'' and w at z; the fall of what is minimised along the step, to first order."""
    n = len(z)
    slope = np.empty(n)
    for t in range(n):
        v = (z[t] - mu[t]) / sigma[t]
        slope[t] = (under + over) * 0.5 * math.erfc(-v / math.sqrt(2.0)) - under + z[t] - mu[t]
        curvature[t] = (under + over) * math.exp(-0.5 * v * v) / math.sqrt(2.0 * math.pi) / sigma[t] + 1.0
    for t in range(n - 1):
        up, down = 1.0 / (ramp - z[t + 1] + z[t]), 1.0 / (ramp + z[t + 1] - z[t])
        slope[t + 1] += barrier * (up - down)
        slope[t] -= barrier * (up - down)
        weight[t] = barrier * (up * up + down * down)
    step[:] = -slope
    _tridiagonal(curvature, weight, step)
    return -(slope @ step)


@njit(cache=True, nogil=True, error_model="numpy")
def _schedules(mu, sigma, under, over, ramp, Z, curvature, weight):  # type: ignore[no-untyped-def]
    n = mu.shape[1]
    step = np.empty(n)
    for b in range(len(mu)):
        z, barrier = np.full(n, mu[b].mean()), FIRST
        while True:
            value = _value(z, mu[b], sigma, under, over, ramp, barrier)
            for _ in range(STEPS):
                fall = _newton(z, mu[b], sigma, under, over, ramp, barrier, curvature[b], weight[b], step)
                length, tried = 1.0, np.inf
                while fall > CLOSE and length > SHORTEST:  # far from its least the cost is flat, and a step too long
                    tried = _value(z + length * step, mu[b], sigma, under, over, ramp, barrier)
                    if tried <= value - ARMIJO * length * fall:
                        break
                    length *= 0.5
                if fall <= CLOSE or length <= SHORTEST:
                    break
                z += length * step
                value = tried
            if barrier <= LAST:
                break
            barrier *= 0.1
        Z[b] = z
