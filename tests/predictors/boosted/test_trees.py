"""Rounds of boosting that are grown from the slopes of a method."""

import numpy as np
import pytest

from fewsolves.predictors.boosted.trees import LIBRARIES, Rounds, interpolate_states, rounds_of
from fewsolves.predictors.correction import corrected
from fewsolves.predictors.predictor import Predictor, linear

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 3))
Y = np.column_stack([np.where(X[:, 0] > 0, 4.0, 1.0), X[:, 1]])
INPUTS = np.hstack([X, np.zeros_like(Y)])  # forecasts of nothing
ROWS = np.arange(200)


def grown(library, rounds=30, step=0.1):
    """Rounds from the slopes of the squared error."""
    predictor = corrected(INPUTS, Y, seed=0, library=library)
    predictor.net.shift += 0.5
    growing = Rounds(predictor, INPUTS)
    for _ in range(rounds):
        growing.note(ROWS, predictor(INPUTS) - Y)
        growing.grow(step)
    return predictor


@pytest.mark.parametrize("library", LIBRARIES)
def test_trees_rounds_go_down_the_slope(library):
    predictor = grown(library)
    error = predictor(INPUTS) - Y
    assert (np.abs(error).mean(axis=0) < 0.4 * Y.std(axis=0)).all()
    assert len(predictor.net.leaf) == 30


@pytest.mark.parametrize("library", LIBRARIES)
def test_trees_a_round_is_one_step_long_whatever_the_unit_of_the_slopes(library):
    predictor = corrected(INPUTS, Y, seed=0, library=library)
    for unit in (1e-9, 1e9):
        growing, before = Rounds(predictor, INPUTS), predictor(INPUTS)
        growing.note(ROWS, unit * -Y)
        growing.grow(0.1)
        change = (predictor(INPUTS) - before) / predictor.y_std
        assert float(np.sqrt(np.square(change).mean())) == pytest.approx(0.1)


def test_trees_without_slopes_there_is_no_round():
    predictor = corrected(INPUTS, Y, seed=0, library="xgboost")
    growing = Rounds(predictor, INPUTS)
    growing.grow(0.1)
    growing.note(ROWS[:3], np.full((3, 2), np.nan))
    growing.grow(0.1)
    assert len(predictor.net.leaf) == 0


def test_trees_a_state_with_fewer_or_more_rounds_can_be_put_back():
    predictor = grown("lightgbm", rounds=2)
    few = {name: values.copy() for name, values in predictor.state_dict().items()}
    more = grown("lightgbm", rounds=5)
    said = more(INPUTS)
    predictor.load_state_dict(more.state_dict())
    assert np.array_equal(predictor(INPUTS), said)
    predictor.load_state_dict(few)
    assert len(predictor.net.leaf) == 2


def test_trees_half_of_the_way_new_rounds_count_by_half():
    before, after = grown("xgboost", rounds=2), grown("xgboost", rounds=5)
    middle = corrected(INPUTS, Y, seed=0, library="xgboost")
    middle.load_state_dict(interpolate_states(before.state_dict(), after.state_dict(), 0.5))
    said = [one(INPUTS) for one in (before, middle, after)]
    assert said[1] == pytest.approx((said[0] + said[2]) / 2)


def test_trees_other_predictors_do_not_grow():
    assert rounds_of(Predictor(linear(3, 2, seed=0)), X) is None
