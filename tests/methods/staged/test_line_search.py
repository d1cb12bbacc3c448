import numpy as np

from fewsolves.methods.staged.line_search import POINTS, REACH, line_search

ROWS = np.random.default_rng(0).normal(size=200)


def search(regret):
    asked = []

    def paid(s):
        asked.append(s)
        return regret(s)

    return line_search(paid).s, asked


def test_it_finds_the_vertex_of_a_parabola():
    step, asked = search(lambda s: 10 + (s - 0.2) ** 2 + 0 * ROWS)
    assert abs(step - 0.2) < 1e-6
    assert asked == [-0.25, 0.0, 0.25, 0.5]


def test_it_goes_on_while_the_least_is_at_an_edge_and_stops_at_its_reach():
    step, asked = search(lambda s: -s + 0.01 * s * ROWS)
    assert step == REACH
    assert len(asked) <= POINTS


def test_it_stays_where_nothing_is_better():
    assert search(lambda s: s**2 + 0 * ROWS)[0] == 0.0


def test_it_takes_half_a_step_where_the_rows_disagree():
    noise = {0.25: ROWS, -0.25: -ROWS, 0.5: 9 + ROWS, -0.5: 9 + ROWS, 0.0: 0 * ROWS}
    sign = 1.0 if ROWS.mean() < 0 else -1.0
    step, _ = search(lambda s: noise[s])
    assert 0 < sign * step <= 0.25


def test_rows_that_failed_have_no_part_in_it():
    regret = lambda s: np.r_[(s - 0.5) ** 2 + 0.01 * s * ROWS, np.nan]  # noqa: E731
    assert 0.3 < search(regret)[0] < 0.7


def test_the_bound_of_the_gain_is_that_of_the_best_that_was_tried():
    clear = line_search(lambda s: 10 + s + 0.001 * s * ROWS)
    assert 0.02 < clear.gain_bound < 0.11
    assert line_search(lambda s: 10 + 5 * abs(s) + 0.001 * s * ROWS).gain_bound == 0.0
