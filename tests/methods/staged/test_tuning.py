"""The constants of the default, and what is left of them where cost calls are few."""

from hypothesis import given
from hypothesis import strategies as st

from fewsolves.methods.staged.tuning import Tuning

TUNING = Tuning()


@given(d=st.integers(1, 1000))
def test_tuning_draws_are_no_wider_than_the_widest_and_keep_their_length(d):
    width = TUNING.width(d)
    assert 0 < width <= TUNING.widest
    assert width * d**0.5 <= 1.0 + 1e-9 or width == TUNING.widest


@given(calls=st.floats(0, 1e9), visits=st.floats(1, 1000), n=st.integers(1, 5000))
def test_tuning_fewer_cost_calls_never_mean_more_probes(calls, visits, n):
    some, more = (TUNING.affordable(factor * calls, visits, n) for factor in (1, 2))
    for name in ("near", "best", "directions"):
        assert 1 <= getattr(some, name) <= getattr(more, name) <= getattr(TUNING, name)


def test_tuning_many_cost_calls_leave_everything_as_it_is():
    assert TUNING.affordable(1e12, 50, 300) is TUNING
