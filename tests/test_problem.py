import numpy as np
import pytest

import fewsolves as fs
from fewsolves.errors import InputError

pytestmark = pytest.mark.portable


def test_problem_two_callables_are_enough():
    problem = fs.Problem(solve=lambda y: y, cost=lambda y, z: 0.0)
    assert problem.instances is None


@pytest.mark.parametrize("given", [{}, {"solve": lambda y: y}, {"cost": lambda y, z: 0.0}])
def test_problem_a_missing_callable_is_named(given):
    missing = "solve" if "solve" not in given else "cost"
    with pytest.raises(InputError, match=f"`{missing}=`"):
        fs.Problem(**given)


def test_problem_what_is_not_callable_is_refused():
    with pytest.raises(InputError, match=r"must be a function, got int"):
        fs.Problem(solve=3, cost=lambda y, z: 0.0)


def test_problem_what_is_random_is_said_for_each_function():
    functions = {"solve": lambda y: y, "cost": lambda y, z: 0.0}
    for noisy, solve, cost in ((None, False, False), ("solve", True, False), ("cost", False, True), ("both", 1, 1)):
        problem = fs.Problem(**functions, noisy=noisy)
        assert (problem.noisy_solve, problem.noisy_cost, problem.deterministic) == (solve, cost, noisy is None)
    with pytest.warns(DeprecationWarning, match="noisy='both'"):
        assert fs.Problem(**functions, deterministic=False).noisy == "both"
    with pytest.warns(DeprecationWarning, match="objective"):
        assert fs.Problem(**functions, objective=lambda y, z: 0.0).objective is None
    with pytest.raises(InputError, match="'solve', 'cost', 'both' or None, got 'yes'"):
        fs.Problem(**functions, noisy="yes")


def test_problem_a_cost_that_needs_a_seed_is_a_noisy_one():
    def cost(y, z, seed):
        return 0.0

    with pytest.raises(InputError, match=r"declare noisy='cost'"):
        fs.Problem(solve=lambda y: y, cost=cost)
    assert fs.Problem(solve=lambda y: y, cost=cost, noisy="cost").takes_seed
    assert not fs.Problem(solve=lambda y: y, cost=lambda y, z, seed=0: 0.0).takes_seed
    assert not fs.Problem(solve=lambda y: y, cost=max, noisy="cost").takes_seed, "a built-in has no signature"


def test_problem_linear_takes_two_words():
    with pytest.raises(InputError, match="'min', 'max' or None"):
        fs.Problem(solve=lambda y: y, cost=lambda y, z: 0.0, linear="maximise")


@pytest.mark.parametrize(
    ("bounds", "says"),
    [
        ({"lower": 1.0, "upper": 1.0}, "leaves no room"),
        ({"lower": [0.0, 5.0], "upper": 4.0}, "leaves no room"),
        ({"lower": "zero"}, r"Problem\(lower=\) is a number, or one for each parameter, got 'zero'"),
        ({"upper": [[1.0]]}, r"Problem\(upper=\) is a number"),
        ({"upper": float("nan")}, r"Problem\(upper=\) is a number"),
    ],
)
def test_problem_bounds_are_checked(bounds, says):
    with pytest.raises(InputError, match=says):
        fs.Problem(solve=lambda y: y, cost=lambda y, z: 0.0, **bounds)


def test_problem_a_truth_beyond_the_bounds_is_named():
    problem = fs.Problem(solve=lambda y: y, cost=lambda y, z: 0.0, lower=[0.0, -np.inf], upper=9.0)
    problem.check_bounds(np.array([[0.0, -5.0], [9.0, 9.0]]))
    with pytest.raises(InputError, match=r"Y has -1 at row 1, column 0, beyond the bounds 0 to 9"):
        problem.check_bounds(np.array([[0.0, -5.0], [-1.0, 9.0]]))
    with pytest.raises(InputError, match=r"lower=\) has 2 entries, Y has 3 columns"):
        problem.check_bounds(np.zeros((4, 3)))
