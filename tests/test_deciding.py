"""Decisions after training where some rows have no plan."""

import numpy as np
import pytest

import fewsolves as fs
from fewsolves.deciding import decide_at
from fewsolves.oracle import SolveConfig
from problems_of_users import QUICK, demand_table, shortage_cost

pytestmark = pytest.mark.portable
X, Y = demand_table(40, 2)
POINTS = np.array([[1.0, 2.0], [99.0, 2.0], [3.0, 4.0]])


def order_up_to_sixty(y_hat):
    if y_hat.max() > 60:
        raise fs.Infeasible("no truck carries this")
    return y_hat


def all_or_none(y_hat):
    return [order_up_to_sixty(one) for one in y_hat]


LIMITED = fs.Problem(solve=order_up_to_sixty, cost=shortage_cost)
BY_BATCH = fs.Problem(solve_batch=all_or_none, cost=shortage_cost)
ENCODED = fs.Problem(solve=order_up_to_sixty, cost=shortage_cost, encode=np.asarray)
ENCODED_BATCH = fs.Problem(solve_batch=all_or_none, cost=shortage_cost, encode=np.asarray)


@pytest.mark.parametrize("problem", [LIMITED, BY_BATCH, ENCODED, ENCODED_BATCH])
def test_deciding_none_leaves_the_other_rows_their_plans(problem):
    first, second, third = decide_at(problem, POINTS, SolveConfig(), "none")
    assert first.tolist() == [1.0, 2.0] and second is None and third.tolist() == [3.0, 4.0]


@pytest.mark.parametrize("problem", [LIMITED, ENCODED])
def test_deciding_a_function_gets_the_error_and_its_decision_is_used(problem):
    seen = []

    def half(error):
        seen.append(error)
        return error.y_hat / 2

    decisions = decide_at(problem, POINTS, SolveConfig(), half)
    assert decisions.tolist() == [[1.0, 2.0], [49.5, 1.0], [3.0, 4.0]]
    assert [error.row for error in seen] == [1] and "no truck" in str(seen[0])


@pytest.mark.parametrize("problem", [LIMITED, BY_BATCH, ENCODED, ENCODED_BATCH])
def test_deciding_raises_by_default_with_the_row(problem):
    with pytest.raises(fs.SolverError, match="no truck") as caught:
        decide_at(problem, POINTS, SolveConfig(), "raise")
    assert caught.value.row == 1


def test_deciding_most_rows_may_be_without_a_plan():
    points = np.concatenate([np.full((20, 2), 99.0), [[1.0, 2.0]]])
    decisions = decide_at(LIMITED, points, SolveConfig(), "none")
    assert decisions[:20] == [None] * 20 and decisions[20].tolist() == [1.0, 2.0]


def test_deciding_the_error_has_the_known_data_of_its_row():
    problem = fs.Problem(
        solve=lambda y_hat, most: order_up_to_sixty(y_hat), cost=lambda y, z, most: 0.0, instances=["a", "b", "c"]
    )
    found = []
    decide_at(problem, POINTS, SolveConfig(), lambda error: found.append(error.arguments[1]))
    assert found == ["b"]


def test_decide_of_a_model_takes_the_policy():
    model = fs.DecisionRegressor(LIMITED, "sfge", predictor="linear", settings=QUICK, verbose=False).fit(X, Y)
    far = np.concatenate([X[:2], 1e6 * X[2:3], -1e6 * X[2:3]])
    with pytest.raises(fs.SolverError):
        model.decide(far)
    decisions = model.decide(far, on_failure="none")
    assert decisions[0].shape == (2,) and sum(z is None for z in decisions) >= 1
    assert model.decide(far, on_failure=lambda error: np.zeros(2)).shape == (4, 2)
    with pytest.raises(fs.InputError, match="is 'raise', 'none' or a function of the error, got 'skip'"):
        model.decide(X, on_failure="skip")
