import numpy as np
import pytest

from fewsolves.methods.reading import Reading
from fewsolves.methods.staged.evidence import Evidence, outlook

RNG = np.random.default_rng(0)


def test_z_counts_standard_errors_and_is_nothing_where_nothing_varies():
    change = Reading(RNG.normal(-1.0, 2.0, 400))
    assert Evidence(change, 5.0).z == pytest.approx(change.mean / change.error)
    assert Evidence(Reading(np.zeros(5)), 5.0).z == 0.0
    assert Evidence(Reading(np.array([1.0])), 5.0).z == 0.0, "one row tells nothing"
    assert Evidence(Reading(np.full(5, -1.0)), 5.0).z == -np.inf, "all rows agree"


def test_the_bound_of_the_gain_holds_in_95_of_100():
    held = [Evidence(Reading(RNG.normal(-0.5, 2.0, 60)), 5.0).gain_bound >= 0.5 / 5.0 for _ in range(400)]
    assert 0.91 < np.mean(held) < 0.985


def test_without_regret_at_the_start_there_is_nothing_to_gain():
    assert Evidence(Reading(RNG.normal(size=20)), 0.0).gain_bound == 0.0


def test_as_many_solves_again_gain_what_a_line_in_their_logarithm_says():
    change = Reading(RNG.normal(-3.0, 1e-6, 50))  # the regret fell by 3 of 30, from 2 to 16 solves: three doublings
    told = outlook(change, 2.0, 16.0, 30.0)
    assert (told["gain"], told["most"]) == pytest.approx((1 / 30, 1 / 30), rel=1e-3)
    worse = outlook(Reading(RNG.normal(1.0, 0.1, 50)), 2.0, 4.0, 30.0)
    assert worse == {"gain": 0.0, "most": 0.0}


@pytest.mark.parametrize(("before", "after", "start"), [(0.0, 2.0, 5.0), (2.0, 2.0, 5.0), (1.0, 2.0, 0.0)])
def test_where_nothing_can_be_told_of_more_solves_nothing_is(before, after, start):
    assert outlook(Reading(np.array([-1.0, -2.0])), before, after, start) is None
