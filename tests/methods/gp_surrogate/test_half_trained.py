from functools import partial

import numpy as np
import pytest

from fewsolves.data import Scale
from fewsolves.methods.comparison.local_egl import half_trained
from fewsolves.predictors.predictor import Predictor, linear, redrawn

rng = np.random.default_rng(0)
X = rng.normal(size=(50, 3))
Y = 5 + X @ rng.normal(size=(3, 4)) + 0.1 * rng.normal(size=(50, 4))


def sample(runs, even_in, seed=0, learning_rate=0.05, steps=100):
    predictor = Predictor(linear(3, 4, seed=1), Scale.of(X), Scale.of(Y))
    return half_trained(
        partial(redrawn, predictor),
        X,
        Y,
        runs=runs,
        learning_rate=learning_rate,
        steps=steps,
        even_in=even_in,
        rng=np.random.default_rng(seed),
    )


@pytest.mark.parametrize("even_in", ["steps", "loss"])
def test_half_trained_points_are_distinct_and_get_better_along_a_run(even_in):
    points = sample([6, 4], even_in)
    assert points.shape == (10, 50, 4)
    assert len({point.tobytes() for point in points}) == 10
    error = ((points - Y) ** 2).mean((1, 2))
    assert (np.diff(error[:6]) < 0).all() and (np.diff(error[6:]) < 0).all()


def test_half_trained_points_are_even_in_the_loss():
    error = (((sample([8], "loss") - Y) / Y.std(0)) ** 2).mean((1, 2))
    gaps = -np.diff(error)
    assert gaps.max() < 3 * gaps.min()


def test_half_trained_asking_for_every_step_gives_every_step():
    points = sample([12], "steps", learning_rate=1.0, steps=12)
    assert len({point.tobytes() for point in points}) == 12


def test_half_trained_points_are_distinct_even_where_the_loss_stands_still():
    assert len({point.tobytes() for point in sample([20], "loss", learning_rate=1.0, steps=20)}) == 20


def test_half_trained_points_follow_from_the_seed():
    assert np.array_equal(sample([4, 4], "loss"), sample([4, 4], "loss"))
    assert not np.array_equal(sample([4, 4], "loss"), sample([4, 4], "loss", seed=1))
