from __future__ import annotations

import time

import numpy as np
import pytest

from fewsolves_studies.paper.memoised import Clock, Memoised


def points(start, n=10):
    return np.arange(start, start + n, dtype=float)[:, None]


def test_memoised_a_repeated_request_is_charged_again_but_not_solved_again():
    solved = []
    solver = Memoised(lambda y: (solved.append(len(y)), 2 * y)[1], delay=0.5)
    first, second = solver(points(0)), solver(points(0))
    np.testing.assert_array_equal(first, second)
    assert solved == [10]
    assert solver.charged == 2 * 10 * 0.5
    assert solver(points(1))[0] == 2.0
    assert solved == [10, 10]


def test_memoised_all_arguments_make_the_question():
    cost = Memoised(lambda y, z: (y - z)[:, 0])
    assert cost(points(0), points(0))[0] == 0.0
    assert cost(points(0), points(1))[0] == -1.0


def test_memoised_the_least_recently_used_answer_is_dropped():
    solved = []
    solver = Memoised(lambda y: (solved.append(y[0, 0]), y.copy())[1], room=3 * points(0).nbytes)
    for start in (0, 100, 200, 0, 300, 0, 100):
        solver(points(start))
    assert solved == [0, 100, 200, 300, 100]


def test_memoised_the_clock_counts_work_and_delays_but_not_waiting():
    solver = Memoised(lambda y: y, delay=0.1)
    clock = Clock(solver)
    time.sleep(0.3)
    solver(points(0))
    solver(points(0))
    assert clock.inside == pytest.approx(2.0)
    assert 2.0 <= clock.total < 2.25, "the sleep is somebody else's"
