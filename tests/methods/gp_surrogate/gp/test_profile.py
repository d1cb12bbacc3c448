"""Tridiagonal form and noise ratios against determinants and solves."""

from __future__ import annotations

import math

import numpy as np
import pytest

from fewsolves.methods.gp_surrogate.gp.lanes import WIDTH
from fewsolves.methods.gp_surrogate.gp.profile import N_RATIOS, scan_ratios, sweep, tridiagonalise
from lane_arrays import correlations, packed


def reduced(R, y):
    """T and z of four examples, (3, 4 n)."""
    n = len(y)
    T = np.zeros((3, WIDTH * n))
    T[2] = y.ravel()
    tridiagonalise(packed(R), T[2], n, np.empty(4 * WIDTH * n), T[0], T[1])
    return T


@pytest.mark.parametrize("n", [1, 2, 3, 8, 33])
def test_gp_profile_tridiagonal_form_has_the_determinants_and_quadratic_forms(n):
    _, R = correlations(n)
    y = np.random.default_rng(1).normal(size=(n, WIDTH))
    T = reduced(R, y)
    ratios = np.geomspace(1e-4, 1e3, N_RATIOS)
    log_q, log_det = np.empty(WIDTH * N_RATIOS), np.empty(WIDTH * N_RATIOS)
    sweep(T[0], T[1], T[2], n, np.full(WIDTH, float(n)), np.repeat(ratios, WIDTH), log_q, log_det)
    for k in range(WIDTH):
        for g, ratio in enumerate(ratios):
            K = R[k] + ratio * np.eye(n)
            assert log_det[WIDTH * g + k] == pytest.approx(np.linalg.slogdet(K)[1], rel=1e-9, abs=1e-9)
            assert math.exp(log_q[WIDTH * g + k]) == pytest.approx(y[:, k] @ np.linalg.solve(K, y[:, k]), rel=1e-9)


def test_gp_profile_a_singular_matrix_keeps_its_spectrum():
    n = 24
    D, _ = correlations(n, n_inputs=1)  # numerically of low rank: tiny columns must not spoil the reflections
    T = reduced(np.exp(-D / 200), np.zeros((n, WIDTH)))
    for k in range(WIDTH):
        off = T[1, k::WIDTH][:-1]
        tridiagonal = np.diag(T[0, k::WIDTH]) + np.diag(off, 1) + np.diag(off, -1)
        expected = np.linalg.eigvalsh(np.exp(-D[k] / 200))
        np.testing.assert_allclose(np.linalg.eigvalsh(tridiagonal), expected, atol=1e-13)


def test_gp_profile_scans_find_the_best_noise_ratio_of_each_example():
    n, bounds = 20, (math.log(1e-4), math.log(1e3))
    _, R = correlations(n)
    y = np.linalg.cholesky(R + 0.3 * np.eye(n)) @ np.random.default_rng(2).normal(size=(WIDTH, n, 1))
    T, best, work = reduced(R, y[:, :, 0].T), np.full((3, WIDTH), sum(bounds) / 2), np.empty(4 * WIDTH * N_RATIOS)
    step = 0.5 * (bounds[1] - bounds[0])
    for _ in range(6):
        step = scan_ratios(T, n, np.full(WIDTH, float(n)), step, bounds, work, best)
    grid = np.linspace(*bounds, 20_001)
    for k in range(WIDTH):
        v, Q = np.linalg.eigh(R[k])
        noisy = v[:, None] + np.exp(grid)
        q = ((Q.T @ y[k, :, 0])[:, None] ** 2 / noisy).sum(axis=0)
        objective = -0.5 * (n * np.log(q) + np.log(noisy).sum(axis=0))
        assert best[0, k] == pytest.approx(objective.max(), abs=1e-5)
        assert best[1, k] == pytest.approx(grid[objective.argmax()], abs=0.02)
        assert best[2, k] == pytest.approx(np.log(q[objective.argmax()]), abs=0.02)
