import numpy as np
import pytest

from fewsolves_studies.real.bootstrap import interval


def test_bootstrap_of_independent_days_it_is_that_of_the_mean():
    values = np.random.default_rng(0).normal(3.0, 2.0, 400)
    found = interval(values)
    assert found.mean == pytest.approx(values.mean())
    assert found.high - found.low == pytest.approx(2 * 1.96 * values.std() / 20.0, rel=0.15)


def test_bootstrap_days_that_resemble_their_neighbours_widen_it():
    values = np.repeat(np.random.default_rng(0).normal(size=60), 7)
    alone, weeks = interval(values, block=1), interval(values)
    assert weeks.high - weeks.low > 1.8 * (alone.high - alone.low)


def test_bootstrap_a_constant_has_none_and_the_same_days_give_the_same():
    assert interval(np.full(5, 2.0)) == pytest.approx((2.0, 2.0, 2.0))
    values = np.arange(30.0)
    assert interval(values) == interval(values)
