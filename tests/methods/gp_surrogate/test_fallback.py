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
    """One prediction n times, so that the rows of its gradient are single draws."""
    u = torch.as_tensor(np.tile(scene.start[row] + 0.2, (n, 1))).requires_grad_()
    return u, np.full(n, row)


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
    scene.ask(name, u, rows).sum().backward()
    agree(u.grad.numpy(), slope_of_smoothed_bowl(scene, 2))


@pytest.mark.parametrize("belief", [None, lambda u: torch.sin(3 * u.sum(-1)), lambda u: torch.cos(5 * u[:, 0])])
def test_fallback_acquire_is_unbiased_with_full_correction_whatever_the_surrogate_believes(belief):
    scene = Scene(BOWL, sigma=0.8)
    u, rows = repeated(scene, 2, 10_000)
    if belief is not None:
        scene.surrogate.posterior = lambda u, rows: (belief(u), torch.ones(len(rows)))
    believed = scene.surrogate.posterior(u, rows)[0]
    wrong = torch.autograd.grad(believed.sum(), u)[0][0].numpy()
    assert np.abs(wrong - slope_of_smoothed_bowl(scene, 2)).max() > 0.05, "it believes something else"
    scene.ask("acquire", u, rows, correction=1.0).sum().backward()
    agree(u.grad.numpy(), slope_of_smoothed_bowl(scene, 2))


def test_fallback_what_the_surrogate_believes_spares_variance():
    scene = Scene(BOWL)
    spread = {}
    for name in ("sfge", "acquire"):
        u, rows = repeated(scene, 2, 1_000)
        scene.ask(name, u, rows, correction=1.0).sum().backward()
        spread[name] = u.grad.var(dim=0).sum().item()
    assert spread["acquire"] < 0.5 * spread["sfge"]


@pytest.mark.parametrize("name", ["sfge", "multi-sample", "acquire"])
def test_fallback_the_gradient_of_sigma_is_unbiased(name):
    """E |u + sigma e - y|^2 has the derivative 2 sigma^2 by log sigma, in each input."""
    scene, found = Scene(BOWL, M=2, sigma=0.8, trainable=True), []
    for _ in range(60):
        u, rows = repeated(scene, 1, 40)
        scene.noise.log_sigma.grad = None
        scene.ask(name, u, rows, correction=1.0).mean().backward()
        found.append(scene.noise.log_sigma.grad.numpy())
    agree(np.array(found), 2 * 0.8**2 * scene.scale**2 / scene.surrogate.std_r)


def test_fallback_without_correction_acquire_leaves_the_answer_to_the_surrogate():
    scene = Scene(BOWL)
    u, rows = repeated(scene, 0, 5)
    answer = scene.ask("acquire", u, rows)
    answer.sum().backward()
    assert torch.equal(answer, torch.zeros(5, dtype=torch.float64))
    assert torch.equal(u.grad, torch.zeros_like(u))
    weights = {c: build("acquire", scene.oracle, scene.noise, c).surrogate_weight for c in (0.0, 0.25, 1.0)}
    assert weights == {0.0: 1.0, 0.25: 0.75, 1.0: 0.0}


def test_fallback_acquire_takes_the_draw_alone_where_a_factorisation_failed():
    scene = Scene(BOWL)
    u, rows = repeated(scene, 2, 10_000)
    scene.surrogate.gps.freshness.failed[2] = True
    scene.ask("acquire", u, rows).sum().backward()
    agree(u.grad.numpy(), slope_of_smoothed_bowl(scene, 2))


@pytest.mark.parametrize("name", SOLVES)
def test_fallback_each_fallback_pays_what_it_says_and_the_surrogate_gets_it(name):
    scene = Scene(CHEAPEST, M=40)
    rows = np.array([3, 1, 30, 7, 12])
    u = torch.as_tensor(scene.start[rows]).requires_grad_()
    before, draws = len(scene.surrogate.samples), SOLVES[name]
    assert scene.ask(name, u, rows, correction=0.5).shape == (5,)
    assert scene.online == 5 * draws
    samples, new = scene.surrogate.samples, slice(before, None)
    assert np.array_equal(samples.example[new], np.tile(rows, draws))
    paid = scene.oracle.regret(samples.example[new], samples.point[new] * scene.scale, phase="test")
    assert np.allclose(samples.regret[new], paid)
    assert len(scene.surrogate.targets) == before, "it learns when it is told to"


@pytest.mark.parametrize("name", ["acquire", "sfge", "multi-sample"])
def test_fallback_samples_keep_the_centre_and_the_sigma_of_their_time(name):
    scene, rows = Scene(BOWL), np.array([0, 5])
    samples, first = scene.surrogate.samples, len(scene.surrogate.samples)
    for t, sigma in enumerate((0.3, 0.07)):
        scene.noise.set(sigma)
        scene.ask(name, torch.as_tensor(scene.start[rows] + t), rows)
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
    y_hat = torch.as_tensor(scene.start[rows] * scene.scale).requires_grad_()
    answer = scene.ask("spo+", y_hat / torch.as_tensor(scene.scale), rows)
    (slope,) = torch.autograd.grad(answer.mean() * scene.surrogate.std_r, y_hat)
    reference, its_slope = SPOPlusLoss(Oracle(problem, scene.Y)).with_slope(y_hat.detach().numpy(), rows)
    assert answer.mean().item() * scene.surrogate.std_r == pytest.approx(reference)
    assert np.allclose(slope.numpy(), its_slope)
    points = scene.surrogate.samples.point[-3:] * scene.scale
    assert np.allclose(points, 2 * y_hat.detach().numpy() - scene.Y[rows])


def test_fallback_spo_plus_pays_once_even_where_nothing_is_remembered():
    problem = fs.Problem(solve=CHEAPEST.solve, cost=CHEAPEST.cost, linear="min", noisy="both")
    scene, rows = Scene(problem, M=40), np.arange(40)
    scene.ask("spo+", torch.as_tensor(scene.start), rows)
    assert scene.online == 40


def test_fallback_spo_plus_refuses_what_is_not_linear():
    with pytest.raises(
        NotApplicableError, match=r"fallback 'spo\+' does not fit 'newsvendor'.*linear in the predicted"
    ):
        Scene(NEWSVENDOR).ask("spo+", None, None)


def test_fallback_an_unknown_fallback_is_refused():
    with pytest.raises(InputError, match=r"'sgfe'; there is acquire, sfge"):
        Scene(BOWL).ask("sgfe", None, None)


def test_fallback_noise_draws_what_its_density_says():
    noise = Noise(np.ones(2), 0.2, trainable=False, rng=np.random.default_rng(0))
    noise.log_sigma.data[1] = np.log(0.5)
    u = torch.tensor([[1.0, -3.0]], dtype=torch.float64).expand(20_000, 2).clone().requires_grad_()
    point, log_density, sigma = noise.draw(u)
    assert not point.requires_grad
    off = (point - u.detach()) / torch.tensor([0.2, 0.5], dtype=torch.float64)
    assert off.mean(0).abs().max() < 0.04
    assert (off.std(0) - 1).abs().max() < 0.03
    assert torch.allclose(sigma, torch.tensor([0.2, 0.5], dtype=torch.float64))
    expected = -0.5 * off**2 - sigma.log() - 0.5 * np.log(2 * np.pi)
    assert torch.allclose(log_density.detach(), expected.sum(-1))
    (slope,) = torch.autograd.grad(log_density.sum(), u)
    assert torch.allclose(slope, (point - u.detach()) / sigma**2)


@pytest.mark.parametrize(("asked", "used"), [(1e-9, SIGMA_RANGE[0]), (50.0, SIGMA_RANGE[1]), (0.3, 0.3)])
def test_fallback_noise_stays_within_its_range(asked, used):
    noise = Noise(np.ones(2), 0.1, trainable=False, rng=np.random.default_rng(0))
    noise.set(asked)
    assert torch.allclose(noise.draw(torch.zeros(1, 2, dtype=torch.float64))[2], torch.tensor(used).double())
