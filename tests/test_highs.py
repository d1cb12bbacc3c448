import numpy as np
import pytest

import fewsolves as fs
from fewsolves.errors import InputError, SolverError

highspy = pytest.importorskip("highspy")
EARNS = (6.0, 5.0, 4.0)


def jobs():
    model = highspy.Highs()
    model.setOptionValue("output_flag", False)
    take = [model.addBinary(obj=-earns) for earns in EARNS]
    model.addConstr(sum(1.0 * z for z in take) <= 4.0)
    model.addConstr(take[0] + take[1] >= 1.0)
    return model


def cost(y, z):
    return float(-np.dot(z, EARNS))


def solved(y, **places):
    oracle = fs.Oracle(fs.problem_from_highs(jobs, cost, **places), np.array([y]))
    return oracle.labels(np.array([0]))[0].tolist()


def test_highs_predictions_go_to_their_places():
    assert solved([3.0, 2.0, 2.0], coefficients=[(0, 0), (0, 1), (0, 2)]) == [0.0, 1.0, 1.0]
    assert solved([1.0, -3.0, -2.0], objective=[0, 1, 2]) == [0.0, 1.0, 1.0]
    assert solved([1.0], right_hand_sides=[0]) == [1.0, 0.0, 0.0]
    assert solved([2.0], right_hand_sides=[1]) == [1.0, 1.0, 1.0]
    assert solved([-9.0, 4.0, 1.0], objective=[2], coefficients=[(0, 2)], right_hand_sides=[0]) == [1.0, 0.0, 0.0]


def test_highs_the_decision_may_be_some_of_the_columns():
    assert solved([1.0], right_hand_sides=[0], decision=[2, 0]) == [0.0, 1.0]


def test_highs_a_solve_leaves_nothing_behind_and_a_hint_changes_nothing():
    rng = np.random.default_rng(0)
    Y = 1.0 + rng.random((30, 3))
    problem = fs.problem_from_highs(jobs, cost, coefficients=[(0, 0), (0, 1), (0, 2)]).build()
    alone = [fs.problem_from_highs(jobs, cost, coefficients=[(0, 0), (0, 1), (0, 2)]).build().solve(y) for y in Y]
    hint = None
    for y, expected in zip(Y, alone, strict=True):
        assert np.array_equal(problem.solve(y), expected)
        assert np.array_equal(problem.solve(y, hint=hint), expected)
        hint = expected


def test_highs_a_model_is_read_from_a_file(tmp_path):
    path = tmp_path / "jobs.mps"
    jobs().writeModel(str(path))
    problem = fs.problem_from_highs(path, cost, right_hand_sides=[0])
    assert fs.Oracle(problem, np.array([[1.0]])).labels(np.array([0]))[0].tolist() == [1.0, 0.0, 0.0]
    with pytest.raises(InputError, match="no model file"):
        fs.problem_from_highs(tmp_path / "other.mps", cost, right_hand_sides=[0])
    path.write_text("this is no model")
    with pytest.raises(InputError, match="cannot read"):
        problem.build()


def test_highs_says_what_is_wrong_with_its_arguments():
    with pytest.raises(InputError, match="say what is predicted"):
        fs.problem_from_highs(jobs, cost)
    with pytest.raises(InputError, match="a function, got int"):
        fs.problem_from_highs(3, cost, objective=[0])
    with pytest.raises(InputError, match="no column 7"):
        fs.problem_from_highs(jobs, cost, objective=[7]).build()
    with pytest.raises(InputError, match="no row 2"):
        fs.problem_from_highs(jobs, cost, coefficients=[(2, 0)]).build()
    with pytest.raises(InputError, match=r"must return a highspy\.Highs, got int"):
        fs.problem_from_highs(lambda: 3, cost, objective=[0]).build()

    def two_sided():
        model = jobs()
        model.changeRowBounds(0, 1.0, 3.0)
        return model

    with pytest.raises(InputError, match="row 0 of the HiGHS model has two"):
        fs.problem_from_highs(two_sided, cost, right_hand_sides=[0]).build()
    with pytest.raises(SolverError, match="3 coefficients of the HiGHS model are predicted, y has 2"):
        solved([1.0, 2.0], objective=[0, 1, 2])


def test_highs_a_prediction_without_a_feasible_decision_is_infeasible():
    with pytest.raises(SolverError, match="HiGHS ended with 'Infeasible'"):
        solved([3.0], right_hand_sides=[1])


def test_highs_runs_in_worker_processes():
    problem = fs.problem_from_highs(jobs, cost, right_hand_sides=[0])
    oracle = fs.Oracle(problem, np.array([[1.0], [2.0], [9.0]]), solving=fs.SolveConfig(workers=2))
    try:
        assert [z.sum() for z in oracle.labels(np.arange(3))] == [1.0, 2.0, 3.0]
    finally:
        oracle.close()
