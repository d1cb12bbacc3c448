"""Tridiagonal form and noise ratios against determinants and solves."""

from __future__ import annotations

import math

import numpy as np
import pytest

from fewsolves.methods.gp_surrogate.gp.gather import even
from fewsolves.methods.gp_surrogate.gp.lanes import LANES
from fewsolves.methods.gp_surrogate.gp.profile import N_RATIOS, Work, scan_ratios, sweep, tridiagonalise
from lane_arrays import correlations, packed


def reduced(R, y):
    """T and z of LANES examples, (3, n, LANES)."""
    n = even(len(y))
    T = np.zeros((3, n, LANES))
    T[2, : len(y)] = y
    work = Work(np.ones((n, 4 * LANES)), np.ones((n, 4 * LANES)), np.ones(6 * LANES))  # what was there does not matter
    tridiagonalise(packed(R), T[2], LANES, work, T[0], T[1])
    return T


@pytest.mark.parametrize("n", [1, 2, 3, 8, 17, 33])
def test_gp_profile_tridiagonal_form_has_the_determinants_and_quadratic_forms(n):
    _, R = correlations(n)
    y = np.random.default_rng(1).normal(size=(n, LANES))
    T = reduced(R, y)
    ratios = np.geomspace(1e-4, 1e3, N_RATIOS)
    log_q, log_det = np.empty((2, N_RATIOS, LANES))
    sweep(T, LANES, np.full(LANES, float(n)), np.tile(ratios[:, None], LANES), log_q, log_det)
    for k in range(LANES):
        for g, ratio in enumerate(ratios):
            K = R[k] + ratio * np.eye(n)
            assert log_det[g, k] == pytest.approx(np.linalg.slogdet(K)[1], rel=1e-9, abs=1e-9)
            assert math.exp(log_q[g, k]) == pytest.approx(y[:, k] @ np.linalg.solve(K, y[:, k]), rel=1e-9)


def test_gp_profile_a_singular_matrix_keeps_its_spectrum():
    n = 24
    D, _ = correlations(n, n_inputs=1)  # numerically of low rank: tiny columns must not spoil the reflections
    T = reduced(np.exp(-D / 200), np.zeros((n, LANES)))
    for k in range(LANES):
        off = T[1, 1:, k]
        tridiagonal = np.diag(T[0, :, k]) + np.diag(off, 1) + np.diag(off, -1)
        expected = np.linalg.eigvalsh(np.exp(-D[k] / 200))
        np.testing.assert_allclose(np.linalg.eigvalsh(tridiagonal), expected, atol=1e-13)


def test_gp_profile_scans_find_the_best_noise_ratio_of_each_example():
    n, bounds = 20, (math.log(1e-4), math.log(1e3))
    _, R = correlations(n)
    y = np.linalg.cholesky(R + 0.3 * np.eye(n)) @ np.random.default_rng(2).normal(size=(LANES, n, 1))
    T, best, work = reduced(R, y[:, :, 0].T), np.full((3, LANES), sum(bounds) / 2), np.empty((4, N_RATIOS, LANES))
    step = 0.5 * (bounds[1] - bounds[0])
    for _ in range(6):
        step = scan_ratios(T, LANES, np.full(LANES, float(n)), step, bounds, work, best)
    grid = np.linspace(*bounds, 20_001)
    for k in range(LANES):
        v, Q = np.linalg.eigh(R[k])
        noisy = v[:, None] + np.exp(grid)
        q = ((Q.T @ y[k, :, 0])[:, None] ** 2 / noisy).sum(axis=0)
        objective = -0.5 * (n * np.log(q) + np.log(noisy).sum(axis=0))
        assert best[0, k] == pytest.approx(objective.max(), abs=1e-5)
        assert best[1, k] == pytest.approx(grid[objective.argmax()], abs=0.02)
        assert best[2, k] == pytest.approx(np.log(q[objective.argmax()]), abs=0.02)
