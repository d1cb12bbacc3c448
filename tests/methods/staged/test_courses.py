from types import SimpleNamespace

import pytest

from fewsolves.methods.staged.courses import GROWTH, planned

SCENE = SimpleNamespace(n=100, d=4)


class Known:
    scene = SCENE

    def __len__(self):
        return 100


def courses(kind, solves, *, first):
    return planned(SimpleNamespace(kind=kind), Known(), SCENE, solves, first=first, linear=True)


def test_a_first_stage_teaches_the_processes_and_goes_on_with_pairs_where_solves_are_left():
    learning, pairs = courses("gp", GROWTH + 5, first=True)
    assert (learning.pay, learning.solves) == ("points", GROWTH)
    assert (pairs.pay, pairs.solves, pairs.fit_coefficient) == ("pairs", 5, True)
    assert [course.pay for course in courses("gp", 1.7, first=True)] == ["points"]


def test_processes_that_were_taught_learn_no_more_and_the_next_stage_is_all_pairs():
    (pairs,) = courses("gp", 2.3, first=False)
    assert (pairs.pay, pairs.solves, pairs.fit_coefficient, pairs.grow) == ("pairs", 2.3, True, False)


@pytest.mark.parametrize("first", [True, False])
def test_the_softmax_is_never_followed_by_pairs(first):
    assert [course.pay for course in courses("softmax", 40.0, first=first)] == ["points"]


def test_without_a_stand_in_there_are_pairs():
    (pairs,) = planned(None, None, SCENE, 6.0, first=True, linear=True)
    assert (pairs.pay, pairs.solves, pairs.fit_coefficient) == ("pairs", 6.0, False)
