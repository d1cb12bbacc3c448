"""Fit, posterior and gradients of some examples against `reference`: quick, for the form without numba too."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import gp_reference as reference
from fewsolves.methods.gp_surrogate.gp.covariance import KERNELS
from fewsolves.methods.gp_surrogate.gp.processes import GPConfig, GPs
from gp_reference import Example, Hyperparameters

SIZES = (1, 2, 5, 6, 9)


def filled(config):
    rng = np.random.default_rng(0)
    gps = GPs(len(SIZES), 2, config)
    for i, n in enumerate(SIZES):
        x = rng.normal(size=(n, 2))
        gps.add(np.full(n, i), x, np.sin(2 * x[:, 0]) + 0.1 * rng.normal(size=n))
    return gps


@pytest.mark.parametrize("pooled", [False, True])
@pytest.mark.parametrize("kernel", KERNELS)
def test_gp_numpy_fit_fit_and_posterior_are_those_of_the_reference(kernel, pooled):
    gps = filled(GPConfig(kernel=kernel, pooled=pooled))
    gps.fit()
    gps.add([1, 3], [[0.1, 0.2], [0.3, 0.4]], [0.5, 0.6])  # between two fits the factor grows by a row
    queries = torch.tensor(np.random.default_rng(1).normal(size=(len(SIZES), 2)), requires_grad=True)
    mean, std = gps.posterior(queries, range(len(SIZES)))
    by_mean, by_std = (torch.autograd.grad(of.sum(), queries, retain_graph=True)[0].numpy() for of in (mean, std))
    for i in range(len(SIZES)):
        h = Hyperparameters(gps.lengthscale[i], gps.noise[i] / gps.outputscale[i], gps.outputscale[i])
        example, x = Example(gps.points_of(i), gps.targets_of(i)), queries[i].detach().numpy()
        expected = reference.posterior(kernel, example, h, x)
        found = mean[i].item(), std[i].item(), by_mean[i], by_std[i]
        for ours, theirs in zip(found, expected, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-9)


def test_gp_numpy_fit_targets_that_change_and_points_that_go_leave_what_others_know():
    gps = filled(GPConfig())
    gps.fit()
    query = torch.zeros(len(SIZES), 2)
    before = gps.posterior(query, range(len(SIZES)))[0].numpy()
    gps.set_targets([2], [np.zeros(5)])
    gps.keep([4], np.arange(9) < 4)
    after = gps.posterior(query, range(len(SIZES)))[0].numpy()
    assert np.array_equal(after[[0, 1, 3]], before[[0, 1, 3]])
    assert after[2] == 0.0 and after[4] != before[4]
