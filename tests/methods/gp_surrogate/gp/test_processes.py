"""The posterior and the likelihood against scikit-learn and GPyTorch, and the face of `GPs`."""

from __future__ import annotations

import math
import warnings
from importlib.util import find_spec

import numpy as np
import pytest
import torch
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern, WhiteKernel

from fewsolves.errors import InputError
from fewsolves.methods.gp_surrogate.gp.covariance import KERNELS
from fewsolves.methods.gp_surrogate.gp.processes import GPConfig, GPs

SIZES = (0, 1, 2, 3, 4, 5, 17, 40)


def ragged(n_inputs=3, sizes=SIZES, seed=0, **options):
    """GPs whose examples have the given numbers of points, added in random order."""
    rng = np.random.default_rng(seed)
    index = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    gps = GPs(len(sizes), n_inputs, **options)
    points = rng.normal(size=(index.size, n_inputs))
    gps.add(index, points, np.sin(2 * points.sum(axis=1)) + 0.1 * rng.normal(size=index.size))
    return gps


def log_prior(gps):
    u = np.log(gps.lengthscale)
    return -u - 0.5 * (u - math.log(gps.n_inputs) / 2) ** 2 - 0.5 * math.log(2 * math.pi)


@pytest.mark.parametrize(("kernel", "theirs"), [("rbf", RBF), ("matern52", lambda length: Matern(length, nu=2.5))])
def test_gp_processes_posterior_and_likelihood_are_those_of_scikit_learn(kernel, theirs):
    gps = ragged(config=GPConfig(kernel=kernel))
    gps.fit()
    queries = np.random.default_rng(1).normal(size=(len(SIZES), 3))
    mean, std = gps.posterior(torch.tensor(queries), np.arange(len(SIZES)))
    objective = gps.log_posterior() - log_prior(gps)
    for i in np.flatnonzero(gps.n_points):
        noise = WhiteKernel(gps.noise[i])
        sum_of_kernels = ConstantKernel(gps.outputscale[i]) * theirs(gps.lengthscale[i]) + noise
        model = GaussianProcessRegressor(sum_of_kernels, alpha=0.0, optimizer=None)
        model.fit(gps.points_of(i), gps.targets_of(i))
        expected_mean, expected_std = model.predict(queries[i : i + 1], return_std=True)
        latent_std = math.sqrt(expected_std[0] ** 2 - gps.noise[i])
        assert mean[i].item() == pytest.approx(expected_mean[0], rel=1e-8, abs=1e-8)
        assert std[i].item() == pytest.approx(latent_std, rel=1e-8, abs=1e-8)
        assert objective[i] == pytest.approx(model.log_marginal_likelihood_value_, rel=1e-8, abs=1e-8)


@pytest.mark.skipif(find_spec("gpytorch") is None, reason="GPyTorch is not installed: `make versions` goes without")
@pytest.mark.parametrize("kernel", ["rbf", "matern52"])
def test_gp_processes_posterior_gradient_and_likelihood_are_those_of_gpytorch(kernel):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import gpytorch

    gps = ragged(n_inputs=6, config=GPConfig(kernel=kernel))
    gps.fit()
    i = 6
    theirs_of = {"rbf": gpytorch.kernels.RBFKernel, "matern52": lambda: gpytorch.kernels.MaternKernel(nu=2.5)}
    x, y = torch.tensor(gps.points_of(i)), torch.tensor(gps.targets_of(i))

    class Model(gpytorch.models.ExactGP):
        def __init__(self, likelihood):
            super().__init__(x, y, likelihood)
            self.mean = gpytorch.means.ZeroMean()
            self.kernel = gpytorch.kernels.ScaleKernel(theirs_of[kernel]())

        def forward(self, inputs):
            return gpytorch.distributions.MultivariateNormal(self.mean(inputs), self.kernel(inputs))

    constraint = gpytorch.constraints.GreaterThan(1e-12)
    likelihood = gpytorch.likelihoods.GaussianLikelihood(noise_constraint=constraint).double()
    model = Model(likelihood).double()
    model.kernel.outputscale, model.kernel.base_kernel.lengthscale = gps.outputscale[i], gps.lengthscale[i]
    likelihood.noise = gps.noise[i]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        marginal = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)(model(x), y).item() * len(y)
        model.eval()
        query = torch.randn(1, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
        theirs, ours = query.clone().requires_grad_(), query.clone().requires_grad_()
        expected = model(theirs)
        mean, std = gps.posterior(ours, [i])
        (expected.mean + 2 * expected.stddev).sum().backward()
    (mean + 2 * std).sum().backward()
    assert (gps.log_posterior() - log_prior(gps))[i] == pytest.approx(marginal, rel=1e-8)
    torch.testing.assert_close(mean, expected.mean, rtol=1e-8, atol=1e-8)
    torch.testing.assert_close(std, expected.stddev, rtol=1e-8, atol=1e-8)
    torch.testing.assert_close(ours.grad, theirs.grad, rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("n_inputs", [1, 4, 7])
def test_gp_processes_gradients_are_those_of_finite_differences(n_inputs, kernel):
    gps = ragged(n_inputs=n_inputs, config=GPConfig(kernel=kernel))
    gps.fit()
    index = np.array([6, 7, 0, 3, 7, 1])
    generator = torch.Generator().manual_seed(1)
    queries = torch.randn(6, n_inputs, dtype=torch.float64, generator=generator).requires_grad_()
    assert torch.autograd.gradcheck(lambda y_hat: gps.posterior(y_hat, index), (queries,))


def test_gp_processes_float32_predictions_get_float32_gradients():
    gps = ragged()
    queries = torch.zeros(2, 3, requires_grad=True)
    mean, std = gps.posterior(queries, torch.tensor([5, 6]))
    (mean + std).sum().backward()
    assert mean.dtype == std.dtype == torch.float64
    assert queries.grad is not None
    assert queries.grad.dtype == torch.float32


def test_gp_processes_an_example_without_points_answers_with_its_prior():
    gps = ragged()
    gps.fit()
    query = torch.ones(1, 3, requires_grad=True)
    mean, std = gps.posterior(query, [0])
    (mean + std).sum().backward()
    assert (mean.item(), std.item()) == (0.0, math.sqrt(gps.outputscale[0]))
    assert query.grad is not None
    assert not query.grad.any()


def test_gp_processes_a_batch_is_the_same_as_a_loop_over_the_examples():
    together = ragged(n_inputs=5, sizes=range(30))
    together.fit()
    queries = torch.randn(30, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    mean, std = together.posterior(queries, np.arange(30))
    for i in range(30):
        alone = GPs(1, 5)
        alone.add(np.zeros(i, int), together.points_of(i), together.targets_of(i))
        alone.fit()
        one_mean, one_std = alone.posterior(queries[i : i + 1], [0])
        assert one_mean.item() == mean[i].item()
        assert one_std.item() == std[i].item()


def test_gp_processes_appending_is_the_same_as_factorising_again():
    gps = ragged()
    gps.fit()
    rng = np.random.default_rng(2)
    queries = torch.tensor(rng.normal(size=(len(SIZES), 3)))
    for _ in range(25):  # crosses the end of several blocks
        index = rng.integers(0, len(SIZES), size=9)
        gps.add(index, rng.normal(size=(9, 3)), rng.normal(size=9))
        appended = gps.posterior(queries, np.arange(len(SIZES)))
    fresh = GPs(len(SIZES), 3)
    for i, n in enumerate(gps.n_points):
        fresh.add(np.full(n, i), gps.points_of(i), gps.targets_of(i))
    fresh._hyper[:] = gps._hyper
    expected = fresh.posterior(queries, np.arange(len(SIZES)))
    torch.testing.assert_close(appended, expected, rtol=1e-9, atol=1e-9)


def test_gp_processes_new_targets_move_the_mean_only():
    gps = ragged()
    gps.fit()
    queries = torch.zeros(2, 3, dtype=torch.float64)
    mean, std = gps.posterior(queries, [6, 2])
    gps.set_targets([6, 2], [3 * gps.targets_of(6), -gps.targets_of(2)])
    new_mean, new_std = gps.posterior(queries, [6, 2])
    torch.testing.assert_close(new_mean, mean * torch.tensor([3.0, -1.0]))
    assert torch.equal(new_std, std)
    gps.set_targets([6, 2], np.concatenate([gps.targets_of(6) / 3, -gps.targets_of(2)]))
    torch.testing.assert_close(gps.posterior(queries, [6, 2])[0], mean)


def test_gp_processes_only_examples_with_new_data_are_fitted_again():
    gps = ragged()
    gps.fit()
    before = gps._hyper.copy()
    gps.fit()
    assert np.array_equal(before, gps._hyper)
    gps.add([7] * 8, np.ones((8, 3)) * np.arange(8)[:, None], np.arange(8.0))
    gps.fit()
    changed = (before != gps._hyper).any(axis=1)
    assert changed[7]
    assert changed.sum() == 1


def test_gp_processes_the_state_survives_a_round_trip_to_the_last_bit():
    gps = ragged(landscapes=np.random.default_rng(0).normal(size=(len(SIZES), 2)), log_alpha=-1.0)
    gps.fit()
    gps.add([3, 3, 7], np.ones((3, 3)) * [[0.1], [0.2], [0.3]], [1.0, 2.0, 3.0], owner=[1, 3, 2])
    queries = torch.randn(len(SIZES), 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    copy = GPs.from_state(gps.state(), gps.config)
    for _ in range(2):
        for ours, theirs in zip(gps.posterior(queries, range(8)), copy.posterior(queries, range(8)), strict=True):
            assert torch.equal(ours, theirs)
        for one in (gps, copy):
            one.add([5], [[0.5, 0.5, 0.5]], [0.5])
            one.fit()
    assert all(np.array_equal(a, b) for a, b in zip(gps.state().values(), copy.state().values(), strict=True))


@pytest.mark.parametrize(
    "broken",
    [
        {"n_points": np.array([3, 400])},
        {"factors": np.zeros(3)},
        {"targets": np.zeros(1)},
        {"failed": np.zeros(1, bool)},
    ],
)
def test_gp_processes_a_state_that_does_not_fit_together_is_refused(broken):
    state = ragged(sizes=(3, 4)).state()
    with pytest.raises(InputError):
        GPs.from_state({**state, **broken})


@pytest.mark.parametrize(
    ("index", "points", "targets"),
    [
        ([0], [[np.nan, 0.0]], [0.0]),
        ([0], [[0.0, 0.0]], [np.inf]),
        ([2], [[0.0, 0.0]], [0.0]),
        ([-1], [[0.0, 0.0]], [0.0]),
        ([True], [[0.0, 0.0]], [0.0]),
        ([0.5], [[0.0, 0.0]], [0.0]),
        ([0], [[0.0]], [0.0]),
        ([0, 1], [[0.0, 0.0]], [0.0]),
        ([0], [[0.0, 0.0]], [0.0, 1.0]),
    ],
)
def test_gp_processes_unusable_data_is_refused(index, points, targets):
    gps = GPs(2, 2)
    with pytest.raises(InputError):
        gps.add(index, points, targets)
    assert not gps.n_points.any()


def test_gp_processes_unusable_queries_and_settings_are_refused():
    gps = ragged()
    with pytest.raises(InputError, match="finite"):
        gps.posterior(torch.full((1, 3), math.nan), [0])
    with pytest.raises(InputError, match=r"\(1, 3\)"):
        gps.posterior(torch.zeros(1, 2), [0])
    with pytest.raises(InputError, match="17 targets"):
        gps.set_targets([6], [np.zeros(3)])
    with pytest.raises(InputError, match=r"kernel must be 'rbf'.* or .*, got 'cubic'"):
        GPConfig(kernel="cubic")
    with pytest.raises(InputError, match="noise_floor"):
        GPConfig(noise_floor=0.0)
    with pytest.raises(InputError, match="std"):
        GPConfig(lengthscale_prior=(0.0, 0.0))
    with pytest.raises(InputError, match="n_inputs >= 1"):
        GPs(3, 0)
    with pytest.raises(InputError, match="landscapes"):
        GPs(3, 2, landscapes=np.zeros((2, 2)))


@pytest.mark.parametrize("refitted", [False, True])
def test_gp_processes_what_is_kept_is_all_that_a_process_knows(refitted):
    gps, rng, several = ragged(), np.random.default_rng(2), np.array([3, 5, 7])
    gps.fit()
    kept = [rng.random(gps.n_points[i]) < 0.6 for i in several]
    left = GPs.from_state(gps.state())
    left.keep(several, np.concatenate(kept))
    few = GPs(len(SIZES), 3)
    for i in range(len(SIZES)):
        here = kept[several.tolist().index(i)] if i in several else np.ones(gps.n_points[i], dtype=bool)
        few.add(np.full(here.sum(), i), gps.points_of(i)[here], gps.targets_of(i)[here])
    few._hyper[:], few.freshness.scanned[:] = gps._hyper, gps.freshness.scanned
    for one in (left, few):
        if refitted:
            one.fit(np.arange(len(SIZES)))
    queries = torch.tensor(rng.normal(size=(len(SIZES), 3)))
    for ours, theirs in zip(*(one.posterior(queries, np.arange(len(SIZES))) for one in (left, few)), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-9, atol=1e-9)
    assert left.n_points.tolist() == few.n_points.tolist()
    left.add([5], np.zeros((1, 3)), [0.5]), few.add([5], np.zeros((1, 3)), [0.5])
    assert left.posterior(queries[:1], [5])[0].item() == pytest.approx(few.posterior(queries[:1], [5])[0].item())


def test_gp_processes_there_is_one_mark_for_each_point():
    with pytest.raises(InputError, match="expected 3 booleans"):
        ragged().keep([3], np.ones(2, dtype=bool))
