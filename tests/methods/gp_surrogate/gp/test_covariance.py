"""Every kernel against its plain formula, and the rules that all of them keep."""

from __future__ import annotations

import numpy as np
import pytest

import gp_reference as reference
from fewsolves.methods.gp_surrogate.gp.covariance import FARTHEST, KERNELS, correlate, correlate_group
from fewsolves.methods.gp_surrogate.gp.lanes import LANES

T = np.concatenate([[0.0, 1e-300], np.geomspace(1e-12, 1e3, 998)])


def values(name, t):
    """k and h = -k'."""
    k, h = t.copy(), np.empty_like(t)
    correlate(KERNELS.index(name), k, h)
    return k, h


def test_gp_covariance_the_reference_has_every_kernel():
    assert tuple(reference.KERNELS) == KERNELS


@pytest.mark.parametrize("name", KERNELS)
def test_gp_covariance_correlation_and_slope_are_those_of_the_formula(name):
    k, h = values(name, T)
    expected, slope = reference.KERNELS[name](T, np.sqrt(0.5))  # there D = t
    np.testing.assert_allclose(k, expected, rtol=1e-12, atol=1e-300)
    np.testing.assert_allclose(h, -slope, rtol=1e-12, atol=1e-300)


@pytest.mark.parametrize("name", KERNELS)
def test_gp_covariance_the_slope_is_the_derivative(name):
    t, step = np.linspace(0.1, 20.0, 200), 1e-5
    differences = (values(name, t - step)[0] - values(name, t + step)[0]) / (2 * step)
    np.testing.assert_allclose(values(name, t)[1], differences, rtol=1e-6, atol=1e-10)


@pytest.mark.parametrize("name", KERNELS)
def test_gp_covariance_a_point_correlates_fully_with_itself_and_not_at_all_at_infinity(name):
    k, h = values(name, np.array([0.0, FARTHEST, 1e300, np.inf]))
    assert k.tolist() == [1.0, 0.0, 0.0, 0.0]
    assert h[1:].tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("name", KERNELS)
def test_gp_covariance_examples_are_correlated_each_with_its_own_length_scale(name):
    rng = np.random.default_rng(0)
    D, S, lengths = *rng.uniform(0, 9, size=(2, 6, 2 * LANES)), np.geomspace(0.3, 7.0, LANES)
    c, R = 0.5 / lengths**2, np.empty((6, 2 * LANES))
    both = np.tile(lengths, 2)
    expected = np.stack([reference.KERNELS[name](D[:, k], both[k])[0] for k in range(2 * LANES)], axis=1)
    correlate_group(D, np.empty((0, 2 * LANES)), c, KERNELS.index(name), R)
    np.testing.assert_allclose(R, expected, rtol=1e-13)
    correlate_group(D, S, c, KERNELS.index(name), R)
    np.testing.assert_allclose(R, expected * S, rtol=1e-13)
