from types import SimpleNamespace

import numpy as np
import pytest
from torch import nn

from fewsolves.methods.staged.courses import GROWTH, planned
from fewsolves.predictors.correction import Correction
from fewsolves.predictors.predictor import DEEP_RATE, Predictor

SCENE = SimpleNamespace(n=100, d=4)


class Known:
    scene = SCENE

    def __len__(self):
        return 100


def _rate(net):
    return Predictor(net).rate


def courses(kind, solves, *, first):
    return planned(SimpleNamespace(kind=kind), Known(), SCENE, solves, first=first, pace=1.0)


def test_a_first_stage_teaches_the_processes_and_goes_on_with_pairs_where_solves_are_left():
    learning, pairs = courses("gp", GROWTH + 5, first=True)
    assert (learning.pay, learning.solves) == ("points", GROWTH)
    assert (pairs.pay, pairs.solves, pairs.fit_coefficient) == ("pairs", 5, True)
    assert [course.pay for course in courses("gp", 1.7, first=True)] == ["points"]


def test_processes_that_were_taught_learn_no_more_and_the_next_stage_is_all_pairs():
    (pairs,) = courses("gp", 2.3, first=False)
    assert (pairs.pay, pairs.solves, pairs.fit_coefficient, pairs.grow) == ("pairs", 2.3, True, False)


@pytest.mark.parametrize("first", [True, False])
def test_spo_plus_is_never_followed_by_pairs(first):
    assert [course.pay for course in courses("spo+", 40.0, first=first)] == ["points"]


def test_without_a_stand_in_there_are_pairs():
    (pairs,) = planned(None, None, SCENE, 6.0, first=True, pace=1.0)
    assert (pairs.pay, pairs.solves, pairs.fit_coefficient) == ("pairs", 6.0, False)


def test_the_rate_falls_with_the_features_so_that_a_step_changes_predictions_as_much():
    few, many = nn.Linear(5, 3), nn.Linear(128, 3)
    assert _rate(few) == _rate(nn.Linear(8, 3)) == 1.0
    assert _rate(many) == pytest.approx(0.25)
    assert _rate(nn.Sequential(many, nn.SiLU(), nn.Linear(64, 3))) == pytest.approx(0.25 * DEEP_RATE)
    assert _rate(Correction(128, np.ones(3))) == DEEP_RATE, "a shift and a scale do not grow with the context"
    rates = [planned(None, None, SCENE, 6.0, first=True, pace=_rate(net))[0].rate for net in (few, many)]
    assert rates[1] == pytest.approx(rates[0] / 4)
