"""The compiled pieces, each against its obvious numpy version."""

from __future__ import annotations

import math

import numpy as np
import pytest

from fewsolves.gp.factor import invert_factor
from fewsolves.gp.lanes import WIDTH, exp, kernel, load, log, store, store_transposed
from fewsolves.gp.profile import N_RATIOS, correlate, sweep, tridiagonalise
from fewsolves.gp.search import insert, next_trial


@kernel
def exp_of(x, out):
    for at in range(0, x.size, WIDTH):
        store(out, at, exp(load(x, at)))


@kernel
def log_of(x, out):
    for at in range(0, x.size, WIDTH):
        store(out, at, log(load(x, at)))


@kernel
def transpose(x, out):
    store_transposed(out, 0, load(x, 0), load(x, 4), load(x, 8), load(x, 12))


def packed(matrices):
    """Lower triangles of four matrices as a lane array."""
    rows, columns = np.tril_indices(len(matrices[0]))
    return np.ascontiguousarray(np.stack([m[rows, columns] for m in matrices], axis=1)).ravel()


def unpacked(lanes, n):
    matrices = np.zeros((WIDTH, n, n))
    rows, columns = np.tril_indices(n)
    matrices[:, rows, columns] = lanes.reshape(-1, WIDTH).T
    return matrices


def correlations(n, n_inputs=3, seed=0):
    """Squared distances and correlations (length-scale 1) of four examples."""
    x = np.random.default_rng(seed).normal(size=(WIDTH, n, n_inputs))
    D = ((x[:, :, None] - x[:, None]) ** 2).sum(axis=3)
    return D, np.exp(-D / 2)


def test_exp_and_log():
    x = np.concatenate([-np.geomspace(1e-300, 699, 997), [0.0, 1.0, 700.0]])
    out = np.empty_like(x)
    exp_of(x, out)
    np.testing.assert_allclose(out, np.exp(x), rtol=5e-16)
    exp_of(np.array([-math.inf, -701.0, -1e300, -1e9]), out)
    assert not out[:4].any()
    positive = np.concatenate([np.geomspace(1e-300, 1e300, 1000), np.linspace(0.5, 2, 1000)])
    out = np.empty_like(positive)
    log_of(positive, out)
    np.testing.assert_allclose(out, np.log(positive), rtol=1e-15, atol=1e-16)


def test_transposing_a_tile():
    x, out = np.arange(16.0), np.empty(16)
    transpose(x, out)
    assert np.array_equal(out.reshape(4, 4), x.reshape(4, 4).T)


@pytest.mark.parametrize("n", [1, 2, 3, 8, 33])
def test_tridiagonal_form_has_the_determinants_and_quadratic_forms(n):
    D, R = correlations(n)
    y = np.random.default_rng(1).normal(size=(n, WIDTH))
    A, z = np.empty(WIDTH * n * (n + 1) // 2), y.ravel().copy()
    diagonal, off = np.zeros(WIDTH * n), np.zeros(WIDTH * n)
    correlate(packed(D), np.empty(0), np.full(WIDTH, -0.5), n, A)
    np.testing.assert_allclose(unpacked(A, n), np.tril(R), rtol=1e-14)
    tridiagonalise(A, z, n, np.empty(4 * WIDTH * n), diagonal, off)
    ratios = np.geomspace(1e-4, 1e3, N_RATIOS)
    log_q, log_det = np.empty(WIDTH * N_RATIOS), np.empty(WIDTH * N_RATIOS)
    sweep(diagonal, off, z, n, np.full(WIDTH, float(n)), np.repeat(ratios, WIDTH), log_q, log_det)
    for k in range(WIDTH):
        for g, ratio in enumerate(ratios):
            K = R[k] + ratio * np.eye(n)
            assert log_det[WIDTH * g + k] == pytest.approx(np.linalg.slogdet(K)[1], rel=1e-9, abs=1e-9)
            assert math.exp(log_q[WIDTH * g + k]) == pytest.approx(y[:, k] @ np.linalg.solve(K, y[:, k]), rel=1e-9)


def test_a_singular_matrix_keeps_its_spectrum():
    n = 24
    D, _ = correlations(n, n_inputs=1)  # numerically of low rank: tiny columns must not spoil the reflections
    A, z, work = packed(np.exp(-D / 200)), np.zeros(WIDTH * n), np.empty(4 * WIDTH * n)
    diagonal, off = np.zeros(WIDTH * n), np.zeros(WIDTH * n)
    tridiagonalise(A, z, n, work, diagonal, off)
    for k in range(WIDTH):
        T = np.diag(diagonal[k::WIDTH]) + np.diag(off[k::WIDTH][:-1], 1) + np.diag(off[k::WIDTH][:-1], -1)
        np.testing.assert_allclose(np.linalg.eigvalsh(T), np.linalg.eigvalsh(np.exp(-D[k] / 200)), atol=1e-13)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 6, 7, 8, 9, 33])
def test_inverse_factor(n):
    _, R = correlations(n)
    A, pivot = packed(R), np.empty(WIDTH)
    invert_factor(A, np.full(WIDTH, 0.01), n, np.empty(WIDTH * n), pivot)
    expected = np.linalg.inv(np.linalg.cholesky(R + 0.01 * np.eye(n)))
    np.testing.assert_allclose(unpacked(A, n), expected, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(pivot, (1 / np.einsum("kii->ki", expected) ** 2).min(axis=1), rtol=1e-10)


@pytest.mark.parametrize(
    ("function", "top"),
    [
        (lambda u: -3 * (u - 0.4) ** 2, 0.4),
        (lambda u: math.sin(u) - 0.1 * u * u, 1.3064400088),
        (lambda u: -abs(u - 0.25), 0.25),
        (lambda u: -u, -8.0),
        (lambda u: u, 8.0),
    ],
)
def test_search_in_one_variable(function, top):
    u, f = np.empty(20), np.empty(20)
    n = 0
    for start in (-1.5, -0.6, 0.3, 1.2):
        insert(u, f, n, start, function(start))
        n += 1
    while n < 20 and not math.isnan(trial := next_trial(u, f, n, -8.0, 8.0, 2e-3)):
        insert(u, f, n, trial, function(trial))
        n += 1
    assert np.all(np.diff(u[:n]) > 0)
    assert f[:n].max() == pytest.approx(function(top), abs=0.02)
