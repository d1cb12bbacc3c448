import numpy as np
import pytest

from fewsolves.ledger.identity.models import model_state


def test_models_other_values_are_none():
    assert model_state(np.ones(3)) is None
    assert model_state({"a": 1}) is None


def test_models_of_cvxpy_do_not_depend_on_numbers_of_variables_and_on_the_last_solution():
    cp = pytest.importorskip("cvxpy")

    def made(limit):
        x = cp.Variable(2)
        return cp.Problem(cp.Minimize(cp.sum_squares(x - 1)), [x <= limit, cp.norm(x, 1) <= 3])

    first, second, other = made(2), made(2), made(1)
    first.solve(solver=cp.CLARABEL)
    assert repr(model_state(first)) == repr(model_state(second))
    assert repr(model_state(first)) != repr(model_state(other))


def test_models_of_networkx_do_not_depend_on_what_was_looked_up():
    nx = pytest.importorskip("networkx")
    one, same, other = (nx.Graph([(0, 1, {"weight": w})]) for w in (1, 1, 2))
    assert one.adj[0][1]["weight"] == 1
    assert list(one.edges) == [(0, 1)]
    assert repr(model_state(one)) == repr(model_state(same))
    assert repr(model_state(one)) != repr(model_state(other))
