"""Steps of Adam on the hyperparameters, against torch's own gradient and its own Adam."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch.nn.functional import softplus

from fewsolves.methods.gp_surrogate.gp.processes import GPConfig, GPs
from fewsolves_studies.paper.reading.climb import Climb


def examples(sizes, n_inputs, seed=0):
    rng = np.random.default_rng(seed)
    points = [rng.normal(size=(n, n_inputs)) for n in sizes]
    return [(x, (i + 1) * np.sin(x.sum(axis=1)) + 0.3 * rng.normal(size=len(x))) for i, x in enumerate(points)]


def gps_of(data, config, **more):
    gps = GPs(len(data), data[0][0].shape[1], config, **more)
    for i, (x, y) in enumerate(data):
        gps.add(np.full(len(y), i), x, y)
    return gps


def by_torch(x, y, kernel, steps, w=(0.0, 0.0, 0.0)):
    """l, s2 and noise by autograd and `torch.optim.Adam`; w is where they start, before softplus."""
    x, y, d = torch.as_tensor(x), torch.as_tensor(y), x.shape[1]
    w = torch.tensor(w, dtype=torch.float64, requires_grad=True)
    adam = torch.optim.Adam([w], lr=0.1)
    squared = ((x[:, None] - x[None]) ** 2).sum(-1)

    def scales():
        length, s2, noise = softplus(w)
        return length, s2, noise + 1e-4

    for _ in range(steps):
        length, s2, noise = scales()
        t = squared / (2 * length**2)
        z = (10 * t + 1e-300).sqrt()
        R = torch.exp(-t) if kernel == "rbf" else (1 + z + z**2 / 3) * torch.exp(-z)
        normal = torch.distributions.MultivariateNormal(torch.zeros_like(y), s2 * R + noise * torch.eye(len(y)))
        prior = torch.distributions.LogNormal(math.log(d) / 2, 1.0)
        adam.zero_grad()
        (-(normal.log_prob(y) + prior.log_prob(length)) / len(y)).backward()
        adam.step()
    return [float(value.detach()) for value in scales()]


@pytest.mark.parametrize("kernel", ["rbf", "matern52"])
@pytest.mark.parametrize(("n_inputs", "steps"), [(1, 1), (1, 25), (6, 25)])
def test_climb_steps_are_those_of_torch(kernel, n_inputs, steps):
    data = examples((3, 17, 10, 4, 9, 22), n_inputs)
    gps = gps_of(data, GPConfig(kernel=kernel), fitting=Climb(steps))
    gps.fit()
    for i, (x, y) in enumerate(data):
        expected = by_torch(x, y, kernel, steps)
        assert np.allclose([gps.lengthscale[i], gps.outputscale[i], gps.noise[i]], expected, rtol=1e-6)


def test_climb_a_second_fit_goes_on_where_the_first_ended():
    ((x, y),) = data = examples((12,), 3)
    gps = gps_of(data, GPConfig(), fitting=Climb(8))
    assert np.allclose([gps.lengthscale, gps.outputscale, gps.noise - 1e-4], math.log(2))
    gps.fit()
    first = by_torch(x, y, "rbf", 8)
    w = np.log(np.expm1(np.array(first) - [0.0, 0.0, 1e-4]))
    gps.fit(np.array([0]))
    expected = by_torch(x, y, "rbf", 8, tuple(w))
    assert np.allclose([gps.lengthscale[0], gps.outputscale[0], gps.noise[0]], expected, rtol=1e-6)


def test_climb_many_steps_end_near_the_optimum():
    data = examples((30, 25), 2)
    climbed, searched = gps_of(data, GPConfig(), fitting=Climb(1000)), gps_of(data, GPConfig())
    climbed.fit()
    searched.fit()
    assert np.allclose(climbed.log_posterior(), searched.log_posterior(), atol=0.05)


def test_climb_points_of_others_count_as_little_as_their_landscapes_are_far():
    data = examples((9,), 2)
    landscapes = np.array([[0.0], [50.0]])

    def fitted(owner):
        gps = GPs(2, 2, landscapes=landscapes, fitting=Climb(20))
        (x, y) = data[0]
        gps.add(np.zeros(9, dtype=int), x, y, owner)
        gps.fit()
        return gps.lengthscale[0], gps.log_posterior()[0]

    own, mixed = fitted(np.zeros(9, dtype=int)), fitted(np.array([0, 1] * 4 + [0]))
    assert own != mixed
