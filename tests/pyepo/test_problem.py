import cloudpickle
import numpy as np
import pytest

import fewsolves as fs
from fewsolves.ledger.identity.fingerprint import fingerprint
from fewsolves.ledger.identity.held_data import changed_items, held_data

pyepo = pytest.importorskip("pyepo", reason="PyEPO is not installed, though 'fewsolves[dev]' asks for it")
from pyepo.model import ort  # noqa: E402

WEIGHTS, ROOM = np.array([[3.0, 4.0, 5.0, 2.0]]), np.array([8.0])
VALUES = np.random.default_rng(0).uniform(1.0, 9.0, size=(12, 4)).astype(np.float32).astype(float)
GUESSES = np.random.default_rng(1).uniform(1.0, 9.0, size=(12, 4)).astype(np.float32).astype(float)
ALL = np.arange(12)


def knapsack(weights=WEIGHTS):
    return ort.knapsackModel(weights, ROOM)


def grid():
    return ort.shortestPathModel((2, 2))


@pytest.mark.parametrize("model", [knapsack, grid])
def test_pyepo_problem_regret_is_that_of_pyepo_whether_the_model_minimises_or_maximises(model):
    optmodel = model()
    oracle = fs.Oracle(fs.problem_from_pyepo(optmodel), VALUES)
    theirs = []
    for guess, truth in zip(GUESSES, VALUES, strict=True):
        optmodel.setObj(truth)
        theirs.append(pyepo.metric.calRegret(optmodel, guess, truth, optmodel.solve()[1]))
    assert oracle.regret(ALL, GUESSES, phase="test") == pytest.approx(theirs, abs=1e-4)
    assert max(theirs) > 0.1


@pytest.mark.parametrize(("model", "sense"), [(knapsack, "max"), (grid, "min")])
def test_pyepo_problem_methods_for_linear_objectives_know_the_sense(model, sense):
    problem = fs.problem_from_pyepo(model())
    assert problem.linear == sense
    assert fs.DecisionRegressor(problem, "spo+", "linear", settings={"max_epochs": 1}, verbose=False).fit(
        np.random.default_rng(2).normal(size=(12, 2)), VALUES
    )


def test_pyepo_problem_models_run_with_their_data_as_they_are():
    x, c = pyepo.data.shortestpath.genData(30, 4, (2, 2), deg=2, seed=0)
    data = pyepo.data.dataset.optDataset(grid(), x, c)
    problem = fs.problem_from_pyepo(grid())
    for X, Y in ((x, c), (data.feats, data.costs)):
        model = fs.DecisionRegressor(problem, "pfl", "linear", verbose=False).fit(X, Y)
        assert model.decide(X[:2]).shape == (2, 4)


def test_pyepo_problem_a_model_is_built_again_where_it_is_used_and_keeps_its_cuts():
    cut = knapsack().addConstr([1.0, 0.0, 0.0, 1.0], 1.0)  # not both of them
    problem = cloudpickle.loads(cloudpickle.dumps(fs.problem_from_pyepo(cut))).build()
    assert problem.solve(np.array([9.0, 1.0, 1.0, 8.0])).tolist() == [1.0, 0.0, 1.0, 0.0]


def test_pyepo_problem_a_function_may_build_the_model():
    built = []

    def build():
        built.append(knapsack())
        return built[-1]

    problem = fs.problem_from_pyepo(build, name="of mine")
    assert (problem.name, problem.linear, len(built)) == ("of mine", "max", 1)
    assert problem.build().solve(VALUES[0]).shape == (4,)
    assert len(built) == 2


def test_pyepo_problem_costs_come_one_by_one_and_in_batches():
    problem = fs.problem_from_pyepo(knapsack()).build()
    taken = np.stack([problem.solve(c) for c in VALUES])
    assert problem.cost_batch(VALUES, taken) == pytest.approx(-(VALUES * taken).sum(axis=1))
    assert problem.cost(VALUES[0], taken[0]) == pytest.approx(-VALUES[0] @ taken[0])


def written(objective):
    """In PyEPO's modelling language, with three items of which two have a predicted value."""
    from pyepo import EPO, dsl

    x, y = dsl.Variable(2, vtype=EPO.BINARY), dsl.Variable(1, vtype=EPO.BINARY)
    values = dsl.Parameter(2)
    return dsl.Problem(dsl.Maximize(objective(values, x, y)), [x.sum() + y.sum() <= 2]).compile(backend="ortools")


def test_pyepo_problem_known_costs_and_constants_of_a_written_model_count():
    optmodel = written(lambda values, x, y: values @ x + (5 * y.sum() + 7))
    problem = fs.problem_from_pyepo(optmodel)
    assert problem.linear is None
    built = problem.build()
    z = built.solve(np.array([1.0, 2.0]))
    assert z.tolist() == [0.0, 1.0, 1.0]
    assert float(built.cost(np.array([1.0, 2.0]), z)) == pytest.approx(-14.0)


def test_pyepo_problem_a_true_cost_of_ones_own_takes_the_place_of_the_objective():
    problem = fs.problem_from_pyepo(knapsack(), cost=lambda c, w: float(100 - c @ w + 50 * w[0]))
    assert problem.linear is None
    assert fs.Oracle(problem, VALUES).optimum(ALL[:1])[0] > 0


@pytest.mark.parametrize("given", [3, knapsack])
def test_pyepo_problem_what_is_no_model_is_refused(given):
    with pytest.raises(fs.InputError, match="optModel"):
        fs.problem_from_pyepo(given if given == 3 else lambda: "a model")


def test_pyepo_problem_a_quadratic_objective_asks_for_the_cost():
    class Written:
        obj_Q = np.eye(4)  # noqa: N815

    optmodel = knapsack()
    optmodel.problem = Written()
    with pytest.raises(fs.InputError, match="quadratic term; give cost=, the true cost of a solution"):
        fs.problem_from_pyepo(optmodel)


def test_pyepo_problem_a_ledger_notices_another_model():
    heavier = WEIGHTS + np.eye(4)[0]
    one, same, other = (fs.problem_from_pyepo(knapsack(weights)) for weights in (WEIGHTS, WEIGHTS.copy(), heavier))
    assert fingerprint(one, VALUES) == fingerprint(same, VALUES)
    held = [held_data({"factory": problem.factory}) for problem in (one, same, other)]
    assert not changed_items(held[0], held[1])
    assert changed_items(held[0], held[2]) == ["factory: argument model"]
