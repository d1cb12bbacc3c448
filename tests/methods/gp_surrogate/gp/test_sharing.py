"""Points of other examples, trusted less the more the landscapes differ; `test_reference` has the formula."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

import gp_reference as reference
from fewsolves.methods.gp_surrogate.gp.processes import GPs
from gp_reference import Example


def filled(landscapes, n=24, n_inputs=3, log_alpha=0.3, seed=0):
    rng = np.random.default_rng(seed)
    n_examples = len(landscapes)
    gps = GPs(n_examples, n_inputs, landscapes=landscapes, log_alpha=log_alpha)
    index, owner = np.repeat(np.arange(n_examples), n), rng.integers(0, n_examples, size=n_examples * n)
    points = rng.normal(size=(index.size, n_inputs))
    targets = np.sin(points.sum(axis=1) + landscapes[owner, 0]) + 0.05 * rng.normal(size=index.size)
    gps.add(index, points, targets, owner=owner)
    return gps


def test_gp_sharing_gradients_are_those_of_finite_differences():
    gps = filled(np.random.default_rng(0).normal(size=(4, 2)))
    gps.fit()
    queries = torch.randn(4, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0)).requires_grad_()
    assert torch.autograd.gradcheck(lambda y_hat: gps.posterior(y_hat, range(4)), (queries,))


def test_gp_sharing_at_distance_zero_foreign_points_are_own_points():
    foreign = filled(np.ones((5, 3)))
    own = GPs(5, 3)
    for i in range(5):
        own.add(np.full(24, i), foreign.points_of(i), foreign.targets_of(i))
    foreign.fit()
    own.fit()
    queries = torch.zeros(5, 3, dtype=torch.float64)
    for shared, alone in zip(foreign.posterior(queries, range(5)), own.posterior(queries, range(5)), strict=True):
        assert torch.equal(shared, alone)


def test_gp_sharing_far_away_foreign_points_say_nothing():
    gps = GPs(2, 1, landscapes=[[0.0], [1e12]])
    gps.add([0, 0], [[0.0], [0.1]], [5.0, 5.0], owner=[1, 1])
    mean, std = gps.posterior(torch.zeros(1, 1), [0])
    assert mean.item() == pytest.approx(0.0, abs=1e-9)
    assert std.item() == pytest.approx(1.0)


@pytest.mark.parametrize("seed", range(10))
def test_gp_sharing_the_factor_keeps_the_covariance_positive_definite(seed):
    rng = np.random.default_rng(seed)
    landscapes = rng.normal(size=(12, 5)) * 10 ** rng.uniform(-3, 3)
    gps = filled(landscapes, n=40, log_alpha=rng.uniform(-4, 4), seed=seed)
    for i in range(12):
        v = landscapes[gps.owners_of(i)]
        S = reference.sharing_factor(v, v, math.exp(gps.log_alpha))
        R = reference.correlations("rbf", Example(gps.points_of(i), gps.targets_of(i), S), gps.lengthscale[i])
        assert np.linalg.eigvalsh(R).min() > -1e-13
    gps.fit()
    assert not gps.failed.any()


def test_gp_sharing_alpha_is_the_best_of_the_grid():
    gps = filled(3 * np.random.default_rng(1).normal(size=(6, 1)))
    grid = (-4.0, 0.0, 4.0)
    sums = {}
    for log_alpha in grid:
        gps.fit_log_alpha([log_alpha])
        sums[log_alpha] = gps.log_posterior().sum()
    gps.fit_log_alpha(grid)
    assert sums[gps.log_alpha] == max(sums.values())
    assert gps.log_posterior().sum() == pytest.approx(sums[gps.log_alpha], abs=0.1)
