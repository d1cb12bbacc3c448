import numpy as np
import pytest
import torch

import fewsolves as fs
from fewsolves.errors import InputError, NotApplicableError
from fewsolves.methods.gp_surrogate.fallback import Noise, build
from fewsolves.methods.gp_surrogate.surrogate import design
from fewsolves.methods.gp_surrogate.surrogate.regret import RegretSurrogate, SurrogateConfig
from fewsolves.methods.sfge import SIGMA_RANGE
from fewsolves.methods.spo_plus import SPOPlusLoss
from fewsolves.oracle import Oracle
from problems_of_users import CHEAPEST, NEWSVENDOR

SOLVES = {"acquire": 1, "sfge": 1, "multi-sample": 4, "spo+": 1}
BOWL = fs.Problem(  # the regret is |y_hat - y|^2
    solve_batch=lambda Y_hat: Y_hat, cost_batch=lambda Y, Z: ((Y - Z) ** 2).sum(axis=1), name="bowl"
)


def dearest(y_hat):
    return np.where(y_hat >= np.sort(y_hat)[-2], 1.0, 0.0)


DEAREST = fs.Problem(solve=dearest, cost=lambda y, z: -float(y @ z), linear="max", name="dearest")


class Scene:
    """An oracle, its noise and a surrogate that has seen four points of each row; odd numbers: rounding shows."""

    def __init__(self, problem, M=8, d=3, sigma=0.3, trainable=False, seed=0):
        self.rng = np.random.default_rng(seed)
        self.Y = 10 + self.rng.normal(size=(M, d)) * np.linspace(0.1, 7.0, d)
        self.oracle = Oracle(problem, self.Y)
        self.scale = self.Y.std(axis=0)
        self.noise = Noise(self.scale, sigma, trainable=trainable, rng=self.rng)
        truth = self.Y / self.scale
        self.start = truth + 0.4 * self.rng.normal(size=truth.shape)
        drawn = design.draw("near", truth, self.start, 4, 0.5, self.rng)
        everyone = np.arange(M)
        regret = np.stack([self.oracle.regret(everyone, p * self.scale, phase="pre-training") for p in drawn.points])
        self.surrogate = RegretSurrogate(truth, drawn, regret, SurrogateConfig())

    def ask(self, name, u, rows, correction=0.0):
        fallback = build(name, self.oracle, self.noise, correction)
        return fallback(u, rows, self.surrogate)

    @property
    def online(self):
        return self.oracle.calls.counts["solve"]["online"]


def repeated(scene, row, n):
    """One prediction n times, so that the rows of its slope are single draws."""
    return np.tile(scene.start[row] + 0.2, (n, 1)), np.full(n, row)


def slope_of_smoothed_bowl(scene, row):
    """Gradient of E[regret] by u, standardised: that of the bowl itself, since the noise only adds a constant."""
    off = scene.start[row] + 0.2 - scene.Y[row] / scene.scale
    return 2 * scene.scale**2 * off / scene.surrogate.std_r


def agree(draws, expected):
    """The mean of the draws (n, d) is the expected value, within five standard errors."""
    error = draws.std(axis=0) / np.sqrt(len(draws))
    assert (np.abs(draws.mean(axis=0) - expected) < 5 * error).all()
    assert (error < 0.2 * np.abs(expected).max()).all(), "enough draws to tell"


@pytest.mark.parametrize(("name", "n"), [("sfge", 10_000), ("multi-sample", 2_500)])
def test_fallback_single_draws_of_the_score_function_are_unbiased(name, n):
    scene = Scene(BOWL)
    u, rows = repeated(scene, 2, n)
    agree(scene.ask(name, u, rows).slope, slope_of_smoothed_bowl(scene, 2))


def sine(u):
    """A belief (B,), and its slope (B, d)."""
    return np.sin(3 * u.sum(axis=1)), np.repeat(3 * np.cos(3 * u.sum(axis=1))[:, None], u.shape[1], axis=1)


def cosine(u):
    slope = np.zeros_like(u)
    slope[:, 0] = -5 * np.sin(5 * u[:, 0])
    return np.cos(5 * u[:, 0]), slope


@pytest.mark.parametrize("belief", [None, sine, cosine])
def test_fallback_acquire_is_unbiased_with_full_correction_whatever_the_surrogate_believes(belief):
    scene = Scene(BOWL, sigma=0.8)
    u, rows = repeated(scene, 2, 10_000)
    if belief is not None:

        def believes(u, rows, *, slopes):
            mean, slope = belief(u)
            return mean, np.ones(len(rows)), np.stack([slope, np.zeros_like(slope)], axis=1)

        scene.surrogate.evaluated = believes
    wrong = scene.surrogate.evaluated(u, rows, slopes=True)[2][0, 0]
    assert np.abs(wrong - slope_of_smoothed_bowl(scene, 2)).max() > 0.05, "it believes something else"
    agree(scene.ask("acquire", u, rows, correction=1.0).slope, slope_of_smoothed_bowl(scene, 2))


def test_fallback_what_the_surrogate_believes_spares_variance():
    scene = Scene(BOWL)
    spread = {}
    for name in ("sfge", "acquire"):
        u, rows = repeated(scene, 2, 1_000)
        spread[name] = scene.ask(name, u, rows, correction=1.0).slope.var(axis=0).sum()
    assert spread["acquire"] < 0.5 * spread["sfge"]


@pytest.mark.parametrize("name", ["sfge", "multi-sample", "acquire"])
def test_fallback_the_gradient_of_sigma_is_unbiased(name):
    """E |u + sigma e - y|^2 has the derivative 2 sigma^2 by log sigma, in each input."""
    scene, found = Scene(BOWL, M=2, sigma=0.8, trainable=True), []
    for _ in range(60):
        u, rows = repeated(scene, 1, 40)
        found.append(scene.ask(name, u, rows, correction=1.0).by_log_sigma / len(rows))
    agree(np.array(found), 2 * 0.8**2 * scene.scale**2 / scene.surrogate.std_r)


def test_fallback_without_correction_acquire_leaves_the_answer_to_the_surrogate():
    scene = Scene(BOWL)
    u, rows = repeated(scene, 0, 5)
    answer = scene.ask("acquire", u, rows)
    assert not answer.loss.any()
    assert not answer.slope.any()
    weights = {c: build("acquire", scene.oracle, scene.noise, c).surrogate_weight for c in (0.0, 0.25, 1.0)}
    assert weights == {0.0: 1.0, 0.25: 0.75, 1.0: 0.0}


def test_fallback_acquire_takes_the_draw_alone_where_a_factorisation_failed():
    scene = Scene(BOWL)
    u, rows = repeated(scene, 2, 10_000)
    scene.surrogate.gps.freshness.failed[2] = True
    agree(scene.ask("acquire", u, rows).slope, slope_of_smoothed_bowl(scene, 2))


@pytest.mark.parametrize("name", SOLVES)
def test_fallback_each_fallback_pays_what_it_says_and_the_surrogate_gets_it(name):
    scene = Scene(CHEAPEST, M=40)
    rows = np.array([3, 1, 30, 7, 12])
    before, draws = len(scene.surrogate.samples), SOLVES[name]
    answer = scene.ask(name, scene.start[rows], rows, correction=0.5)
    assert answer.loss.shape == (5,)
    assert answer.slope.shape == (5, 3)
    assert scene.online == 5 * draws
    samples, new = scene.surrogate.samples, slice(before, None)
    assert np.array_equal(samples.example[new], np.tile(rows, draws))
    paid = scene.oracle.regret(samples.example[new], samples.point[new] * scene.scale, phase="test")
    assert np.allclose(samples.regret[new], paid)
    assert len(scene.surrogate.targets) == before, "it learns with the next batch"


@pytest.mark.parametrize("name", ["acquire", "sfge", "multi-sample"])
def test_fallback_samples_keep_the_centre_and_the_sigma_of_their_time(name):
    scene, rows = Scene(BOWL), np.array([0, 5])
    samples, first = scene.surrogate.samples, len(scene.surrogate.samples)
    for t, sigma in enumerate((0.3, 0.07)):
        scene.noise.set(sigma)
        scene.ask(name, scene.start[rows] + t, rows)
    for t, sigma in enumerate((0.3, 0.07)):
        n = 2 * SOLVES[name]
        mine = slice(first + t * n, first + (t + 1) * n)
        assert np.array_equal(samples.centre[mine], np.tile(scene.start[rows] + t, (SOLVES[name], 1)))
        assert np.allclose(samples.sigma[mine], sigma)
        off = (samples.point[mine] - samples.centre[mine]) / sigma
        assert 0 < np.abs(off).max() < 6


@pytest.mark.parametrize("problem", [CHEAPEST, DEAREST], ids=["min", "max"])
def test_fallback_spo_plus_is_that_of_the_method_in_standardised_units(problem):
    scene, rows = Scene(problem, M=12, d=4), np.array([4, 0, 9])
    y_hat = scene.start[rows] * scene.scale
    answer = scene.ask("spo+", scene.start[rows], rows)
    reference, its_slope = SPOPlusLoss(Oracle(problem, scene.Y)).with_slope(y_hat, rows)
    assert answer.loss.mean() * scene.surrogate.std_r == pytest.approx(reference)
    assert np.allclose(answer.slope * scene.surrogate.std_r / len(rows) / scene.scale, its_slope)
    assert answer.by_log_sigma is None
    points = scene.surrogate.samples.point[-3:] * scene.scale
    assert np.allclose(points, 2 * y_hat - scene.Y[rows])


def test_fallback_spo_plus_pays_once_even_where_nothing_is_remembered():
    problem = fs.Problem(solve=CHEAPEST.solve, cost=CHEAPEST.cost, linear="min", noisy="both")
    scene, rows = Scene(problem, M=40), np.arange(40)
    scene.ask("spo+", scene.start, rows)
    assert scene.online == 40


def test_fallback_spo_plus_refuses_what_is_not_linear():
    with pytest.raises(
        NotApplicableError, match=r"fallback 'spo\+' does not fit 'newsvendor'.*linear in the predicted"
    ):
        Scene(NEWSVENDOR).ask("spo+", None, None)


def test_fallback_an_unknown_fallback_is_refused():
    with pytest.raises(InputError, match=r"'sgfe'; choose one of acquire, sfge"):
        Scene(BOWL).ask("sgfe", None, None)


def test_fallback_noise_draws_what_its_density_says():
    noise = Noise(np.ones(2), 0.2, trainable=False, rng=np.random.default_rng(0))
    noise.log_sigma[1] = np.log(0.5)
    u = np.tile([1.0, -3.0], (20_000, 1))
    drawn = noise.draw(u)
    assert np.abs(drawn.off.mean(axis=0)).max() < 0.04
    assert np.abs(drawn.off.std(axis=0) - 1).max() < 0.03
    assert np.allclose(drawn.point, u + drawn.off * [0.2, 0.5])
    assert np.allclose(drawn.sigma, [0.2, 0.5])


@pytest.mark.parametrize("given", [0.3, 0.05, 50.0])
def test_fallback_the_score_of_a_draw_is_what_autograd_finds(given):
    """The weighted log density; beyond its range sigma does not follow its logarithm."""
    noise, rng = Noise(np.ones(3), given, trainable=True, rng=np.random.default_rng(0)), np.random.default_rng(1)
    u, weight = rng.normal(size=(7, 3)), rng.normal(size=7)
    drawn = noise.draw(u)
    answer = drawn.scored(weight)
    at, log_sigma = (torch.tensor(values, requires_grad=True) for values in (u, noise.log_sigma))
    sigma = log_sigma.clamp(*np.log(SIGMA_RANGE)).exp()
    density = torch.distributions.Normal(at, sigma).log_prob(torch.as_tensor(drawn.point)).sum(-1)
    (torch.as_tensor(weight) * density).sum().backward()
    assert np.allclose(drawn.log_density, density.detach().numpy())
    assert np.allclose(answer.loss, weight * drawn.log_density)
    assert np.allclose(answer.slope, at.grad.numpy())
    assert np.allclose(answer.by_log_sigma, log_sigma.grad.numpy())


@pytest.mark.parametrize(("given", "used"), [(1e-9, SIGMA_RANGE[0]), (50.0, SIGMA_RANGE[1]), (0.3, 0.3)])
def test_fallback_noise_stays_within_its_range(given, used):
    noise = Noise(np.ones(2), 0.1, trainable=False, rng=np.random.default_rng(0))
    noise.set(given)
    assert np.allclose(noise.draw(np.zeros((1, 2))).sigma, used)
