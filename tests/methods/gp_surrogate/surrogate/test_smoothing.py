from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq
from torch.distributions import MultivariateNormal, Normal

from fewsolves.errors import InputError
from fewsolves.methods.gp_surrogate.gp.processes import GPs
from fewsolves.methods.gp_surrogate.surrogate.samples import BOX, GIVEN, NORMAL, Samples
from fewsolves.methods.gp_surrogate.surrogate.smoothing import smooth

FORMS = ("samples", "centres", "bandwidth", "off")
quick = settings(max_examples=25, deadline=None)
seeds = st.integers(0, 2**32 - 1)


def mixed(rng, n_examples, d, n=12, spread=0.5, box=1.0):
    """Per example the truth, about n/3 box samples (some Normal ones lie outside), and Normals of several widths."""
    samples = Samples(n_examples, d)
    everyone = np.arange(n_examples)
    samples.add_given(everyone, rng.normal(size=(n_examples, d)), np.zeros(n_examples))
    for _ in range(n):
        index = rng.permutation(n_examples)[: rng.integers(1, n_examples + 1)]
        if rng.random() < 0.3:
            samples.add_box(index, rng.uniform(-box, box, size=(index.size, d)), rng.random(index.size), -box, box)
        else:
            centre, sigma = spread * rng.normal(size=(index.size, d)), rng.uniform(0.2, 0.6, size=(index.size, d))
            point = centre + sigma * rng.normal(size=centre.shape)
            samples.add(index, point, rng.random(index.size), centre, sigma)
    return samples


def walk(rng, d, n, sigma=0.1, n_examples=1, step=0.05):
    """Samples as score-function training leaves them: a Normal whose centre drifts slowly."""
    samples = Samples(n_examples, d)
    centre = rng.normal(size=(n_examples, d))
    for _ in range(n):
        centre = centre + step * sigma * rng.normal(size=centre.shape)
        point = centre + sigma * rng.normal(size=centre.shape)
        samples.add(np.arange(n_examples), point, rng.random(n_examples), centre, sigma)
    return samples


def slow_log_weights(samples, i, sigma, form):
    """log phi - log q of the drawn rows of one example, at the places of the form: loops, one density after another."""
    rows = [row for row in samples.of(i) if samples.kind[row] != GIVEN]
    point, centre, deviation, box = (
        torch.tensor(v) for v in (samples.point, samples.centre, samples.sigma, samples.box)
    )
    log_w = np.empty((len(rows), len(rows)))
    for b, j in enumerate(rows):
        log_q = []
        for k in rows:
            if samples.kind[k] == NORMAL:
                log_q.append(MultivariateNormal(centre[k], torch.diag(deviation[k] ** 2)).log_prob(point[j]))
            elif ((point[j] >= box[0]) & (point[j] <= box[1])).all():
                log_q.append(-torch.log(box[1] - box[0]).sum())
        log_mean = torch.logsumexp(torch.stack(log_q), 0) - math.log(len(rows))
        for a, k in enumerate(rows):
            place = centre[k] if form == "centres" else point[k]
            log_w[a, b] = Normal(place, torch.as_tensor(sigma)).log_prob(point[j]).sum() - log_mean
    return rows, torch.tensor(log_w)


def sizes_of(log_w, beta):
    return (1.0 / torch.softmax(beta * log_w, 1).square().sum(1)).numpy()


@pytest.mark.parametrize("form", ["samples", "centres", "bandwidth"])
@pytest.mark.parametrize("d", [1, 2, 7, 30])
def test_smoothing_equals_the_slow_obvious_version(form, d):
    rng = np.random.default_rng(d)
    samples, sigma = mixed(rng, 4, d), rng.uniform(0.2, 0.5, size=d)
    order = [2, 0, 3]
    smoothed = smooth(samples, order, sigma, form)
    assert np.array_equal(smoothed.example, np.repeat(order, samples.n_of[order]))
    for i in order:
        rows, log_w = slow_log_weights(samples, i, sigma, form)
        beta, share = 1.0, len(rows) / 4
        if form == "bandwidth" and np.median(sizes_of(log_w, 1.0)) < share:
            beta = math.exp(brentq(lambda t: np.median(sizes_of(log_w, math.exp(t))) - share, -30, 0))  # noqa: B023
        expected, size = samples.regret.copy(), np.ones(len(samples))
        expected[rows] = torch.softmax(beta * log_w, 1).numpy() @ samples.regret[rows]
        size[rows] = sizes_of(log_w, beta)
        mine, close = smoothed.example == i, 1e-2 if form == "bandwidth" else 1e-10
        np.testing.assert_allclose(smoothed.targets[mine], expected[samples.of(i)], rtol=close, atol=close)
        np.testing.assert_allclose(smoothed.effective_sample_size[mine], size[samples.of(i)], rtol=close)
        places = samples.centre if form == "centres" else samples.point
        assert np.array_equal(smoothed.points[mine], places[samples.of(i)])


@pytest.mark.parametrize("form", ["samples", "centres"])
@pytest.mark.parametrize("d", [1, 2, 3])
def test_smoothing_agrees_with_brute_force_monte_carlo(form, d):
    rng, sigma, n_draws = np.random.default_rng(d), 0.4, 20_000

    def regret(y):
        return np.where(y[..., 0] > 0.2, 1.0, 0.0) + 0.3 * np.abs(y).sum(-1)

    n_examples, n = 80, 400
    samples, index = Samples(n_examples, d), np.repeat(np.arange(n_examples), n)
    centre = 0.3 * rng.normal(size=(index.size, d))
    point = centre + rng.normal(size=centre.shape)
    samples.add(index, point, regret(point), centre, 1.0)
    smoothed = smooth(samples, range(n_examples), sigma, form)
    deviations, moved = [], []
    for i in range(n_examples):  # one target of each example, for estimates from the same samples err alike
        k = i * n + np.argmax(smoothed.effective_sample_size[i * n : i * n + n] > 25)
        draws = regret(smoothed.points[k] + sigma * rng.normal(size=(n_draws, d)))
        error = draws.std() * math.sqrt(1 / smoothed.effective_sample_size[k] + 1 / n_draws)
        assert smoothed.effective_sample_size[k] > 25
        deviations.append((smoothed.targets[k] - draws.mean()) / error)
        moved.append((regret(smoothed.points[k]) - draws.mean()) / error)
    assert np.abs(deviations).max() < 4.5
    assert abs(np.mean(deviations)) < 0.4
    assert 0.6 < np.std(deviations) < 1.4
    assert np.std(moved) > 2.0  # the raw regret is another function


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("d", [50, 512])
@pytest.mark.parametrize("sigma", [1e-90, 1e-3, 0.1, 10.0, 1e60])
def test_smoothing_finite_in_many_dimensions(form, d, sigma):
    samples = mixed(np.random.default_rng(d), 3, d)
    smoothed = smooth(samples, range(3), sigma, form)
    assert np.isfinite(smoothed.targets).all()
    assert (smoothed.targets >= -1e-12).all()
    assert (smoothed.targets <= 1 + 1e-12).all()
    assert (smoothed.effective_sample_size >= 1 - 1e-12).all()
    assert (smoothed.effective_sample_size <= samples.n_of[smoothed.example] + 1e-9).all()


@pytest.mark.parametrize("d", [20, 50, 512])
def test_smoothing_the_literal_form_changes_nothing_in_many_dimensions_and_the_others_do(d):
    samples = walk(np.random.default_rng(d), d, 40, n_examples=20)
    literal, centres, bandwidth = (smooth(samples, range(20), 0.1, form) for form in FORMS[:3])
    raw = smooth(samples, range(20), 0.1, "off").targets
    assert np.median(literal.effective_sample_size) < 1.01
    assert np.median(np.abs(literal.targets - raw)) < 1e-3
    assert np.median(centres.effective_sample_size) > 3
    assert abs(np.median(bandwidth.effective_sample_size) - 10) < 0.5
    assert centres.targets.std() < 0.6 * raw.std()
    assert bandwidth.targets.std() < 0.8 * raw.std()


def test_smoothing_the_median_effective_sample_size_of_a_bandwidth_is_a_quarter():
    samples = walk(np.random.default_rng(0), 8, 30, n_examples=5)
    for sigma in (0.01, 0.1):
        smoothed = smooth(samples, range(5), sigma, "bandwidth")
        sizes = smoothed.effective_sample_size.reshape(5, 30)
        np.testing.assert_allclose(np.median(sizes, axis=1), 7.5, rtol=1e-3)


def test_smoothing_a_bandwidth_is_never_below_the_given_sigma():
    samples = walk(np.random.default_rng(0), 1, 30, n_examples=5)
    wide, literal = smooth(samples, range(5), 0.1, "bandwidth"), smooth(samples, range(5), 0.1, "samples")
    assert np.median(literal.effective_sample_size) > 7.5
    assert np.array_equal(wide.targets, literal.targets)


@quick
@given(seed=seeds, d=st.integers(1, 6))
def test_smoothing_a_sigma_towards_zero_gives_the_raw_regrets(seed, d):
    samples = mixed(np.random.default_rng(seed), 3, d)
    smoothed = smooth(samples, range(3), 1e-12)
    np.testing.assert_allclose(smoothed.targets, smooth(samples, range(3), 0.1, "off").targets, rtol=1e-14)
    np.testing.assert_allclose(smoothed.effective_sample_size, 1.0)


@quick
@given(
    seed=seeds,
    d=st.integers(1, 60),
    form=st.sampled_from(FORMS),
    level=st.floats(-1e6, 1e6),
    sigma=st.floats(1e-3, 1e3),
)
def test_smoothing_constant_regrets_stay_constant(seed, d, form, level, sigma):
    samples = mixed(np.random.default_rng(seed), 3, d)
    samples.regret[:] = level
    np.testing.assert_allclose(smooth(samples, range(3), sigma, form).targets, level, rtol=1e-12)


@quick
@given(seed=seeds, d=st.integers(1, 30), form=st.sampled_from(FORMS), sigma=st.floats(0.05, 5.0))
def test_smoothing_shifting_all_coordinates_changes_no_weight(seed, d, form, sigma):
    rng = np.random.default_rng(seed)
    samples, shift = mixed(rng, 3, d), rng.integers(-8, 9, size=d).astype(float)
    before = smooth(samples, range(3), sigma, form)
    state = samples.state()
    for name in ("point", "centre", "box"):
        state[name] += shift
    after = smooth(Samples.from_state(state), range(3), sigma, form)
    close = 5e-3 if form == "bandwidth" else 1e-8  # the search for a bandwidth may end one step earlier
    np.testing.assert_allclose(after.targets, before.targets, rtol=close, atol=close)
    np.testing.assert_allclose(after.effective_sample_size, before.effective_sample_size, rtol=10 * close)


@quick
@given(seed=seeds, d=st.integers(1, 30), form=st.sampled_from(FORMS), sigma=st.floats(0.05, 5.0))
def test_smoothing_permuting_the_samples_permutes_the_targets(seed, d, form, sigma):
    rng = np.random.default_rng(seed)
    samples = mixed(rng, 1, d)
    state, order = samples.state(), rng.permutation(len(samples))
    for name in ("example", "kind", "point", "regret", "centre", "sigma"):
        state[name] = state[name][order]
    before, after = smooth(samples, [0], sigma, form), smooth(Samples.from_state(state), [0], sigma, form)
    close = 5e-3 if form == "bandwidth" else 1e-10
    np.testing.assert_allclose(after.targets, before.targets[order], rtol=close, atol=close)
    assert np.array_equal(after.points, before.points[order])


@pytest.mark.parametrize("form", FORMS)
def test_smoothing_known_points_stay_and_are_no_samples(form):
    rng = np.random.default_rng(0)
    samples, alone = Samples(2, 3), Samples(2, 3)
    point, regret, known = 0.3 * rng.normal(size=(9, 3)), rng.random(9), rng.normal(size=(1, 3))
    for either in (samples, alone):
        either.add(np.zeros(9, int), point, regret, 0.0, 0.3)
    samples.add_given([0], known, [0.0])
    samples.add_given([1], known, [7.0])  # an example with nothing else
    smoothed, reference = smooth(samples, [0, 1], 0.2, form), smooth(alone, [0, 1], 0.2, form)
    assert smoothed.targets[9:].tolist() == [0.0, 7.0]
    assert smoothed.effective_sample_size[9:].tolist() == [1.0, 1.0]
    assert np.array_equal(smoothed.points[9:], np.repeat(known, 2, axis=0))
    assert np.array_equal(smoothed.targets[:9], reference.targets)


def test_smoothing_box_samples_have_no_centre_but_weigh_in():
    rng = np.random.default_rng(0)
    samples = mixed(rng, 1, 2, n=30)
    literal, centres = smooth(samples, [0], 0.3), smooth(samples, [0], 0.3, "centres")
    box = samples.kind[samples.of(0)] == BOX
    assert 2 < box.sum() < 28
    assert np.array_equal(centres.points[box], samples.point[samples.of(0)][box])
    assert np.array_equal(centres.targets[box], literal.targets[box])


def test_smoothing_nothing_to_smooth():
    samples = Samples(3, 2)
    assert smooth(samples, [0, 2], 0.1).targets.size == 0
    samples.add([1], [[0, 0]], [0.7], 0.5, 1.0)
    assert smooth(samples, [0, 1, 2], 0.1, "bandwidth").targets.tolist() == [0.7]
    assert smooth(samples, [], 0.1).points.shape == (0, 2)


@pytest.mark.parametrize("sigma", [0.0, -1.0, np.nan, np.inf, [0.1, 0.1, 0.1]])
def test_smoothing_a_wrong_sigma_is_named(sigma):
    with pytest.raises(InputError, match="sigma"):
        smooth(Samples(1, 2), [0], sigma)


def test_smoothing_a_wrong_form_is_named():
    with pytest.raises(InputError, match="samples, centres, bandwidth, off"):
        smooth(Samples(1, 2), [0], 0.1, "centers")


def surrogate_errors(function, slope, n, sigma, n_examples=8):
    """Mean errors of posterior mean and slope of GPs on n smoothed targets, uniform samples, away from the ends."""
    rng = np.random.default_rng(n)
    samples = Samples(n_examples, 1)
    index, point = np.repeat(np.arange(n_examples), n), rng.uniform(-2, 2, size=(n * n_examples, 1))
    samples.add_box(index, point, function(point[:, 0]), -2, 2)
    smoothed = smooth(samples, range(n_examples), sigma)
    gps = GPs(n_examples, 1)
    gps.add(smoothed.example, smoothed.points, smoothed.targets)
    gps.fit()
    grid = np.tile(np.linspace(-1.2, 1.2, 97), n_examples)
    y_hat = torch.tensor(grid[:, None], requires_grad=True)
    mean, _ = gps.posterior(y_hat, np.repeat(np.arange(n_examples), 97))
    mean.sum().backward()
    value_error = np.abs(mean.detach().numpy() - function(grid)).mean()
    return value_error, np.abs(y_hat.grad[:, 0].numpy() - slope(grid)).mean()


SIZES = ((20, 0.4), (80, 0.25), (320, 0.15))  # n and sigma: sigma falls while n sigma, the samples averaged, grows


def test_smoothing_with_more_samples_and_less_smoothing_the_surrogate_becomes_the_smooth_function_and_its_slope():
    errors = [surrogate_errors(lambda x: np.sin(2 * x), lambda x: 2 * np.cos(2 * x), n, sigma) for n, sigma in SIZES]
    values, slopes = np.transpose(errors)
    assert values[0] > 1.5 * values[1] > 2.25 * values[2]
    assert slopes[0] > 1.25 * slopes[1] > 1.5 * slopes[2]
    assert values[2] < 0.05
    assert slopes[2] < 0.2


def test_smoothing_with_more_samples_and_less_smoothing_the_surrogate_becomes_the_step():
    errors = [surrogate_errors(lambda x: np.where(x > 0.3, 1.0, 0.0), np.zeros_like, n, sigma)[0] for n, sigma in SIZES]
    assert errors[0] > 1.25 * errors[1] > 1.5 * errors[2]
    assert errors[2] < 0.06
