import numpy as np
import pytest

from fewsolves.methods.reading import Reading
from fewsolves.methods.staged.evidence import Evidence

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
