import numpy as np
import pytest

from fewsolves.errors import InputError, NotApplicableError
from fewsolves.methods.comparison.memo import MemoConfig, MemoLoss
from fewsolves.methods.registry import METHODS
from fewsolves.methods.sfge import _advantage
from fewsolves.oracle import Oracle, SolveConfig
from fewsolves.problem import Problem
from fewsolves.testing import check_solves

SQUARES = Problem(solve_batch=lambda y_hat: y_hat, cost_batch=lambda y, z: ((z - y) ** 2).sum(axis=1))
N, N_Y = 6, 4
Y = np.random.default_rng(0).normal(size=(N, N_Y)) * [1.0, 3.0, 0.1, 50.0]
EVERYONE = np.arange(N)


def made(**settings):
    return MemoLoss(Oracle(SQUARES, Y), MemoConfig(**settings), np.random.default_rng(0))


def paid(loss):
    return loss.oracle.calls.by_phase("solve")["online"]


def step_from(points, distance, seed=1):
    """Places in standardised units, `distance` away from each of the points in some direction."""
    way = np.random.default_rng(seed).normal(size=points.shape)
    return points + distance * way / np.linalg.norm(way, axis=-1, keepdims=True)


def first_draws(loss):
    """Pay once for each example; where it paid, in standardised units."""
    u, _ = loss.draw(Y / loss.scale, EVERYONE)
    assert paid(loss) == N
    return u[0]


@pytest.mark.parametrize(("radius", "sigma"), [(1.5, 0.1), (0.5, 0.1), (3.0, 0.02)])
def test_memo_a_paid_point_is_used_again_within_the_radius_and_not_beyond(radius, sigma):
    loss = made(radius=radius, sigma=sigma)
    points = first_draws(loss)
    reach = radius * sigma * np.sqrt(N_Y)
    u, regret = loss.draw(step_from(points, 0.999 * reach), EVERYONE)
    assert paid(loss) == N
    assert np.array_equal(u[0], points)
    np.testing.assert_allclose(regret[0], ((points * loss.scale - Y) ** 2).sum(axis=1))
    loss.draw(step_from(points, 1.001 * reach), EVERYONE)
    assert paid(loss) == 2 * N


def test_memo_each_example_decides_for_itself():
    loss = made()
    points = first_draws(loss)
    far = step_from(points, 10.0)
    predictions = np.where((EVERYONE < 2)[:, None], far, points)
    u, _ = loss.draw(predictions, EVERYONE)
    assert paid(loss) == N + 2
    assert np.array_equal(u[0, 2:], points[2:])
    assert loss.trusted == pytest.approx((N - 2) / (2 * N))
    loss.begin_epoch(lambda: predictions)
    assert loss.trusted is None


def test_memo_what_one_example_paid_for_is_of_no_use_to_another():
    loss = made()
    one, other = np.array([0]), np.array([1])
    place = Y[:1] / loss.scale
    u, _ = loss.draw(place, one)
    loss.draw(u[0], other)
    assert paid(loss) == 2
    loss.draw(u[0], one)
    assert paid(loss) == 2


def test_memo_the_nearest_of_many_points_is_taken_and_none_is_forgotten():
    loss = made()
    row, places = np.array([3]), [np.full((1, N_Y), 10.0 * k) for k in range(9)]
    drawn = [loss.draw(place, row) for place in places]  # more than twice the room it began with
    assert paid(loss) == 9
    for (u, regret), place in zip(drawn, places, strict=True):
        again, known = loss.draw(u[0], row)
        assert np.array_equal(again, u)
        assert np.array_equal(known, regret)
        assert np.linalg.norm(u[0] - place) < 2.0
    assert paid(loss) == 9


def test_memo_the_loss_is_that_of_sfge_at_the_remembered_points():
    loss = made(radius=100.0)
    points = first_draws(loss)
    y_hat = step_from(points, 0.3) * loss.scale
    _, slope = loss.with_slope(y_hat, EVERYONE)
    assert paid(loss) == N
    regret = ((points * loss.scale - Y) ** 2).sum(axis=1)
    away = points - y_hat / loss.scale
    expected = _advantage(regret[None]).T * away / 0.1**2 / loss.scale / N  # A (u - u_hat) / sigma^2
    np.testing.assert_allclose(slope, expected, rtol=1e-9)


def test_memo_without_a_reach_it_pays_like_sfge_and_with_a_vast_one_only_once():
    check_solves("memo", pre_training=0, per_epoch=1, settings={"radius": 1e-9})
    loss = made(radius=1e9)
    for _ in range(3):
        loss.with_slope(Y + 1.0, EVERYONE)
    assert paid(loss) == N


def test_memo_what_it_cannot_do_is_refused():
    with pytest.raises(InputError, match="radius must be a number above 0"):
        made(radius=0.0)
    noisy = Problem(solve=lambda y: y, cost=lambda y, z: 0.0, noisy="both")
    with pytest.raises(NotApplicableError, match="use 'sfge'"):
        METHODS["memo"].check(noisy, SolveConfig())
