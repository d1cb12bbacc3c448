"""The inverse factor, many examples at a time, against numpy's Cholesky factor."""

from __future__ import annotations

import numpy as np
import pytest

from fewsolves.methods.gp_surrogate.gp.factor import group_weights, invert_factor
from fewsolves.methods.gp_surrogate.gp.gather import even
from fewsolves.methods.gp_surrogate.gp.lanes import LANES
from lane_arrays import correlations, packed, unpacked


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 6, 7, 8, 9, 33])
def test_gp_factor_inverse_factor(n):
    _, R = correlations(n)
    A, pivot = packed(R), np.empty(LANES)
    invert_factor(A, np.full(LANES, 0.01), even(n), LANES, np.empty((even(n), LANES)), pivot)
    expected = np.linalg.inv(np.linalg.cholesky(R + 0.01 * np.eye(n)))
    np.testing.assert_allclose(unpacked(A, n), expected, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(pivot, (1 / np.einsum("kii->ki", expected) ** 2).min(axis=1), rtol=1e-10)


def test_gp_factor_inverse_gives_the_weights():
    n, y = 8, np.random.default_rng(1).normal(size=(8, LANES))
    _, R = correlations(n)
    A, alpha = packed(R), np.empty((n, LANES))
    invert_factor(A, np.full(LANES, 0.01), n, LANES, alpha, np.empty(LANES))
    group_weights(A, y, LANES, alpha)
    expected = np.linalg.solve(R + 0.01 * np.eye(n), y.T[:, :, None])[:, :, 0]
    np.testing.assert_allclose(alpha.T, expected, rtol=1e-9, atol=1e-9)


def test_gp_factor_a_matrix_that_is_not_positive_definite_has_pivot_zero_in_its_own_lane_only():
    _, R = correlations(5)
    R[2] = 1.0
    A, pivot = packed(R), np.empty(LANES)
    invert_factor(A, np.zeros(LANES), 6, LANES, np.empty((6, LANES)), pivot)
    assert pivot[2] == 0.0
    assert (np.delete(pivot, 2) > 1e-3).all()


def test_gp_factor_inverse_factor_leaves_lanes_that_are_not_in_use():
    _, R = correlations(6)
    A, before = packed(R), packed(R)
    invert_factor(A, np.full(LANES, 0.01), 6, 8, np.empty((6, LANES)), np.empty(LANES))
    assert np.array_equal(unpacked(A, 6)[8:], unpacked(before, 6)[8:])
