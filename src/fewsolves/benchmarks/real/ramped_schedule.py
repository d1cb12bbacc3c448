"""A schedule of generation with ramp limits for a load of known spread: the problem of Donti, Amos and Kolter (2017).

    mu (T,)  predicted load, sigma (T,) its spread       z (T,)  generation

    min_z  sum_t E[ cost(y_t, z_t) ],  y_t ~ N(mu_t, sigma_t^2)      subject to  |z_t - z_{t-1}| <= ramp
    cost(y, z) = under max(0, y - z) + over max(0, z - y) + (z - y)^2 / 2

With v = (z - mu) / sigma the slope is  f'(z) = (under + over) Phi(v) - under + z - mu,  f'' = (under + over) phi(v) /
sigma + 1. Interior point, primal and dual, from the constant schedule, which is feasible; the step is a tridiagonal
system. At the solution  dz/dmu = M^-1 diag(f''),  M = diag(f'') + D' diag(w) D, the matrix of the last step, D
differences and w the weights of the limits: what a network is trained through.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from fewsolves.problem import Array

STEPS = 60
CLOSE = 1e-10  # complementarity at which it ends
SLACK = 1e-3


def schedules(mu: Array, sigma: Array, under: float, over: float, ramp: float) -> tuple[Array, Array, Array]:
    """(B, T) schedules; with them f'' (B, T) and w (B, T - 1), for the slope in mu."""
    mu = np.ascontiguousarray(mu, dtype=np.float64)
    Z, curvature, weight = np.empty_like(mu), np.empty_like(mu), np.empty((len(mu), mu.shape[1] - 1))
    _schedules(mu, np.ascontiguousarray(sigma, dtype=np.float64), under, over, ramp, Z, curvature, weight)
    return Z, curvature, weight


def slope_in_mu(slope_in_z: Array, curvature: Array, weight: Array) -> Array:
    """(B, T): what a slope in the schedule is in the prediction; M is symmetric."""
    slope = np.array(slope_in_z, dtype=np.float64)
    _solve_all(curvature, weight, slope)
    return curvature * slope


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
def _schedules(mu, sigma, under, over, ramp, Z, curvature, weight):  # type: ignore[no-untyped-def]
    n = mu.shape[1]
    for b in range(len(mu)):
        z = np.full(n, mu[b].mean())
        up, down = np.ones(n - 1), np.ones(n - 1)  # multipliers
        for _ in range(STEPS):
            change = z[1:] - z[:-1]
            room_up, room_down = ramp - change, ramp + change
            gap = (up @ room_up + down @ room_down) / (2.0 * (n - 1))
            centre = 0.1 * gap
            slope = np.empty(n)
            for t in range(n):
                v = (z[t] - mu[b, t]) / sigma[t]
                slope[t] = (under + over) * 0.5 * math.erfc(-v / math.sqrt(2.0)) - under + z[t] - mu[b, t]
                density = math.exp(-0.5 * v * v) / math.sqrt(2.0 * math.pi)
                curvature[b, t] = (under + over) * density / sigma[t] + 1.0
            residual = slope.copy()
            residual[1:] += up - down
            residual[:-1] -= up - down
            weight[b] = up / room_up + down / room_down
            if gap < CLOSE and np.abs(residual).max() < 1e-8:
                break
            push = centre / room_up - centre / room_down - (up - down)
            step = -residual
            step[1:] -= push
            step[:-1] += push
            _tridiagonal(curvature[b], weight[b], step)
            moved = step[1:] - step[:-1]
            up_step = centre / room_up - up + up / room_up * moved
            down_step = centre / room_down - down - down / room_down * moved
            length = 1.0
            for t in range(n - 1):
                if moved[t] > 0.0:
                    length = min(length, (1.0 - SLACK) * room_up[t] / moved[t])
                elif moved[t] < 0.0:
                    length = min(length, -(1.0 - SLACK) * room_down[t] / moved[t])
                if up_step[t] < 0.0:
                    length = min(length, -(1.0 - SLACK) * up[t] / up_step[t])
                if down_step[t] < 0.0:
                    length = min(length, -(1.0 - SLACK) * down[t] / down_step[t])
            z += length * step
            up += length * up_step
            down += length * down_step
        Z[b] = z
