import math

import numpy as np
import pytest

from fewsolves.oracle.calls import Calls

pytestmark = pytest.mark.portable


def test_calls_are_counted_by_kind_and_phase_and_the_test_is_no_part_of_the_total():
    calls = Calls()
    for phase, number in (("labels", 1), ("pre-training", 2), ("online", 4), ("validation", 8), ("test", 16)):
        calls.add("solve", phase, number, 0.5)
    assert calls.training() == 6, "the paper's count: what training asked for"
    assert calls.total() == 15
    assert calls.total("cost") == 0
    assert calls.by_phase("solve")["test"] == 16
    assert calls.seconds == calls.seconds_in["solve"] == 2.5


def test_calls_by_phase_are_a_copy():
    calls = Calls()
    calls.by_phase("solve")["online"] = 9
    assert calls.total() == 0


def test_calls_of_one_run_are_not_those_of_another():
    one = Calls()
    one.add("cost", "online", 3, 0.1)
    assert Calls().total("cost") == 0


def test_calls_that_are_recalled_count_as_paid_with_their_seconds_where_they_are_the_runs_own():
    calls = Calls()
    calls.recall("solve", "online", 2.0, own=True, attempts=3)
    calls.recall("solve", "online", 2.0, own=False)
    calls.recall("solve", "test", 2.0, own=False)
    assert calls.total() == 4
    assert calls.seconds == 2.0
    assert (calls.replayed["solve"], calls.shared["solve"]) == (1, 1)


def test_calls_mean_seconds_of_none_are_zero():
    calls = Calls()
    assert calls.mean_seconds("solve") == 0.0
    calls.add("solve", "online", 4, 2.0)
    assert calls.mean_seconds("solve") == 0.5


def test_calls_keep_the_range_of_regrets_and_failures_have_no_part_in_it():
    calls = Calls()
    calls.saw(np.array([]), np.array([]))
    assert (calls.lowest, calls.highest) == (math.inf, -math.inf)
    assert not calls.flat, "nothing was seen"
    calls.saw(np.array([1.0, np.nan]), np.array([-10.0, np.nan]))
    assert (calls.lowest, calls.highest, calls.dearest) == (1.0, 1.0, 10.0)
    assert calls.flat
    calls.saw(np.array([1.0 + 1e-15]), np.array([10.0]))
    assert calls.flat, "up to rounding"
    calls.saw(np.array([1.1]), np.array([10.0]))
    assert not calls.flat


def test_calls_print_what_was_paid_and_by_whom():
    calls = Calls()
    calls.add("solve", "labels", 1200, 1.5)
    calls.recall("solve", "online", 0.0, own=False)
    assert str(calls) == (
        "1,201 solves (1,200 labels, 1 online; 1 of them were paid by other runs), 0 cost calls (none), "
        "1.5 s in your functions"
    )
