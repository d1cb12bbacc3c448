"""Laws that hold for all data."""

from __future__ import annotations

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from fewsolves.methods.gp_surrogate.gp.covariance import KERNELS
from fewsolves.methods.gp_surrogate.gp.processes import GPConfig, GPs

quick = settings(max_examples=40, deadline=None)
seeds, kernels = st.integers(0, 2**32 - 1), st.sampled_from(KERNELS)


def random_gps(rng, n_examples, n_inputs, largest=25, config=None):
    sizes = rng.integers(0, largest, size=n_examples)
    index = np.repeat(np.arange(n_examples), sizes)
    points = rng.normal(size=(index.size, n_inputs)) * 10 ** rng.uniform(-2, 2)
    points[rng.random(index.size) < 0.2] = 0.0  # duplicates
    targets = rng.normal(size=index.size) * 10 ** rng.uniform(-6, 6)
    gps = GPs(n_examples, n_inputs, config)
    gps.add(index, points, targets)
    return gps


@quick
@given(seed=seeds, n_inputs=st.integers(1, 9), kernel=kernels, pooled=st.booleans(), fitted=st.booleans())
def test_gp_properties_data_never_make_the_posterior_wider_than_the_prior(seed, n_inputs, kernel, pooled, fitted):
    rng = np.random.default_rng(seed)
    gps = random_gps(rng, 7, n_inputs, config=GPConfig(kernel=kernel, pooled=pooled))
    if fitted:
        gps.fit()
    mean, std = gps.posterior(torch.tensor(rng.normal(size=(7, n_inputs))), range(7))
    assert not gps.failed.any()
    assert torch.isfinite(mean).all()
    assert (std.numpy() <= np.sqrt(gps.outputscale) * (1 + 1e-12)).all()
    assert (std > 0).all()
    assert (gps.noise >= gps.outputscale * 1e-4 * (1 - 1e-9)).all()


@quick
@given(seed=seeds, n_inputs=st.integers(1, 6))
def test_gp_properties_the_order_of_the_examples_does_not_matter(seed, n_inputs):
    rng = np.random.default_rng(seed)
    gps = random_gps(rng, 11, n_inputs)
    order = rng.permutation(11)
    permuted = GPs(11, n_inputs)
    for new, old in enumerate(order):
        permuted.add(np.full(gps.n_points[old], new), gps.points_of(old), gps.targets_of(old))
    queries = torch.tensor(rng.normal(size=(11, n_inputs)))
    gps.fit()
    permuted.fit()
    mean, std = gps.posterior(queries, order)
    permuted_mean, permuted_std = permuted.posterior(queries, range(11))
    assert torch.equal(mean, permuted_mean)
    assert torch.equal(std, permuted_std)
    assert np.array_equal(gps.lengthscale[order], permuted.lengthscale)


@quick
@given(seed=seeds, n_inputs=st.integers(1, 6), n=st.integers(2, 30))
def test_gp_properties_the_order_of_the_points_does_not_matter(seed, n_inputs, n):
    rng = np.random.default_rng(seed)
    points, targets, order = rng.normal(size=(n, n_inputs)), rng.normal(size=n), rng.permutation(n)
    gps = GPs(2, n_inputs)
    gps.add(np.zeros(n, int), points, targets)
    gps.add(np.ones(n, int), points[order], targets[order])
    query = torch.tensor(rng.normal(size=(1, n_inputs))).repeat(2, 1)
    mean, std = gps.posterior(query, [0, 1])
    torch.testing.assert_close(mean[0], mean[1], rtol=1e-7, atol=1e-7)
    torch.testing.assert_close(std[0], std[1], rtol=1e-7, atol=1e-7)


@quick
@given(seed=seeds, kernel=kernels, n=st.integers(1, 30))
def test_gp_properties_more_points_never_widen_the_posterior(seed, kernel, n):
    rng = np.random.default_rng(seed)
    gps, query = GPs(1, 3, GPConfig(kernel=kernel)), torch.tensor(rng.normal(size=(1, 3)))
    last = np.inf
    for _ in range(n):
        gps.add([0], rng.normal(size=(1, 3)), rng.normal(size=1))
        std = gps.posterior(query, [0])[1].item()
        assert std <= last + 1e-9
        last = std
