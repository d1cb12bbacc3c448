"""What is said about X and Y where the first solves of a table have failed."""

import numpy as np
import pytest

import fewsolves as fs
from fewsolves.oracle.swapped import swap_hint, with_swap_hint

X, Y = np.ones((6, 3)), np.ones((6, 2))


def problem_of(columns):
    def solve(y_hat):
        if len(y_hat) != columns:
            raise ValueError("shapes")
        return y_hat

    return fs.Problem(solve, lambda y, z: float(np.abs(y - z).sum()))


def test_swapped_tables_are_recognised_by_a_solve_at_a_row_of_x():
    said = "X and Y are swapped: `solve` fails at a row of Y, and answers the first row of X (X is (6, 3), Y is (6, 2))"
    assert swap_hint(problem_of(3), X, Y) == said


def test_swapped_tables_are_a_question_where_neither_row_is_answered():
    assert swap_hint(problem_of(7), X, Y).endswith("If it expects 3, X and Y are swapped")
    assert swap_hint(problem_of(7), np.full((6, 3), np.nan), Y).startswith("`solve` got 2 numbers, one for each column")
    assert swap_hint(problem_of(7), X, Y[:, :1]).startswith("`solve` got one number, since Y has one column")


def test_swapped_tables_of_one_width_are_not_guessed_at():
    error = fs.SolverError("failed", row=4, kind="solve", arguments=(Y[0],))
    assert swap_hint(problem_of(2), X[:, :2], Y) == ""
    assert with_swap_hint(error, problem_of(2), X[:, :2], Y) is error


def test_swapped_hint_keeps_the_facts_of_the_error():
    error = fs.SolverError("failed", row=4, kind="solve", arguments=(Y[0],))
    explained = with_swap_hint(error, problem_of(3), X, Y)
    assert (explained.row, explained.kind) == (4, "solve")
    assert explained.y_hat is Y[0] or np.array_equal(explained.y_hat, Y[0])
    with pytest.raises(fs.SolverError, match=r"^failed. X and Y are swapped: "):
        raise explained


def test_swapped_tables_are_not_suspected_where_an_argument_is_missing():
    error = fs.SolverError("f() takes 1 positional argument but 2 were given", row=0)
    problem = fs.Problem(solve=lambda y_hat: y_hat, cost=lambda y, z: 0.0)
    with_data = problem.with_instances([1] * len(Y))
    assert "With instances, `solve(y_hat, instance)`" in str(with_swap_hint(error, with_data, X, Y))
    assert "give instances=, one entry per row" in str(with_swap_hint(error, problem, X, Y))
    nothing = fs.SolverError("`solve` returned None at row 0; return the decision z", row=0)
    assert with_swap_hint(nothing, problem, X, Y) is nothing
