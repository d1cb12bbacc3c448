import numpy as np
import pytest

from fewsolves.errors import InputError
from fewsolves.methods.sfge import SFGEConfig, SFGELoss, _advantage
from fewsolves.oracle import Oracle
from fewsolves.problem import Problem
from fewsolves.testing import check_solves

SQUARES = Problem(solve_batch=lambda y_hat: y_hat, cost_batch=lambda y, z: ((z - y) ** 2).sum(axis=1))


def made(Y, seed=0, **settings):
    return SFGELoss(Oracle(SQUARES, Y), SFGEConfig(**settings), np.random.default_rng(seed))


@pytest.mark.parametrize("samples", [1, 4])
def test_sfge_one_solve_per_draw_and_epoch(samples):
    check_solves("sfge", pre_training=0, per_epoch=samples, settings={"samples": samples})


@pytest.mark.parametrize("samples", [1, 8])
def test_sfge_gradients_have_the_direction_of_the_smoothed_regret(samples):
    """E |s u - y|^2 has the gradient 2 s (y_hat - y) in u_hat, and 2 s^2 sigma in sigma, known in closed form."""
    Y = np.random.default_rng(0).normal(size=(400, 2)) * [1.0, 3.0]
    offset = np.array([0.5, -1.0])
    loss = made(Y, sigma=0.3, samples=samples)
    slopes, by_sigma = np.zeros_like(Y), np.zeros(2)
    for _ in range(30):
        slopes += loss.with_slope(Y + offset, np.arange(400))[1]
        by_sigma += loss.trained_slopes()[0]
    mean = slopes.mean(axis=0)
    expected = 2 * offset
    cosine = mean @ expected / np.linalg.norm(mean) / np.linalg.norm(expected)
    assert cosine > 0.98
    scale = Y.std(axis=0)
    wanted = 2 * scale**2 * 0.3**2
    assert by_sigma[1] / by_sigma[0] == pytest.approx(wanted[1] / wanted[0], rel=0.4)


def test_sfge_several_draws_lower_the_noise():
    Y = np.zeros((200, 3)) + np.arange(200.0)[:, None] ** 2  # examples of very different regret
    away = np.linspace(0.0, 30.0, 200)[:, None]

    def spread(samples):
        slope = made(Y, samples=samples).with_slope(Y + away, np.arange(200))[1]
        return float(np.linalg.norm(slope.sum(axis=0)) / np.linalg.norm(slope))

    assert spread(16) > spread(1)


def test_sfge_the_leave_one_out_baseline():
    R = np.array([[1.0, 10.0], [3.0, 20.0], [8.0, 60.0]])
    others = np.stack([R[k] - np.delete(R, k, axis=0).mean(axis=0) for k in range(3)])
    np.testing.assert_allclose(_advantage(R), others / others.std(), rtol=1e-6)


def test_sfge_ties_leave_no_gradient():
    assert np.array_equal(_advantage(np.full((1, 5), 3.0)), np.zeros((1, 5)))
    assert np.array_equal(_advantage(np.array([[2.0]])), np.zeros((1, 1)))


def test_sfge_draws_have_the_given_standard_deviation_in_units_of_each_parameter():
    Y = np.random.default_rng(0).normal(size=(5000, 2)) * [1.0, 200.0]
    loss = made(Y, sigma=0.1)
    u, _ = loss.draw(Y / loss.scale, np.arange(5000))
    spread = (u[0] * loss.scale - Y).std(axis=0)
    np.testing.assert_allclose(spread, 0.1 * Y.std(axis=0), rtol=0.03)


@pytest.mark.parametrize("kind, after", [("fixed", 0.1), ("annealed", 0.1 * 0.5**2), ("trainable", 0.1)])
def test_sfge_kinds_of_sigma(kind, after):
    loss = made(np.eye(3), sigma_kind=kind, sigma_decay=0.5)
    for _ in range(3):
        loss.begin_epoch(lambda: np.eye(3))
    assert len(loss.trained()) == (kind == "trainable")
    np.testing.assert_allclose(loss.sigma, after)


def test_sfge_sigma_can_neither_collapse_nor_explode():
    loss = made(np.eye(3))
    loss.log_sigma[:] = [-50.0, 0.0, 50.0]
    np.testing.assert_allclose(loss.sigma, [1e-3, 1.0, 1.0])


def test_sfge_bad_settings_are_refused():
    with pytest.raises(InputError, match="samples must be a whole number of at least 1"):
        made(np.eye(3), samples=0)


@pytest.mark.parametrize(("kind", "moves"), [("trainable", True), ("fixed", False), ("annealed", False)])
def test_sfge_only_a_trainable_sigma_is_trained(kind, moves):
    Y = np.random.default_rng(0).normal(size=(20, 3))
    loss = made(Y, sigma_kind=kind)
    loss.with_slope(Y + 1.0, np.arange(20))
    assert len(loss.trained_slopes()) == moves


def test_sfge_an_annealed_sigma_falls_to_its_bound_and_no_further():
    loss = made(np.eye(3), sigma_kind="annealed", sigma_decay=0.1)
    seen = []
    for _ in range(5):
        loss.begin_epoch(lambda: np.eye(3))
        seen.append(float(loss.sigma[0]))
    np.testing.assert_allclose(seen, [0.1, 0.01, 0.001, 0.001, 0.001])


@pytest.mark.parametrize("unit", [1e-12, 1e-3, 1e12])
@pytest.mark.parametrize("draws", [1, 3])
def test_sfge_the_advantage_has_no_unit(unit, draws):
    R = np.random.default_rng(0).normal(size=(draws, 8))
    np.testing.assert_allclose(_advantage(unit * R), _advantage(R), rtol=0.01)


@pytest.mark.parametrize("value", [0.1, 1e-9, 7e12])
def test_sfge_ties_that_are_blurred_by_rounding_leave_no_gradient(value):
    each = value * np.arange(1, 8)
    assert not _advantage(np.full((1, 7), value) * (1 + 1e-16)).any()
    assert not _advantage(np.stack([each] * 3)).any(), "each example's own draws agree"


def test_sfge_draws_that_have_nothing_to_be_compared_with_are_reported_in_the_next_epoch():
    Y = np.eye(3)
    loss, single = made(Y), np.arange(1)
    loss.begin_epoch(lambda: Y)
    loss.with_slope(Y[:1], single)
    loss.with_slope(Y, np.arange(3))
    loss.begin_epoch(lambda: Y)  # a last mini-batch of one row is nothing unusual
    loss.with_slope(Y[:1], single)
    with pytest.raises(InputError, match="samples=2"):
        loss.begin_epoch(lambda: Y)
