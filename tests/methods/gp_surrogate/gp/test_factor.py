"""The inverse factor, four examples at a time, against numpy's Cholesky factor."""

from __future__ import annotations

import numpy as np
import pytest

from fewsolves.methods.gp_surrogate.gp.factor import invert_factor
from fewsolves.methods.gp_surrogate.gp.lanes import WIDTH
from lane_arrays import correlations, packed, unpacked


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 6, 7, 8, 9, 33])
def test_gp_factor_inverse_factor(n):
    _, R = correlations(n)
    A, pivot = packed(R), np.empty(WIDTH)
    invert_factor(A, np.full(WIDTH, 0.01), n, np.empty(WIDTH * n), pivot)
    expected = np.linalg.inv(np.linalg.cholesky(R + 0.01 * np.eye(n)))
    np.testing.assert_allclose(unpacked(A, n), expected, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(pivot, (1 / np.einsum("kii->ki", expected) ** 2).min(axis=1), rtol=1e-10)


def test_gp_factor_a_matrix_that_is_not_positive_definite_has_pivot_zero_in_its_own_lane_only():
    _, R = correlations(5)
    R[2] = 1.0
    A, pivot = packed(R), np.empty(WIDTH)
    invert_factor(A, np.zeros(WIDTH), 5, np.empty(WIDTH * 5), pivot)
    assert pivot[2] == 0.0
    assert (pivot[[0, 1, 3]] > 1e-3).all()
