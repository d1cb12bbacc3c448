import itertools

import numpy as np
import pytest

import fewsolves as fs
from fewsolves.data import Split
from fewsolves.errors import InputError, SolverError
from fewsolves.oracle import Oracle, SolveConfig
from fewsolves.oracle.probe import leave_out, probe, same_cost
from problems_of_users import CHEAPEST, NEWSVENDOR, demand_table, order, pick, price, shortage_cost

pytestmark = pytest.mark.portable

_, Y = demand_table(40)
SPLIT = Split(train=np.arange(30), valid=np.arange(30, 40), test=np.arange(0))


@pytest.mark.parametrize("problem", [NEWSVENDOR, CHEAPEST])
def test_probe_of_a_sound_problem_pays_for_two_labels_and_one_solve_more(problem):
    oracle = Oracle(problem, Y)
    probe(oracle)
    assert oracle.calls.by_phase("solve") | {"labels": 2, "probe": 1} == oracle.calls.by_phase("solve")
    assert oracle.calls.total() == 3


def test_probe_of_one_row_pays_for_one_label():
    oracle = Oracle(NEWSVENDOR, Y[:1])
    probe(oracle)
    assert oracle.calls.total() == 2


@pytest.mark.parametrize("noisy", ["solve", "cost"])
def test_probe_names_the_function_that_gives_another_answer_to_the_same_question(noisy):
    count = itertools.count()

    def solve(y_hat):
        return y_hat + (next(count) if noisy == "solve" else 0)

    def cost(y, z):
        return shortage_cost(y, z) + (next(count) if noisy == "cost" else 0)

    with pytest.raises(SolverError, match=f"`{noisy}` returned different results.*noisy='{noisy}'"):
        probe(Oracle(fs.Problem(solve=solve, cost=cost), Y))
    count = itertools.count()
    probe(Oracle(fs.Problem(solve=solve, cost=cost, noisy=noisy), Y))  # it is said, so it is no fault


def test_probe_refuses_a_linear_problem_that_is_not_linear():
    with pytest.raises(InputError, match=r"linear='min'.* leave `linear` out"):
        probe(Oracle(fs.Problem(solve=pick, cost=lambda y, z: price(y, z) + 1, linear="min"), Y))
    with pytest.raises(InputError, match=r"length n_y = 3, got shape \(2,\)"):
        probe(Oracle(fs.Problem(solve=lambda y: y[:2], cost=lambda y, z: 1.0, linear="max"), Y))


@pytest.mark.parametrize(("a", "b", "same"), [(0, 0, True), (1e9, 1e9 + 1, True), (1.0, 1.1, False), (0, 1e-9, True)])
def test_probe_two_costs_are_the_same_up_to_what_a_solver_can_do(a, b, same):
    assert same_cost(a, b) == same


def fails_at(*rows):
    def solve(y_hat):
        if any(np.array_equal(y_hat, Y[row]) for row in rows):
            raise ValueError("infeasible")
        return order(y_hat)

    return Oracle(fs.Problem(solve=solve, cost=shortage_cost), Y, solving=SolveConfig(on_failure="skip"))


def test_probe_rows_without_a_label_are_left_out_and_listed():
    left, warnings = leave_out(fails_at(31), SPLIT, train=True, costs=True)
    assert left.train.tolist() == list(range(30))
    assert 31 not in left.valid
    assert len(left.valid) == 9
    assert "1 of 40 rows (31)" in warnings[0]
    assert "infeasible" in warnings[0]


def test_probe_training_rows_are_looked_at_where_their_labels_are_needed():
    oracle = fails_at(3)
    assert leave_out(oracle, SPLIT, train=False, costs=False) == (SPLIT, [])
    assert oracle.calls.total() == 10
    left, _ = leave_out(oracle, SPLIT, train=True, costs=False)
    assert 3 not in left.train


def test_probe_too_many_rows_without_a_label_end_the_run():
    with pytest.raises(SolverError, match=r"a run stops where 5%"):
        leave_out(fails_at(31, 32), SPLIT, train=True, costs=True)


def test_probe_leaves_failures_that_raise_to_who_asks():
    oracle = Oracle(NEWSVENDOR, Y)
    assert leave_out(oracle, SPLIT, train=True, costs=True) == (SPLIT, [])
    assert oracle.calls.total() == 0
