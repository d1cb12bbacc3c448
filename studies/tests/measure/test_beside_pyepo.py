"""The study of our methods beside PyEPO's: its quick models are PyEPO's, its table is what its runs say."""

import runpy
from pathlib import Path

import numpy as np
import pytest

from fewsolves_studies import measure
from fewsolves_studies.benchmarks.study import Study

pyepo = pytest.importorskip("pyepo", reason="PyEPO is not installed, though 'fewsolves[dev]' asks for it")
ROOT = Path(__file__).parents[3]
SCRIPTS = Path(measure.__file__).parent
RESULTS = ROOT / "results" / "pyepo"


@pytest.fixture
def script():
    return lambda name: runpy.run_path(str(SCRIPTS / f"{name}.py"), run_name="imported")


def best_tour(costs, nodes):
    """By a mixed-integer program in which tours that leave nodes out are forbidden as they turn up."""
    from itertools import combinations

    from scipy.optimize import LinearConstraint, milp

    edges = list(combinations(range(nodes), 2))
    limits = [LinearConstraint([[v in e for e in edges] for v in range(nodes)], 2, 2)]
    while True:
        chosen = np.round(milp(costs, constraints=limits, integrality=np.ones(len(edges)), bounds=(0, 1)).x)
        seen = {0}
        while grown := {v for e, z in zip(edges, chosen, strict=True) if z and seen & set(e) for v in e} - seen:
            seen |= grown
        if len(seen) == nodes:
            return float(costs @ chosen)
        limits.append(LinearConstraint([[set(e) <= seen for e in edges]], ub=len(seen) - 1))


@pytest.mark.parametrize("problem", ["shortest path", "knapsack", "tsp"])
def test_beside_pyepo_a_quick_model_has_the_best_objective_of_pyepos_own(script, problem):
    quick = script("quick_pyepo_models")
    model, _, costs = quick["PROBLEMS"][problem](8, seed=3)
    if problem == "shortest path":
        theirs = pyepo.model.ort.shortestPathModel(quick["GRID"])
    elif problem == "knapsack":
        theirs = pyepo.model.ort.knapsackModel(model.weights, model.capacity)
    rng = np.random.default_rng(0)
    for k, c in enumerate(costs):
        c = c - rng.uniform(0, 6, len(c)) * (k % 2)  # predictions may be negative
        model.setObj(c)
        solution, value = model.solve()
        if problem == "tsp":
            expected = best_tour(c, quick["NODES"])
        else:
            theirs.setObj(c)
            expected = theirs.solve()[1]
        assert value == pytest.approx(expected, rel=1e-5, abs=1e-5)
        assert value == pytest.approx(c @ solution)
    assert model.solves == len(costs)


def test_beside_pyepo_the_committed_tables_are_what_their_runs_say(script, tmp_path):
    script("beside_pyepo")["write"](tmp_path, Study(RESULTS).read())
    for name in ("tables.md", "table.csv"):
        assert (tmp_path / name).read_text() == (RESULTS / name).read_text()


def test_beside_pyepo_every_method_paid_no_more_than_the_budget(script):
    names = script("beside_pyepo")
    reported = names["reported"](Study(RESULTS).read(), names["BUDGETS"])
    assert {method for method, _ in reported} == {names["START"], *names["OURS"], *names["THEIRS"]}
    for (_, column), results in reported.items():
        assert max(result["solves"] for result in results) <= float(column.rpartition(" ")[2])


@pytest.mark.parametrize("method", ["least squares", "SPO+", "CMAP"])
def test_beside_pyepo_a_run_on_record_is_measured_again(script, method):
    names = script("beside_pyepo")
    budget = 0 if method == "least squares" else 5
    task = names["Task"]("knapsack", method, budget, 0)
    recorded = Study(RESULTS).read()[task.run]
    if recorded["setting"] is not None:
        task = task._replace(setting=tuple(recorded["setting"]))
    found = names["measure"](task)
    assert found["regret"] == pytest.approx(recorded["regret"], rel=0.02)
    assert found["solves"] == recorded["solves"]
