import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fewsolves as fs
from fewsolves.errors import InputError, SolverError
from fewsolves.oracle import Oracle
from fewsolves.oracle.probe import probe
from problems_of_users import CHEAPEST, NEWSVENDOR, demand_table

_, Y = demand_table(20)
ALL = np.arange(20)


def test_view_regret_is_what_its_name_says():
    oracle = Oracle(NEWSVENDOR, Y)
    y_hat = Y - 1.0
    expected = [NEWSVENDOR.cost(y, y - 1) - NEWSVENDOR.cost(y, y) for y in Y]
    assert np.allclose(oracle.regret(ALL, y_hat, phase="online"), expected)
    assert np.allclose(oracle.regret(ALL, Y, phase="online"), 0)


def test_view_calls_are_counted_by_phase_and_labels_are_paid_once():
    oracle = Oracle(NEWSVENDOR, Y)
    oracle.regret(ALL, Y + 1, phase="pre-training")
    oracle.regret(ALL[:5], Y[:5] + 2, phase="online")
    oracle.part(ALL[10:]).regret(ALL[:10], Y[10:] + 3, phase="validation")
    solves = oracle.calls.counts["solve"]
    assert (solves["labels"], solves["pre-training"], solves["online"], solves["validation"]) == (20, 20, 5, 10)
    assert oracle.calls.training() == 25
    assert oracle.calls.total() == 55
    assert oracle.calls.seconds > 0


def test_view_test_labels_are_no_cost_of_training():
    oracle = Oracle(NEWSVENDOR, Y)
    oracle.regret(ALL, Y + 1, phase="test")
    assert oracle.calls.total() == 0


def test_view_one_solve_serves_all_examples_that_share_the_problem():
    oracle = Oracle(CHEAPEST, Y)
    same = np.tile(Y[0], (20, 1))
    oracle.solve(ALL, same, phase="online")
    assert oracle.calls.counts["solve"]["online"] == 1
    own = Oracle(fs.Problem(solve=lambda y, k: y, cost=lambda y, z, k: 0.0, instances=list(ALL)), Y)
    own.solve(ALL, same, phase="online")
    assert own.calls.counts["solve"]["online"] == 20


def test_view_a_minus_zero_is_a_zero():
    oracle = Oracle(CHEAPEST, Y)
    oracle.solve(ALL[:2], np.array([[0.0, 1, 2], [-0.0, 1, 2]]), phase="online")
    assert oracle.calls.counts["solve"]["online"] == 1


def test_view_a_solver_that_is_not_deterministic_is_always_called():
    noisy = fs.Problem(solve=lambda y: y, cost=lambda y, z: 0.0, noisy="both")
    oracle = Oracle(noisy, Y)
    for _ in range(3):
        oracle.regret(ALL, Y, phase="online")
    assert oracle.calls.counts["solve"] | {"labels": 20, "online": 60} == oracle.calls.counts["solve"]


def test_view_a_prediction_that_is_not_finite_is_named():
    y_hat = Y.copy()
    y_hat[7, 1] = np.nan
    with pytest.raises(InputError, match="row 7 is not finite"):
        Oracle(NEWSVENDOR, Y).regret(ALL, y_hat, phase="online")


def test_view_instances_must_be_as_many_as_rows():
    with pytest.raises(InputError, match="instances has 3 entries, Y has 20 rows"):
        Oracle(NEWSVENDOR.with_instances([1, 2, 3]), Y)


@given(st.lists(st.integers(0, 19), min_size=1, max_size=40), st.integers(0, 3))
def test_view_answers_do_not_depend_on_order_repetition_or_memory(index, seed):
    index = np.array(index)
    y_hat = Y[index] + np.random.default_rng(seed).integers(0, 2, size=(len(index), 3))
    oracle = Oracle(CHEAPEST, Y)
    alone = [Oracle(CHEAPEST, Y).regret(index[[k]], y_hat[[k]], phase="online")[0] for k in range(len(index))]
    assert np.allclose(oracle.regret(index, y_hat, phase="online"), alone)
    assert np.allclose(oracle.regret(index[::-1], y_hat[::-1], phase="online"), alone[::-1])


def test_view_the_probe_accepts_a_good_problem_and_costs_three_solves():
    oracle = Oracle(CHEAPEST, Y)
    probe(oracle)
    assert oracle.calls.counts["solve"] | {"probe": 1, "labels": 2} == oracle.calls.counts["solve"]


def test_view_the_probe_finds_a_solver_that_does_not_repeat():
    rng = np.random.default_rng(0)
    restless = fs.Problem(solve=lambda y: y + rng.normal(size=3), cost=lambda y, z: float(z.sum()))
    with pytest.raises(SolverError, match=r"regret at the truth is .*, not 0.*row 0.*Problem\(noisy='solve'\)"):
        probe(Oracle(restless, Y))
    probe(Oracle(fs.Problem(solve=restless.solve, cost=restless.cost, noisy="solve"), Y))
    with pytest.warns(DeprecationWarning, match="noisy='both'"):
        former = fs.Problem(solve=restless.solve, cost=restless.cost, deterministic=False)
    probe(Oracle(former, Y))


def test_view_the_probe_tells_a_noisy_cost_from_a_noisy_solver():
    rng = np.random.default_rng(0)
    with pytest.raises(SolverError, match=r"`cost` returned different results.*Problem\(noisy='cost'\)"):
        probe(Oracle(fs.Problem(solve=lambda y: y, cost=lambda y, z: rng.normal()), Y))


def test_view_the_probe_finds_a_linear_problem_that_is_not():
    with pytest.raises(InputError, match="leave `linear` out"):
        probe(Oracle(fs.Problem(solve=CHEAPEST.solve, cost=CHEAPEST.cost, linear="max"), Y))
    with pytest.raises(InputError, match="decisions of length n_y = 3"):
        probe(Oracle(fs.Problem(solve=lambda y: y[:2], cost=lambda y, z: 0.0, linear="min"), Y))


def test_view_infeasible_decisions_of_other_rows_have_no_cost():
    """`Problem.feasible` is asked with the known data of the row, and what it rejects costs no call."""
    checked, priced = [], []

    def feasible(z, limit):
        checked.append(limit)
        return bool(z.sum() <= limit)

    def cost(y, z, limit):
        priced.append(limit)
        return float(np.abs(y - z).sum())

    problem = fs.Problem(lambda y, limit: np.minimum(y, limit), cost, instances=[1.0, 9.0], feasible=feasible)
    oracle = Oracle(problem, np.array([[0.5], [4.0]]))
    costs = oracle.cost_at(np.array([0, 1, 1]), np.full((3, 1), 4.0), np.array([[4.0], [4.0], [3.0]]))
    assert np.array_equal(costs, [np.nan, 0.0, 1.0], equal_nan=True)
    assert checked == [1.0, 9.0, 9.0]
    assert priced == [9.0, 9.0]


@pytest.mark.parametrize(
    ("feasible", "says"), [(3, "must be a function"), (lambda z, limit: 1 / 0, "failed for row 0: ZeroDivisionError")]
)
def test_view_a_wrong_feasible_is_an_input_error(feasible, says):
    with pytest.raises(InputError, match=says):
        problem = fs.Problem(lambda y, k: y, lambda y, z, k: 0.0, instances=[1.0], feasible=feasible)
        Oracle(problem, np.ones((1, 1))).cost_at(np.zeros(1, dtype=int), np.ones((1, 1)), np.ones((1, 1)))
